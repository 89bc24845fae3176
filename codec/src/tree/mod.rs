//! Trees: what a capture of a folder is, as contents of chunks that name each other by their
//! hashes.
//!
//! ```text
//! name.rs       names and paths, checked                 shown.rs  for people, and in JSON
//! capture.rs    tag 1, the root of a capture             skip.rs   what was left out, and why
//! item.rs       what stands under a name                 plan.rs   tag 6, what a restore will do
//! directory.rs  tag 2, its entries; tag 3, its leaves, where it is large
//! file.rs       tags 4 and 5, the chunks of a file
//! ```
//!
//! Each content but a list of skips begins with its tag and a version, so that none is taken for
//! another. There is one form for each value: numbers are as short as they can be, names ascend,
//! and nothing follows. So what was read is written as the same bytes, and has the same id.

mod capture;
mod directory;
mod display;
mod file;
mod intent;
mod item;
mod name;
mod skip;

pub use crate::tree::display::printable;
pub use crate::tree::intent::{Action, ActionKind, RestoreIntent};
pub use capture::Capture;
pub use directory::{DIRECTORY_WHOLE_MAX, Entry, Leaf, cut_directory, encode_directory};
pub use file::{FileList, FilePart, encode_file};
pub use item::{EntryKind, Item};
pub use name::{Name, PathBytes, TreePath};
pub use skip::{Skip, SkipReason};

use crate::error::{Error, ErrorKind, Result};
use crate::id::ChunkId;
use crate::wire::Reader;

/// The version of every content here.
const VERSION: u8 = 1;

const CAPTURE: u8 = 1;
const DIRECTORY: u8 = 2;
const LEAVES: u8 = 3;
const FILE: u8 = 4;
const LONG_FILE: u8 = 5;
const PLAN: u8 = 6;

/// The content of one chunk of a tree.
///
/// ```
/// use milepost_codec::{ChunkEntry, Entry, EntryKind, Item, Name, Node};
///
/// let content = b"fn main() {}\n";
/// let kind = EntryKind::File {
///     len: content.len() as u64,
///     id: ChunkEntry::id_of(content),
///     unstable: false,
/// };
/// let entry = Entry { name: Name::new(b"main.rs")?, item: Item { mode: 0o644, kind } };
/// let node = Node::Directory(vec![entry]);
/// assert_eq!(Node::decode(&node.encode())?, node);
/// # Ok::<(), milepost_codec::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A capture: what a `workspace_captured` names.
    Capture(Capture),
    /// A directory, or a part of a large one. Names ascend strictly.
    Directory(Vec<Entry>),
    /// A large directory: its parts, which are directories that are not empty, in order of their
    /// names.
    Leaves(Vec<Leaf>),
    /// A file of several chunks.
    File(FileList),
    /// A file of so many chunks that their list is cut: its parts are [`Node::File`].
    LongFile(FileList),
}

/// What a chunk that a node names has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A [`Node::Capture`] that is no present.
    Capture,
    /// A [`Node::Directory`] or [`Node::Leaves`].
    Tree,
    /// A [`Node::Directory`] that is not empty: a part of a large one.
    Leaf,
    /// A [`Node::File`] or [`Node::LongFile`].
    List,
    /// A [`Node::File`]: a part of a long one.
    Part,
    /// No node: content of a file, or of a list of skips.
    Content,
}

impl Node {
    /// Reads the content of a chunk.
    ///
    /// # Errors
    ///
    /// `Corrupt` where it is none of a tree, or not in the one form that it has; `Unsupported`
    /// where its version is higher than what this one reads.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes, "node of a tree");
        let tag = begin(&mut reader)?;
        let reader = Reader::new(reader.rest(), name_of(tag));
        match tag {
            CAPTURE => Capture::read(reader).map(Self::Capture),
            DIRECTORY => directory::read_entries(reader).map(Self::Directory),
            LEAVES => directory::read_leaves(reader).map(Self::Leaves),
            FILE => FileList::read(reader, false).map(Self::File),
            LONG_FILE => FileList::read(reader, true).map(Self::LongFile),
            tag => Err(reader.wrong("a tag from 1 to 5", tag)),
        }
    }

    /// The same, where it is known what it has to be: `Corrupt` where it is another node. Content
    /// ([`NodeKind::Content`]) is no node, and never read as one.
    pub fn decode_as(bytes: &[u8], expect: NodeKind) -> Result<Self> {
        let node = Self::decode(bytes)?;
        let fits = match (expect, &node) {
            (NodeKind::Capture, Self::Capture(capture)) => !capture.present,
            (NodeKind::Tree, Self::Directory(_) | Self::Leaves(_)) => true,
            (NodeKind::Leaf, Self::Directory(entries)) => !entries.is_empty(),
            (NodeKind::List, Self::File(_) | Self::LongFile(_)) => true,
            (NodeKind::Part, Self::File(_)) => true,
            _ => false,
        };
        if fits {
            return Ok(node);
        }
        Err(Error::corrupt("node of a tree", expect.name(), node.describe()))
    }

    /// The content. What is outside of the limits is refused where it is read, and a content that
    /// is longer than a chunk where it is stored.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        match self {
            Self::Capture(capture) => capture.write(&mut out),
            Self::Directory(entries) => directory::write_entries(entries, &mut out),
            Self::Leaves(leaves) => directory::write_leaves(leaves, &mut out),
            Self::File(list) => list.write(false, &mut out),
            Self::LongFile(list) => list.write(true, &mut out),
        }
        out
    }

    /// Tells each chunk that it names, and what that has to be. Some may be told twice.
    pub fn names(&self, told: &mut dyn FnMut(ChunkId, NodeKind)) {
        match self {
            Self::Capture(capture) => capture.names(told),
            Self::Directory(entries) => entries.iter().for_each(|entry| entry.item.names(told)),
            Self::Leaves(leaves) => leaves.iter().for_each(|leaf| told(leaf.id, NodeKind::Leaf)),
            Self::File(list) => {
                (list.parts.iter()).for_each(|part| told(part.id, NodeKind::Content))
            }
            Self::LongFile(list) => {
                list.parts.iter().for_each(|part| told(part.id, NodeKind::Part))
            }
        }
    }

    fn describe(&self) -> &'static str {
        match self {
            Self::Capture(capture) if capture.present => "a capture of the present",
            Self::Capture(_) => "a capture",
            Self::Directory(entries) if entries.is_empty() => "an empty directory",
            Self::Directory(_) => "a directory",
            Self::Leaves(_) => "the leaves of a directory",
            Self::File(_) => "a list of chunks",
            Self::LongFile(_) => "a list of lists",
        }
    }
}

impl NodeKind {
    fn name(self) -> &'static str {
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

/// Reads what a content begins with; gives its tag.
fn begin(reader: &mut Reader<'_>) -> Result<u8> {
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

fn name_of(tag: u8) -> &'static str {
    match tag {
        CAPTURE => "capture",
        DIRECTORY => "directory",
        LEAVES => "leaves of a directory",
        FILE | LONG_FILE => "list of a file",
        PLAN => "restore plan",
        _ => "node of a tree",
    }
}

/// Reads an id.
fn id(reader: &mut Reader<'_>) -> Result<ChunkId> {
    reader.array().map(ChunkId)
}
