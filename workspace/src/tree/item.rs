//! What an entry is, beside others.

use milepost_codec::{ChunkId, EntryKind, Item};

/// Whether two items are the same, as far as a restore is concerned: a link has no bits of its own,
/// and a file that was marked unstable may have the same content as one that was not.
pub(crate) fn same(a: &Item, b: &Item) -> bool {
    match (&a.kind, &b.kind) {
        (EntryKind::Link { target: a }, EntryKind::Link { target: b }) => a == b,
        (EntryKind::Directory { id: x }, EntryKind::Directory { id: y }) => {
            x == y && a.mode == b.mode
        }
        (x, y) if x.is_file() && y.is_file() => x.file_hash() == y.file_hash() && a.mode == b.mode,
        _ => false,
    }
}

/// The tree of a directory.
pub(crate) fn tree_of(item: Option<&Item>) -> Option<ChunkId> {
    match item?.kind {
        EntryKind::Directory { id } => Some(id),
        _ => None,
    }
}
