//! A stored tree: nothing of it is believed. Each chunk has to be what the one that names it says, names
//! ascend from leaf to leaf, and a file has the length and the hash that its entry promises.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

use milepost::{Error, Hash, Result};
use milepost_codec::{
    Capture, ChunkId, Entry, EntryKind, Expect, FilePart, Leaf, Name, Node, TreePath,
};

use crate::chunks::Chunks;

fn node(chunks: &dyn Chunks, id: &ChunkId, expect: Expect) -> Result<Node> {
    let content = chunks.get(id)?;
    Node::decode_as(&content, expect).map_err(|e| e.at(format!("chunk {id}")))
}

/// The capture of this root, present or not.
pub(crate) fn capture(chunks: &dyn Chunks, root: &ChunkId) -> Result<Capture> {
    let content = chunks.get(root)?;
    match Node::decode(&content).map_err(|e| e.at(format!("chunk {root}")))? {
        Node::Capture(capture) => Ok(capture),
        _ => Err(Error::corrupt(
            format!("chunk {root}"),
            "a capture",
            "another node",
        )),
    }
}

/// The entries of one directory, a leaf at a time.
pub(crate) struct Folder<'a> {
    chunks: &'a dyn Chunks,
    entries: std::vec::IntoIter<Entry>,
    leaves: std::vec::IntoIter<Leaf>,
    /// The last name of the leaf before.
    before: Option<Name>,
}

impl<'a> Folder<'a> {
    pub(crate) fn open(chunks: &'a dyn Chunks, id: &ChunkId) -> Result<Self> {
        let (entries, leaves) = match node(chunks, id, Expect::Tree)? {
            Node::Directory(entries) => (entries, Vec::new()),
            Node::Leaves(leaves) => (Vec::new(), leaves),
            _ => (Vec::new(), Vec::new()),
        };
        Ok(Self {
            chunks,
            entries: entries.into_iter(),
            leaves: leaves.into_iter(),
            before: None,
        })
    }

    /// Of no directory: it has no entries.
    pub(crate) fn none(chunks: &'a dyn Chunks) -> Self {
        Self {
            chunks,
            entries: Vec::new().into_iter(),
            leaves: Vec::new().into_iter(),
            before: None,
        }
    }

    fn leaf(&mut self, leaf: &Leaf) -> Result<()> {
        let entries = read_leaf(self.chunks, leaf)?;
        let first = entries.first().map(|entry| &entry.name);
        if let (Some(before), Some(first)) = (&self.before, first)
            && before >= first
        {
            let place = format!("leaf {} of a directory", leaf.id);
            let (expected, found) = (format!("a name behind `{before}`"), format!("`{first}`"));
            return Err(Error::corrupt(place, expected, found));
        }
        self.before = entries.last().map(|entry| entry.name.clone());
        self.entries = entries.into_iter();
        Ok(())
    }
}

impl Iterator for Folder<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Some(Ok(entry));
            }
            let leaf = self.leaves.next()?;
            if let Err(e) = self.leaf(&leaf) {
                self.leaves = Vec::new().into_iter();
                return Some(Err(e));
            }
        }
    }
}

fn read_leaf(chunks: &dyn Chunks, leaf: &Leaf) -> Result<Vec<Entry>> {
    let Node::Directory(entries) = node(chunks, &leaf.id, Expect::Leaf)? else {
        return Ok(Vec::new());
    };
    let first = entries.first().map(|entry| &entry.name);
    if first != Some(&leaf.first) || entries.len() as u64 != leaf.entries {
        return Err(Error::corrupt(
            format!("leaf {} of a directory", leaf.id),
            format!("{} entries from `{}` on", leaf.entries, leaf.first),
            format!("{} others", entries.len()),
        ));
    }
    Ok(entries)
}

/// All entries of a directory.
pub(crate) fn entries(chunks: &dyn Chunks, id: &ChunkId) -> Result<Vec<Entry>> {
    Folder::open(chunks, id)?.collect()
}

/// The entry of one name; of a large directory, one leaf is read.
fn find_in(chunks: &dyn Chunks, id: &ChunkId, name: &[u8]) -> Result<Option<Entry>> {
    let entries = match node(chunks, id, Expect::Tree)? {
        Node::Directory(entries) => entries,
        Node::Leaves(leaves) => {
            let behind = leaves.partition_point(|leaf| leaf.first.as_bytes() <= name);
            match behind.checked_sub(1).and_then(|at| leaves.get(at)) {
                Some(leaf) => read_leaf(chunks, leaf)?,
                None => Vec::new(),
            }
        }
        _ => Vec::new(),
    };
    Ok(entries
        .into_iter()
        .find(|entry| entry.name.as_bytes() == name))
}

/// The entry of a path below a tree.
pub(crate) fn find(chunks: &dyn Chunks, tree: &ChunkId, path: &TreePath) -> Result<Option<Entry>> {
    let mut names = path.names().peekable();
    let mut folder = *tree;
    while let Some(name) = names.next() {
        let found = find_in(chunks, &folder, name).map_err(|e| e.at(path))?;
        let (Some(entry), Some(_)) = (&found, names.peek()) else {
            return Ok(found);
        };
        match entry.item.kind {
            EntryKind::Directory { id } => folder = id,
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// The content of a file, chunk by chunk.
pub(crate) struct FileReader {
    chunks: Arc<dyn Chunks>,
    /// Lists and chunks that were not read yet.
    left: VecDeque<Part>,
    now: Arc<[u8]>,
    at: usize,
    /// What its entry promises.
    len: u64,
    hash: Hash,
    hasher: blake3::Hasher,
    read: u64,
    ended: bool,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Content(FilePart),
    List(FilePart, Expect),
}

impl FileReader {
    /// Of a file's entry; nothing where it is none.
    pub(crate) fn open(chunks: Arc<dyn Chunks>, kind: &EntryKind) -> Option<Self> {
        let (len, hash) = (kind.file_len()?, kind.file_hash()?);
        let first = match kind {
            EntryKind::File { id, .. } => Part::Content(FilePart { id: *id, len }),
            EntryKind::Listed { list, .. } => Part::List(FilePart { id: *list, len }, Expect::List),
            _ => return None,
        };
        Some(Self {
            chunks,
            left: VecDeque::from([first]),
            now: Arc::default(),
            at: 0,
            len,
            hash,
            hasher: blake3::Hasher::new(),
            read: 0,
            ended: false,
        })
    }

    /// The next chunk of content; nothing at the end, where length and hash have been checked.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<Arc<[u8]>>> {
        loop {
            let wrong = |part: &FilePart, what: &str, found: u64| {
                let place = format!("{what} {} of a file", part.id);
                Error::corrupt(
                    place,
                    format!("{} bytes", part.len),
                    format!("{found} bytes"),
                )
            };
            match self.left.pop_front() {
                Some(Part::List(part, expect)) => {
                    let (list, inner) = match node(&*self.chunks, &part.id, expect)? {
                        Node::File(list) => (list, None),
                        Node::LongFile(list) => (list, Some(Expect::Part)),
                        _ => continue,
                    };
                    if list.len != part.len {
                        return Err(wrong(&part, "list", list.len));
                    }
                    for part in list.parts.into_iter().rev() {
                        self.left.push_front(match inner {
                            None => Part::Content(part),
                            Some(expect) => Part::List(part, expect),
                        });
                    }
                }
                Some(Part::Content(part)) => {
                    let content = self.chunks.get(&part.id)?;
                    if content.len() as u64 != part.len {
                        return Err(wrong(&part, "chunk", content.len() as u64));
                    }
                    self.hasher.update(&content);
                    self.read += part.len;
                    return Ok(Some(content));
                }
                None => {
                    let hash = Hash(*self.hasher.finalize().as_bytes());
                    if !self.ended && (self.read, hash) != (self.len, self.hash) {
                        let expected = format!("{} bytes of hash {}", self.len, self.hash);
                        let found = format!("{} bytes of hash {hash}", self.read);
                        return Err(Error::corrupt("a file of a capture", expected, found));
                    }
                    self.ended = true;
                    return Ok(None);
                }
            }
        }
    }
}

impl Read for FileReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.ended && self.at >= self.now.len() {
            match self.next_chunk().map_err(io::Error::other)? {
                Some(content) => (self.now, self.at) = (content, 0),
                None => (self.now, self.at) = (Arc::default(), 0),
            }
        }
        let mut rest = self.now.get(self.at..).unwrap_or_default();
        let read = rest.read(out)?;
        self.at += read;
        Ok(read)
    }
}

impl std::fmt::Debug for FileReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileReader")
            .field("len", &self.len)
            .field("read", &self.read)
            .finish_non_exhaustive()
    }
}
