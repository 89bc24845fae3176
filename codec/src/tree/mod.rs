//! Trees: captures of folders, as contents of chunks that refer to each other by hash.
//!
//! ```text
//! name.rs       names and paths, checked                 display.rs for people, and in JSON
//! capture.rs    tag 1, the root of a capture             skip.rs    skipped entries, and reasons
//! item.rs       file, symlink or directory of a name     intent.rs  tag 6, the plan of a restore
//! directory.rs  tag 2, entries; tag 3, leaves of a large directory
//! file.rs       tags 4 and 5, the chunks of a file     tag.rs     tags, versions, kinds of nodes
//! ```
//!
//! Each content except a list of skips begins with a tag and a version, so that its type is
//! unambiguous. Each value has exactly one encoding: numbers are in their shortest form, names
//! ascend, and no bytes follow. Decoding and encoding again therefore yields the same bytes and the
//! same id.

mod capture;
mod directory;
mod display;
mod file;
mod intent;
mod item;
mod name;
mod skip;
mod tag;

pub use crate::tree::display::printable;
pub use crate::tree::intent::{Action, ActionKind, RestoreIntent};
pub use capture::Capture;
pub use directory::{DIRECTORY_WHOLE_MAX, Entry, Leaf, cut_directory, encode_directory};
pub use file::{FileList, FilePart, encode_file};
pub use item::{EntryKind, Item};
pub use name::{Name, PathBytes, TreePath};
pub use skip::{Skip, SkipReason};
pub use tag::NodeKind;
use tag::{CAPTURE, DIRECTORY, FILE, LEAVES, LONG_FILE, begin, name_of};

use crate::error::{Error, Result};
use crate::id::ChunkId;
use crate::wire::Reader;

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
    /// A capture. A `workspace_captured` event refers to it.
    Capture(Capture),
    /// A directory, or a leaf of a large one. Names ascend strictly.
    Directory(Vec<Entry>),
    /// A large directory: its leaves, which are directories that are not empty, ordered by name.
    Leaves(Vec<Leaf>),
    /// A file of several chunks.
    File(FileList),
    /// A file with too many chunks for one list: its parts are [`Node::File`].
    LongFile(FileList),
}

impl Node {
    /// Decodes the content of a chunk.
    ///
    /// # Errors
    ///
    /// - `Corrupt`: the content is not a node, or not in its canonical form.
    /// - `Unsupported`: this program does not read the version.
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
            tag => Err(reader.corrupt("a tag from 1 to 5", tag)),
        }
    }

    /// Decodes a node of the expected kind. Fails with `Corrupt` for another node, and always for
    /// [`NodeKind::Content`], which is not a node.
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

    /// Returns the content. Encoding checks no limits: decoding refuses a node outside of them, and
    /// storing refuses a content longer than a chunk.
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

    /// Calls `visit` with each chunk that the node refers to and its expected kind. A chunk may
    /// repeat.
    pub fn names(&self, visit: &mut dyn FnMut(ChunkId, NodeKind)) {
        match self {
            Self::Capture(capture) => capture.names(visit),
            Self::Directory(entries) => entries.iter().for_each(|entry| entry.item.names(visit)),
            Self::Leaves(leaves) => leaves.iter().for_each(|leaf| visit(leaf.id, NodeKind::Leaf)),
            Self::File(list) => {
                (list.parts.iter()).for_each(|part| visit(part.id, NodeKind::Content))
            }
            Self::LongFile(list) => {
                list.parts.iter().for_each(|part| visit(part.id, NodeKind::Part))
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
