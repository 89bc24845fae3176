//! Reading the content of a stored file without trusting it. Each list and chunk is checked against
//! the entry that names it, and the whole file against the length and hash of its entry.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

use milepost::{Error, Hash, Result};
use milepost_codec::{EntryKind, FilePart, Item, Node, NodeKind};

use super::read::node;
use crate::chunks::{Chunks, Contents};

/// Iterator over a file's chunks, in order. Lists are read lazily.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pending: VecDeque<Part>,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Content(FilePart),
    List(FilePart, NodeKind),
}

impl Parts {
    /// Returns the chunks of an entry; empty if it is not a file.
    pub(crate) fn of(kind: &EntryKind) -> Self {
        let len = kind.file_len().unwrap_or_default();
        let first = match kind {
            EntryKind::File { id, .. } => Part::Content(FilePart { id: *id, len }),
            EntryKind::Listed { list, .. } => {
                Part::List(FilePart { id: *list, len }, NodeKind::List)
            }
            _ => return Self::default(),
        };
        Self { pending: VecDeque::from([first]) }
    }

    /// Returns the next chunk.
    pub(crate) fn next(&mut self, contents: &dyn Contents) -> Result<Option<FilePart>> {
        while let Some(part) = self.pending.pop_front() {
            let (part, expect) = match part {
                Part::Content(part) => return Ok(Some(part)),
                Part::List(part, expect) => (part, expect),
            };
            let (list, inner) = match node(contents, &part.id, expect)? {
                Node::File(list) => (list, None),
                Node::LongFile(list) => (list, Some(NodeKind::Part)),
                _ => continue,
            };
            if list.len != part.len {
                return Err(length_mismatch(&part, "list", list.len));
            }
            for part in list.parts.into_iter().rev() {
                self.pending.push_front(match inner {
                    None => Part::Content(part),
                    Some(expect) => Part::List(part, expect),
                });
            }
        }
        Ok(None)
    }
}

fn length_mismatch(part: &FilePart, what: &str, found: u64) -> Error {
    let place = format!("{what} {} of a file", part.id);
    let (expected, found) = (format!("{} bytes", part.len), format!("{found} bytes"));
    Error::corrupt(place, expected, found)
}

/// Returns all chunks of a file.
pub(crate) fn parts(contents: &dyn Contents, item: &Item) -> Result<Vec<FilePart>> {
    let (mut parts, mut all) = (Parts::of(&item.kind), Vec::new());
    while let Some(part) = parts.next(contents)? {
        all.push(part);
    }
    Ok(all)
}

/// Reads a chunk and checks its length.
pub(crate) fn part(contents: &dyn Contents, part: &FilePart) -> Result<Arc<[u8]>> {
    let content = contents.get(&part.id)?;
    match content.len() as u64 == part.len {
        true => Ok(content),
        false => Err(length_mismatch(part, "chunk", content.len() as u64)),
    }
}

/// Reader of a file's content, chunk by chunk.
pub(crate) struct FileReader {
    chunks: Arc<dyn Chunks>,
    parts: Parts,
    now: Arc<[u8]>,
    at: usize,
    /// Length and hash in the file's entry.
    len: u64,
    hash: Hash,
    /// `None` for a single chunk: the file's hash is the chunk's, which is checked on reading.
    hasher: Option<Box<blake3::Hasher>>,
    read: u64,
    ended: bool,
}

impl FileReader {
    /// Opens the file of an entry. Returns `None` if the entry is not a file.
    pub(crate) fn open(chunks: Arc<dyn Chunks>, kind: &EntryKind) -> Option<Self> {
        let (len, hash) = (kind.file_len()?, kind.file_hash()?);
        Some(Self {
            chunks,
            parts: Parts::of(kind),
            now: Arc::default(),
            at: 0,
            len,
            hash,
            hasher: matches!(kind, EntryKind::Listed { .. }).then(Box::default),
            read: 0,
            ended: false,
        })
    }

    /// Returns the next chunk; `None` at the end, after checking length and hash.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<Arc<[u8]>>> {
        let contents: &dyn Contents = &*self.chunks;
        if let Some(next) = self.parts.next(contents)? {
            let content = part(contents, &next)?;
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&content);
            }
            self.read += next.len;
            return Ok(Some(content));
        }
        let hash = match &self.hasher {
            Some(hasher) => Hash(*hasher.finalize().as_bytes()),
            None => self.hash,
        };
        if !self.ended && (self.read, hash) != (self.len, self.hash) {
            let expected = format!("{} bytes of hash {}", self.len, self.hash);
            let found = format!("{} bytes of hash {hash}", self.read);
            return Err(Error::corrupt("a file of a capture", expected, found));
        }
        self.ended = true;
        Ok(None)
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
