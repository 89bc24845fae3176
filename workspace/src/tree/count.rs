//! Counts of the entries in a tree, and limits on them.

use milepost::{Error, Result};
use milepost_codec::{Capture, ChunkId, EntryKind, Item};

use super::item::tree_of;
use super::read::entries;
use crate::chunks::Contents;

/// Numbers of entries in a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) files: u64,
    pub(crate) directories: u64,
    pub(crate) links: u64,
    /// Total size of the files.
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

/// Remaining entries of a tree, from the counts in its capture. A few chunks that name each other
/// can form a tree of any size; the counts bound it.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    remaining: Counts,
    says: Counts,
}

impl Budget {
    pub(crate) fn of(capture: &Capture) -> Self {
        Self::new(Counts {
            files: capture.files,
            directories: capture.directories,
            links: capture.links,
            bytes: capture.bytes,
        })
    }

    pub(crate) fn new(says: Counts) -> Self {
        let remaining = says;
        Self { remaining, says }
    }

    #[cfg(test)]
    pub(crate) fn unbounded() -> Self {
        Self::new(Counts {
            files: u64::MAX,
            directories: u64::MAX,
            links: u64::MAX,
            bytes: u64::MAX,
        })
    }

    /// Subtracts one entry. `Corrupt`: the capture has fewer entries.
    pub(crate) fn take(&mut self, item: &Item) -> Result<()> {
        let remaining = &mut self.remaining;
        let bytes = item.kind.file_len().unwrap_or_default();
        let number = match item.kind {
            EntryKind::Directory { .. } => &mut remaining.directories,
            EntryKind::Link { .. } => &mut remaining.links,
            _ => &mut remaining.files,
        };
        if let (Some(after), Some(bytes)) =
            (number.checked_sub(1), remaining.bytes.checked_sub(bytes))
        {
            *number = after;
            remaining.bytes = bytes;
            return Ok(());
        }
        let Counts { files, directories, links, bytes } = self.says;
        Err(Error::corrupt(
            "the tree of a capture",
            format!(
                "{files} files, {directories} folders, {links} links and {bytes} bytes, as it says"
            ),
            "more",
        ))
    }
}

/// Counts the entries of a tree, as its capture states them.
pub(crate) fn count(contents: &dyn Contents, tree: &ChunkId) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut remaining = vec![*tree];
    while let Some(tree) = remaining.pop() {
        for entry in entries(contents, &tree)? {
            counts.add(&entry.item);
            remaining.extend(tree_of(Some(&entry.item)));
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use milepost::ErrorKind;
    use milepost_codec::{Entry, Name, Node};

    use super::*;

    fn folder(id: ChunkId) -> Item {
        let kind = EntryKind::Directory { id };
        Item { mode: 0o755, kind }
    }

    #[test]
    fn a_tree_that_is_larger_than_its_capture_says_is_refused() {
        let file = Item {
            mode: 0o644,
            kind: EntryKind::File { len: 3, id: ChunkId([1; 32]), unstable: false },
        };
        let says = Counts { files: 2, directories: 1, links: 0, bytes: 5 };
        let mut budget = Budget::new(says);
        budget.take(&file).unwrap();
        budget.take(&folder(ChunkId([2; 32]))).unwrap();
        for more in [&file, &folder(ChunkId([2; 32]))] {
            let error = budget.clone().take(more).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert!(error.to_string().contains("as it says"), "{error}");
        }
    }

    #[test]
    fn a_tree_of_two_names_for_each_folder_ends() {
        let chunks = std::sync::Arc::new(crate::testing::memory::MemoryChunks::default());
        let put = |content: Vec<u8>| {
            use crate::chunks::Chunks as _;
            chunks.put(&[&content]).unwrap()[0]
        };
        let mut id = put(Node::Directory(Vec::new()).encode());
        for _ in 0..60 {
            let entry = |name: &[u8]| Entry { name: Name::new(name).unwrap(), item: folder(id) };
            id = put(Node::Directory(vec![entry(b"a"), entry(b"b")]).encode());
        }
        let capture = Capture {
            present: false,
            over: None,
            folder: b"/w".as_slice().into(),
            tree: id,
            files: 0,
            directories: 1000,
            links: 0,
            bytes: 0,
            skipped: 0,
            skips: milepost_codec::ChunkList::default(),
        };
        let root = put(Node::Capture(capture).encode());
        let snapshot = crate::Snapshot::stored(chunks, milepost::Hash(root.0)).unwrap();
        let last = snapshot.entries().last().unwrap();
        assert_eq!(last.unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(snapshot.entries().count(), 1001);
        let into = tempfile::tempdir().unwrap();
        assert_eq!(snapshot.restore_into(into.path()).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}
