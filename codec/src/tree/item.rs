//! Items: a file, symlink or directory with its permission bits.

use super::tag::{NodeKind, id};
use crate::chunk::{CHUNK_RAW_MAX, ChunkEntry};
use crate::error::Result;
use crate::id::{ChunkId, Hash};
use crate::wire::{Reader, put_varint, varint_len};

/// Length of the shortest item in bytes: a symlink with a target of one byte.
pub(super) const LEN_MIN: usize = 4;

const FILE: u8 = 0;
const LISTED: u8 = 1;
const LINK: u8 = 2;
const DIRECTORY: u8 = 3;
const UNSTABLE: u8 = 128;

/// The content of a directory entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Item {
    /// The permission bits, at most `0o777`.
    pub mode: u16,
    /// The kind, with the content.
    pub kind: EntryKind,
}

/// A file, a symlink or a directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A file of one chunk. An empty file has the empty chunk.
    File {
        /// Length in bytes, at most [`CHUNK_RAW_MAX`].
        len: u64,
        /// The content. Its id is the hash of the file.
        id: ChunkId,
        /// Set if the file changed during each read.
        unstable: bool,
    },
    /// A file of several chunks.
    Listed {
        /// Length in bytes.
        len: u64,
        /// BLAKE3 of the whole content.
        hash: Hash,
        /// The [`Node::File`](super::Node::File) or [`Node::LongFile`](super::Node::LongFile) of
        /// the file.
        list: ChunkId,
        /// Set if the file changed during each read.
        unstable: bool,
    },
    /// A symlink.
    Link {
        /// The target: 1 to 4095 bytes, none of them zero.
        target: Box<[u8]>,
    },
    /// A directory.
    Directory {
        /// The [`Node::Directory`](super::Node::Directory) or [`Node::Leaves`](super::Node::Leaves)
        /// of the directory.
        id: ChunkId,
    },
}

impl EntryKind {
    /// The most bytes of a symlink's target.
    pub const TARGET_MAX: usize = 4095;

    /// Returns the length of a file, in bytes.
    pub fn file_len(&self) -> Option<u64> {
        match self {
            Self::File { len, .. } | Self::Listed { len, .. } => Some(*len),
            _ => None,
        }
    }

    /// Returns BLAKE3 of the content of a file.
    pub fn file_hash(&self) -> Option<Hash> {
        match self {
            Self::File { id, .. } => Some(Hash(id.0)),
            Self::Listed { hash, .. } => Some(*hash),
            _ => None,
        }
    }

    /// Returns `true` for a file.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::File { .. } | Self::Listed { .. })
    }

    /// Returns `true` for a directory.
    pub fn is_directory(&self) -> bool {
        matches!(self, Self::Directory { .. })
    }

    /// Returns `true` for a file that changed during each read.
    pub fn is_unstable(&self) -> bool {
        matches!(self, Self::File { unstable: true, .. } | Self::Listed { unstable: true, .. })
    }

    fn tag(&self) -> u8 {
        let tag = match self {
            Self::File { .. } => FILE,
            Self::Listed { .. } => LISTED,
            Self::Link { .. } => LINK,
            Self::Directory { .. } => DIRECTORY,
        };
        if self.is_unstable() { tag | UNSTABLE } else { tag }
    }
}

impl Item {
    /// The highest value of the permission bits.
    pub const MODE_MAX: u16 = 0o777;

    /// Calls `visit` with each chunk that the item refers to and its expected kind.
    pub fn names(&self, visit: &mut dyn FnMut(ChunkId, NodeKind)) {
        match &self.kind {
            EntryKind::File { id, .. } => visit(*id, NodeKind::Content),
            EntryKind::Listed { list, .. } => visit(*list, NodeKind::List),
            EntryKind::Link { .. } => {}
            EntryKind::Directory { id } => visit(*id, NodeKind::Tree),
        }
    }

    pub(super) fn encoded_len(&self) -> usize {
        let kind = match &self.kind {
            EntryKind::File { len, .. } => varint_len(*len) + 32,
            EntryKind::Listed { len, .. } => varint_len(*len) + 64,
            EntryKind::Link { target } => varint_len(target.len() as u64) + target.len(),
            EntryKind::Directory { .. } => 32,
        };
        1 + varint_len(u64::from(self.mode)) + kind
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.kind.tag());
        put_varint(out, u64::from(self.mode));
        match &self.kind {
            EntryKind::File { len, id, .. } => {
                put_varint(out, *len);
                out.extend_from_slice(&id.0);
            }
            EntryKind::Listed { len, hash, list, .. } => {
                put_varint(out, *len);
                out.extend_from_slice(&hash.0);
                out.extend_from_slice(&list.0);
            }
            EntryKind::Link { target } => {
                put_varint(out, target.len() as u64);
                out.extend_from_slice(target);
            }
            EntryKind::Directory { id } => out.extend_from_slice(&id.0),
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let tag = reader.u8()?;
        let unstable = tag & UNSTABLE != 0;
        let bits = reader.shortest()?;
        let mode = u16::try_from(bits).ok().filter(|mode| *mode <= Self::MODE_MAX);
        let Some(mode) = mode else {
            return Err(reader.corrupt("permission bits up to 0o777", format!("{bits:#o}")));
        };
        let kind = match tag & !UNSTABLE {
            FILE => read_file(reader, unstable)?,
            LISTED => EntryKind::Listed {
                len: reader.shortest()?,
                hash: Hash(reader.array()?),
                list: id(reader)?,
                unstable,
            },
            LINK if !unstable => read_link(reader)?,
            DIRECTORY if !unstable => EntryKind::Directory { id: id(reader)? },
            _ => return Err(reader.corrupt("a kind of entry", tag)),
        };
        Ok(Self { mode, kind })
    }
}

fn read_file(reader: &mut Reader<'_>, unstable: bool) -> Result<EntryKind> {
    let (len, id) = (reader.shortest()?, id(reader)?);
    if len > CHUNK_RAW_MAX as u64 {
        return Err(reader.corrupt("a file of one chunk", format!("{len} bytes")));
    }
    if (len == 0) != (id == ChunkEntry::id_of(&[])) {
        return Err(reader.corrupt(format!("content of {len} bytes"), id));
    }
    Ok(EntryKind::File { len, id, unstable })
}

fn read_link(reader: &mut Reader<'_>) -> Result<EntryKind> {
    let len = reader.count(1)?;
    if len == 0 || len > EntryKind::TARGET_MAX {
        let expected = format!("a target of 1 to {} bytes", EntryKind::TARGET_MAX);
        return Err(reader.corrupt(expected, len));
    }
    let target = reader.take(len)?;
    if target.contains(&0) {
        return Err(reader.corrupt("a target without a zero byte", "one"));
    }
    Ok(EntryKind::Link { target: target.into() })
}
