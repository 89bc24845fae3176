//! Helpers for entries of trees.

use milepost_codec::{ChunkId, EntryKind, Item};

/// Returns `true` if a restore treats two items as equal. Mode bits of links and the `unstable`
/// mark of files are ignored.
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

/// Returns the tree of a directory.
pub(crate) fn tree_of(item: Option<&Item>) -> Option<ChunkId> {
    match item?.kind {
        EntryKind::Directory { id } => Some(id),
        _ => None,
    }
}
