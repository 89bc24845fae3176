//! The report of a plan, for people and programs.

use std::fmt;

use milepost_codec::{EntryKind, Item, TreePath};
use serde::{Deserialize, Serialize};

/// Changes that a restore would make in a folder, path by path, and its conflicts. Nothing is
/// changed yet.
///
/// The text has a line for each path: `+` created, `~` changed, `-` removed, `!` conflict,
/// `=` left to others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Plan {
    /// Created paths.
    pub creates: Vec<PlannedPath>,
    /// Replaced paths.
    pub changes: Vec<PlannedPath>,
    /// Removed paths.
    pub deletes: Vec<PlannedPath>,
    /// Folders with changed permission bits.
    pub modes: Vec<PlannedPath>,
    /// Conflicts. If there are any, the restore is refused.
    pub conflicts: Vec<PathConflict>,
    /// Remarks that prevent nothing.
    pub notes: Vec<PlanNote>,
    /// Paths that only others changed, and that stay as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<LeftPath>,
    /// Bytes to write.
    pub bytes: u64,
    /// Bytes of free space needed.
    pub needs: u64,
    /// Bytes of free space.
    pub free: u64,
}

/// A path that a restore would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedPath {
    /// Path below the folder.
    pub path: TreePath,
    /// `file`, `link` or `folder`: after the restore, or before a removal.
    pub kind: String,
    /// Size of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// Kind of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ConflictWhy {
    /// The path was changed since its last capture.
    Changed,
    /// The path was never captured.
    Unrecorded,
    /// The path was made or changed outside of any run, between the capture after one run and the
    /// capture before the next.
    NotByARun,
    /// The run and others changed the path, or others changed something in a folder that has to
    /// make room.
    Outside,
    /// Nothing tells whether the run or others changed the path.
    AuthorUnknown,
    /// A folder has to make room, and contains paths that no capture includes.
    InTheWay,
    /// The snapshot's content was written to while it was read.
    Unstable,
    /// Another process holds the folder.
    Locked,
    /// The disk has not enough room.
    Space,
    /// A folder cannot be written to.
    Denied,
    /// The file system treats two names as one.
    Case,
    /// Stored contents are damaged or gone.
    Missing,
    /// The snapshot is of another folder.
    OtherFolder,
}

/// An obstacle to a restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathConflict {
    /// Path of the conflict; `None` for the whole folder.
    pub path: Option<TreePath>,
    /// Kind of the conflict.
    pub why: ConflictWhy,
    /// Text for people.
    pub text: String,
}

/// Kind of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoteWhat {
    /// The path was removed since its capture, and is created again.
    Deleted,
    /// The folder stays, since it contains a path that was never captured.
    FolderStays,
    /// The path stays: the rules in the target ignore it.
    Ignored,
    /// The file has other names, which keep the present content.
    Links,
    /// The file loses mode bits that captures do not include.
    Bits,
}

/// A remark about a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanNote {
    /// Path of the note.
    pub path: TreePath,
    /// Kind of the note.
    pub what: NoteWhat,
    /// Text for people.
    pub text: String,
}

/// Change by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LeftWhy {
    /// Others made the path.
    Made,
    /// Others changed the path: content, target, permission bits or kind.
    Changed,
    /// Others removed the path.
    Removed,
    /// No capture has the path, and it is not known who made it.
    Unrecorded,
}

/// A path that a restore leaves as it is, since only others changed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftPath {
    /// Path below the folder.
    pub path: TreePath,
    /// The change.
    pub why: LeftWhy,
    /// Text for people.
    pub text: String,
}

impl LeftPath {
    pub(crate) fn new(path: &TreePath, why: LeftWhy) -> Self {
        let text = match why {
            LeftWhy::Made => "it stays: others made it",
            LeftWhy::Changed => "it stays: others changed it",
            LeftWhy::Removed => "it stays removed: others removed it",
            LeftWhy::Unrecorded => "it stays: it was never captured",
        };
        Self { path: path.clone(), why, text: text.to_owned() }
    }
}

impl Plan {
    /// Returns `true` if the plan changes nothing.
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
    /// Returns the text for people.
    fn text(self) -> &'static str {
        match self {
            Self::Changed => "it was changed since it was last captured",
            Self::Unrecorded => "it was never captured",
            Self::NotByARun => "it was made or changed outside of any run",
            Self::Outside => "others changed it too",
            Self::AuthorUnknown => "it is not known whether the run or others changed it",
            Self::InTheWay => "the folder has something in it that would be lost",
            Self::Unstable => "the snapshot's was written to while it was captured",
            Self::Locked => "another process holds the folder",
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
        for left in &self.left {
            writeln!(f, "= {}  {}", left.path, left.text)?;
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
