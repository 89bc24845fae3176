//! How much is in a tree.

use milepost::Result;
use milepost_codec::{ChunkId, EntryKind, Item};

use super::item::tree_of;
use super::read::entries;
use crate::chunks::Contents;

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

    pub(crate) fn add_all(&mut self, other: &Self) {
        self.files += other.files;
        self.directories += other.directories;
        self.links += other.links;
        self.bytes += other.bytes;
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
