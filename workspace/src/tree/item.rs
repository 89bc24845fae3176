//! Helpers for entries of trees.

use milepost_codec::{ChunkId, EntryKind, Hash, Item};

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

/// Content of a file by its hashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileContent {
    pub(crate) len: u64,
    /// BLAKE3 of the content; for a single chunk, its id.
    pub(crate) hash: Hash,
    /// The list of chunks, if there are several.
    pub(crate) list: Option<ChunkId>,
    /// Ids of the chunks and their lists, if there are several.
    pub(crate) needs: Box<[ChunkId]>,
}

impl FileContent {
    pub(crate) fn kind(&self, unstable: bool) -> EntryKind {
        match self.list {
            None => EntryKind::File { len: self.len, id: ChunkId(self.hash.0), unstable },
            Some(list) => EntryKind::Listed { len: self.len, hash: self.hash, list, unstable },
        }
    }

    /// Returns the ids of all chunks.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = ChunkId> {
        let one = self.list.is_none().then_some(ChunkId(self.hash.0));
        one.into_iter().chain(self.needs.iter().copied())
    }
}
