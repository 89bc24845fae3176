//! The value of a plan, and of a restore that was done: each path with its reason. All sentences
//! about it are made in `text.rs`.

use milepost_codec::{EntryKind, Item, PathBytes, SkipReason, TreePath};
use serde::{Deserialize, Serialize};

/// Changes that a restore would make in a folder, path by path, its conflicts, and what stays with
/// the reason. With `done`, the changes that a restore made.
///
/// The text has a line for each path: `+` created, `~` changed, `-` removed, `!` conflict,
/// `=` stays. Many paths of one folder are one line.
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
    /// Paths that differ from the snapshot, and that stay as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<LeftPath>,
    /// Paths that captures leave out, and that changed since the snapshot. A restore leaves them as
    /// they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Number of paths that captures leave out, and of which it is not known whether they changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncompared: u64,
    /// Folders that calls since the snapshot ran in, and that captures do not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<NotCovered>,
    /// Number of captures around calls since the snapshot that came late: files may have changed
    /// before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub late: u64,
    /// Files that changed while the restore ran: where each was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<PathBytes>,
    /// `true` if the restore was done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub done: bool,
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
    /// The author is unknown: the run or others.
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
    /// Stored contents are damaged or missing.
    Missing,
    /// The snapshot belongs to another folder.
    OtherFolder,
}

/// Decision that takes a path, or leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Way {
    /// `theirs` with the path: the snapshot's version replaces the current one.
    Theirs,
    /// `keep_mine` with the path: the current version stays.
    KeepMine,
    /// `moved`: the folder is the captured one.
    Moved,
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
    /// Decisions that resolve the conflict. Empty: only a change of the folder does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Way>,
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

/// Reason why a path stays.
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
    /// No capture has the path, and its author is unknown.
    Unrecorded,
    /// The run and others changed the path.
    Outside,
    /// Unknown: the run or others changed the path.
    AuthorUnknown,
    /// A choice keeps the path.
    Chosen,
}

/// A path that differs from the snapshot, and that a restore leaves as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftPath {
    /// Path below the folder.
    pub path: TreePath,
    /// The reason.
    pub why: LeftWhy,
    /// Text for people.
    pub text: String,
    /// Decisions that take the path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Way>,
}

/// Difference of a path that captures leave out from the time of the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LeftOutChange {
    /// Removed since.
    Gone,
    /// Another kind or size since.
    Changed,
    /// Written to since; the content may be the same.
    Touched,
    /// New since.
    New,
}

/// A path that captures leave out, and that changed since the snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Path below the folder.
    pub path: PathBytes,
    /// The reason why captures leave it out.
    pub reason: SkipReason,
    /// The change since.
    pub change: LeftOutChange,
    /// Size of a file: at the time of the snapshot, and now if it is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Text for people.
    pub text: String,
}

/// A folder that captures do not have, such as another work tree of git, and that a call ran in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCovered {
    /// The folder, absolute.
    pub path: String,
    /// Text for people.
    pub text: String,
}

impl LeftPath {
    pub(crate) fn new(path: &TreePath, why: LeftWhy, ways: &[Way]) -> Self {
        Self { path: path.clone(), why, text: why.text().to_owned(), ways: ways.to_vec() }
    }
}

/// Returns `true` for zero.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Plan {
    /// Returns `true` if the plan changes nothing.
    pub fn is_empty(&self) -> bool {
        self.number() == 0
    }

    /// Returns the number of paths that the plan changes.
    pub fn number(&self) -> u64 {
        let lists = [&self.creates, &self.changes, &self.deletes, &self.modes];
        lists.iter().map(|list| list.len() as u64).sum()
    }

    /// Returns `true` if nothing differs from the snapshot once the plan is carried out, as far as
    /// scans tell: nothing stays, is kept, is in the way, or was left out and changed; all calls
    /// since ran in the folder, and their captures were in time.
    pub fn is_whole(&self) -> bool {
        let stays =
            |note: &PlanNote| matches!(note.what, NoteWhat::FolderStays | NoteWhat::Ignored);
        self.conflicts.is_empty()
            && self.left.is_empty()
            && self.left_out.is_empty()
            && self.kept.is_empty()
            && self.not_covered.is_empty()
            && self.late == 0
            && !self.notes.iter().any(stays)
    }

    /// Moves conflicts that the user decided to leave, with `keep_mine`, to the paths that stay,
    /// with the reason of the conflict.
    pub fn leave(&mut self, conflicts: &[PathConflict]) {
        for conflict in conflicts {
            let why = match conflict.why {
                ConflictWhy::Outside => LeftWhy::Outside,
                ConflictWhy::AuthorUnknown => LeftWhy::AuthorUnknown,
                _ => LeftWhy::Chosen,
            };
            let Some(path) = &conflict.path else { continue };
            let text = match why {
                LeftWhy::Chosen => format!("it stays: {}", conflict.text),
                why => why.text().to_owned(),
            };
            self.left.retain(|left| left.path != *path);
            self.left.push(LeftPath { path: path.clone(), why, text, ways: vec![Way::Theirs] });
        }
        self.left.sort_by(|a, b| a.path.cmp(&b.path));
    }
}

impl PlannedPath {
    pub(crate) fn new(path: &TreePath, item: &Item) -> Self {
        Self { path: path.clone(), kind: kind_of(item).to_owned(), bytes: item.kind.file_len() }
    }
}

impl ConflictWhy {
    /// Returns the decisions that resolve a conflict of a path.
    fn ways(self) -> &'static [Way] {
        match self {
            Self::Changed
            | Self::Unrecorded
            | Self::NotByARun
            | Self::Outside
            | Self::AuthorUnknown
            | Self::InTheWay
            | Self::Unstable => &[Way::Theirs, Way::KeepMine],
            Self::Denied | Self::Case | Self::Missing => &[Way::KeepMine],
            Self::OtherFolder => &[Way::Moved],
            Self::Locked | Self::Space => &[],
        }
    }
}

impl PathConflict {
    pub(crate) fn at(path: &TreePath, why: ConflictWhy) -> Self {
        Self::saying(Some(path), why, why.text().to_owned())
    }

    pub(crate) fn saying(path: Option<&TreePath>, why: ConflictWhy, text: String) -> Self {
        let ways = why.ways().iter().copied();
        // Each decision but `moved` names a path.
        let ways = ways.filter(|way| path.is_some() != (*way == Way::Moved)).collect();
        Self { path: path.cloned(), why, text, ways }
    }

    pub(crate) fn with_ways(self, ways: &[Way]) -> Self {
        Self { ways: ways.to_vec(), ..self }
    }
}

pub(crate) fn kind_of(item: &Item) -> &'static str {
    match item.kind {
        EntryKind::Link { .. } => "link",
        EntryKind::Directory { .. } => "folder",
        _ => "file",
    }
}
