//! Stored contents, as plans and restores read them: the seam to the store. Whatever is read here is
//! checked to be what it has to be.

use std::sync::Arc;

use milepost::{Error, ErrorKind, Result};
use milepost_codec::{ChunkId, Entry, EntryKind, Expect, FilePart, Item, Node};

/// Where contents are read from.
pub(crate) trait Contents: Sync {
    /// The content of a chunk: `NotFound` where it is not stored, `Corrupt` where it is damaged.
    fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>>;

    /// Which of these are stored, as far as the index knows.
    fn has(&self, ids: &[ChunkId]) -> Result<Vec<bool>>;
}

/// The entries of a directory, in order of their names.
pub(crate) fn entries(contents: &dyn Contents, id: &ChunkId) -> Result<Vec<Entry>> {
    let leaves = match Node::decode_as(&contents.get(id)?, Expect::Tree)? {
        Node::Directory(entries) => return Ok(entries),
        Node::Leaves(leaves) => leaves,
        _ => return Err(wrong("a directory", "another node")),
    };
    let mut all: Vec<Entry> = Vec::new();
    for leaf in leaves {
        let Node::Directory(part) = Node::decode_as(&contents.get(&leaf.id)?, Expect::Leaf)? else {
            return Err(wrong("a part of a directory", "another node"));
        };
        let first = part.first().map(|entry| &entry.name);
        if first != Some(&leaf.first) || part.len() as u64 != leaf.entries {
            let expected = format!("{} entries from `{}` on", leaf.entries, leaf.first);
            return Err(wrong(&expected, "others"));
        }
        if all.last().is_some_and(|last| last.name >= leaf.first) {
            return Err(wrong("names that ascend", &format!("`{}`", leaf.first)));
        }
        all.extend(part);
    }
    Ok(all)
}

/// The chunks of a file, in order.
pub(crate) fn parts(contents: &dyn Contents, item: &Item) -> Result<Vec<FilePart>> {
    let (len, list) = match &item.kind {
        EntryKind::File { len, id, .. } => return Ok(vec![FilePart { id: *id, len: *len }]),
        EntryKind::Listed { len, list, .. } => (*len, list),
        _ => return Ok(Vec::new()),
    };
    let (whole, parts) = match Node::decode_as(&contents.get(list)?, Expect::List)? {
        Node::File(list) => (list.len, list.parts),
        Node::LongFile(long) => {
            let mut parts = Vec::new();
            for part in &long.parts {
                match Node::decode_as(&contents.get(&part.id)?, Expect::Part)? {
                    Node::File(list) if list.len == part.len => parts.extend(list.parts),
                    _ => return Err(wrong(&format!("a list of {} bytes", part.len), "another")),
                }
            }
            (long.len, parts)
        }
        _ => return Err(wrong("the list of a file", "another node")),
    };
    match whole == len {
        true => Ok(parts),
        false => Err(wrong(
            &format!("a list of {len} bytes"),
            &format!("{whole}"),
        )),
    }
}

/// What a tree has in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) files: u64,
    pub(crate) directories: u64,
    pub(crate) links: u64,
    /// Bytes of the files.
    pub(crate) bytes: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, item: &Item) {
        match item.kind {
            EntryKind::Directory { .. } => self.directories += 1,
            EntryKind::Link { .. } => self.links += 1,
            _ => self.files += 1,
        }
        self.bytes += item.kind.file_len().unwrap_or_default();
    }
}

/// Counts what a tree has in it: a capture says so of its tree.
pub(crate) fn count(contents: &dyn Contents, tree: &ChunkId) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut left = vec![*tree];
    while let Some(tree) = left.pop() {
        for entry in entries(contents, &tree)? {
            counts.add(&entry.item);
            left.extend(tree_of(Some(&entry.item)));
        }
    }
    Ok(counts)
}

/// Whether two items are the same, as far as a restore is concerned: a link has no bits of its own, and
/// a file that was marked unstable may have the same content as one that was not.
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

/// Whether an error says that stored contents are gone or damaged, so that only the paths that need
/// them are hit.
pub(crate) fn is_lost(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound)
}

fn wrong(expected: &str, found: &str) -> Error {
    Error::corrupt("stored tree", expected, found)
}
