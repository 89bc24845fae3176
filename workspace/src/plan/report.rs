//! A plan as people and programs read it.

use std::fmt;

use milepost_codec::{EntryKind, Item, TreePath};
use serde::{Deserialize, Serialize};

/// What a restore would do with a folder, path by path, and what stands in its way. Nothing of it
/// is done yet.
///
/// Its text has a line for each path: `+` is made, `~` is changed, `-` is removed, `!` stands in
/// the way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Plan {
    /// What is made where nothing is.
    pub creates: Vec<PlannedPath>,
    /// What is replaced by something else.
    pub changes: Vec<PlannedPath>,
    /// What is removed.
    pub deletes: Vec<PlannedPath>,
    /// Folders that get other permission bits.
    pub modes: Vec<PlannedPath>,
    /// What stands in the way. Where there is any, nothing is done.
    pub conflicts: Vec<PathConflict>,
    /// What is worth knowing, and stands in the way of nothing.
    pub notes: Vec<PlanNote>,
    /// Bytes of what is written.
    pub bytes: u64,
    /// Bytes that have to be free for that.
    pub needs: u64,
    /// Bytes that are free.
    pub free: u64,
}

/// A path that a restore would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedPath {
    /// The path.
    pub path: TreePath,
    /// `file`, `link` or `folder`: what is there afterwards, or was before it is removed.
    pub kind: String,
    /// Bytes of it, of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// Why something stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ConflictWhy {
    /// It was changed since it was last captured.
    Changed,
    /// It was never captured.
    Unrecorded,
    /// It was made or changed outside of any run, between the capture behind one and the capture
    /// before the next.
    NotByARun,
    /// A folder has to make room, and has something in it that no capture takes or took.
    InTheWay,
    /// The snapshot's content was written to while it was read.
    Unstable,
    /// Somebody else has the folder.
    Locked,
    /// The disk has not enough room.
    Space,
    /// A folder cannot be written to.
    Denied,
    /// The file system takes two names for one.
    Case,
    /// Stored contents are damaged or gone.
    Missing,
    /// The snapshot is of another folder.
    OtherFolder,
}

/// Something that stands in the way of a restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathConflict {
    /// Where; nothing where it is the whole folder.
    pub path: Option<TreePath>,
    /// Why.
    pub why: ConflictWhy,
    /// The same for people.
    pub text: String,
}

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoteWhat {
    /// It was removed since it was captured, and is made again.
    Deleted,
    /// A folder stays, as something is in it that was never captured.
    FolderStays,
    /// It stays: the rules that were captured then ignore it.
    Ignored,
    /// The file has other names, which keep what they have.
    Links,
    /// The file has bits that captures do not take, and loses them.
    Bits,
}

/// Something worth knowing about a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanNote {
    /// The path.
    pub path: TreePath,
    /// What about it.
    pub what: NoteWhat,
    /// The same for people.
    pub text: String,
}

impl Plan {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        let lists = [&self.creates, &self.changes, &self.deletes, &self.modes];
        lists.iter().all(|list| list.is_empty())
    }
}

impl PlannedPath {
    pub(crate) fn new(path: &TreePath, item: &Item) -> Self {
        Self { path: path.clone(), kind: kind_of(item).to_owned(), bytes: item.kind.file_len() }
    }
}

impl ConflictWhy {
    /// What it means, for people.
    fn text(self) -> &'static str {
        match self {
            Self::Changed => "it was changed since it was last captured",
            Self::Unrecorded => "it was never captured",
            Self::NotByARun => "it was made or changed outside of any run",
            Self::InTheWay => "the folder has something in it that would be lost",
            Self::Unstable => "the snapshot's was written to while it was captured",
            Self::Locked => "somebody else has the folder",
            Self::Space => "the disk has not enough room",
            Self::Denied => "the folder cannot be written to",
            Self::Case => "the file system takes two names for one",
            Self::Missing => "stored contents of it are damaged or gone",
            Self::OtherFolder => "the snapshot is of another folder",
        }
    }
}

impl PathConflict {
    pub(crate) fn at(path: &TreePath, why: ConflictWhy) -> Self {
        Self::saying(Some(path), why, why.text().to_owned())
    }

    pub(crate) fn saying(path: Option<&TreePath>, why: ConflictWhy, text: String) -> Self {
        Self { path: path.cloned(), why, text }
    }
}

pub(crate) fn kind_of(item: &Item) -> &'static str {
    match item.kind {
        EntryKind::Link { .. } => "link",
        EntryKind::Directory { .. } => "folder",
        _ => "file",
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signs =
            [("+", &self.creates), ("~", &self.changes), ("~", &self.modes), ("-", &self.deletes)];
        for (sign, list) in signs {
            for planned in list {
                let slash = if planned.kind == "folder" { "/" } else { "" };
                writeln!(f, "{sign} {}{slash}", planned.path)?;
            }
        }
        for conflict in &self.conflicts {
            writeln!(f, "! {conflict}")?;
        }
        for note in &self.notes {
            writeln!(f, "  {}  {}", note.path, note.text)?;
        }
        Ok(())
    }
}

impl fmt::Display for PathConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{path}  {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}
