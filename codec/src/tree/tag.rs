//! The beginning of each content of a tree: its tag and version; and the kinds that a node expects.

use crate::error::{Error, ErrorKind, Result};
use crate::id::ChunkId;
use crate::wire::Reader;

/// The version of every content of a tree.
pub(super) const VERSION: u8 = 1;

pub(super) const CAPTURE: u8 = 1;
pub(super) const DIRECTORY: u8 = 2;
pub(super) const LEAVES: u8 = 3;
pub(super) const FILE: u8 = 4;
pub(super) const LONG_FILE: u8 = 5;
pub(super) const PLAN: u8 = 6;

/// Expected kind of a chunk that a node refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A [`Node::Capture`](super::Node::Capture) that is not a present.
    Capture,
    /// A [`Node::Directory`](super::Node::Directory) or [`Node::Leaves`](super::Node::Leaves).
    Tree,
    /// A [`Node::Directory`](super::Node::Directory) that is not empty: a leaf of a large one.
    Leaf,
    /// A [`Node::File`](super::Node::File) or [`Node::LongFile`](super::Node::LongFile).
    List,
    /// A [`Node::File`](super::Node::File): a part of a long file.
    Part,
    /// Content of a file or of a list of skips, not a node.
    Content,
}

impl NodeKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Capture => "a capture that is no present",
            Self::Tree => "a directory",
            Self::Leaf => "a part of a directory",
            Self::List => "the list of a file",
            Self::Part => "a part of the list of a file",
            Self::Content => "no node",
        }
    }
}

/// Reads the tag and the version of a content. Returns the tag.
pub(super) fn begin(reader: &mut Reader<'_>) -> Result<u8> {
    let (tag, version) = (reader.u8()?, reader.u8()?);
    if version != VERSION {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "{} has version {version}, this version of Milepost reads {VERSION}",
                name_of(tag)
            ),
        ));
    }
    Ok(tag)
}

pub(super) fn name_of(tag: u8) -> &'static str {
    match tag {
        CAPTURE => "capture",
        DIRECTORY => "directory",
        LEAVES => "leaves of a directory",
        FILE | LONG_FILE => "list of a file",
        PLAN => "restore plan",
        _ => "node of a tree",
    }
}

pub(super) fn id(reader: &mut Reader<'_>) -> Result<ChunkId> {
    reader.array().map(ChunkId)
}
