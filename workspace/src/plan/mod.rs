//! The plan of a restore: a comparison of three trees, path by path. Planning changes nothing.
//!
//! ```text
//! three_way    compares three trees: actions, conflicts, and the resulting tree
//! directories  paths that hold a directory now
//! authors      who changed a path since the target
//! by_author    paths that a restore leaves to others, or asks about
//! additions    new subtrees, and the content of a directory that a file replaces
//! ignored      files of the folder that captures leave out
//! preflight    checks of the folder itself: space, permission, equal names
//! choices      the user's decisions
//! left_out     what became of paths that captures leave out
//! report       the plan as a value: each path with its reason
//! text         all sentences about a plan and a restore
//! ```

mod additions;
mod authors;
mod by_author;
mod choices;
mod directories;
mod ignored;
mod left_out;
mod preflight;
mod report;
#[cfg(test)]
mod tests;
mod text;
mod three_way;

pub use choices::Choices;
pub use report::PlannedPath;
pub use report::{ConflictWhy, LeftOut, LeftOutChange, LeftPath, LeftWhy, NotCovered, NoteWhat};
pub use report::{PathConflict, Plan, PlanNote, Way};

pub(crate) use authors::{Author, Authors, Counted};
pub(crate) use choices::Choice;
pub(crate) use ignored::{SkippedPaths, is_by_size};
pub(crate) use left_out::{Then, look_at_left_out};
pub(crate) use preflight::look_at_folder;
pub(crate) use three_way::{OPEN, make};

use std::collections::BTreeSet;

use milepost_codec::{ChunkId, RestoreIntent, Skip, TreePath};

use crate::chunks::Contents;
use crate::tree::Budget;

/// Inputs of a plan.
pub(crate) struct Trees<'a> {
    /// Reads the nodes of all three trees.
    pub(crate) contents: &'a dyn Contents,
    /// **L**, the last captured tree; `None` before the first capture.
    pub(crate) last: Option<ChunkId>,
    /// **T**, the target tree.
    pub(crate) target: ChunkId,
    /// Counts in the target's capture.
    pub(crate) says: Budget,
    /// **P**, the present tree.
    pub(crate) present: ChunkId,
    /// Paths that the scan of the present left out, in order.
    pub(crate) skips: &'a [Skip],
    /// Paths that the captures of **L** and **T** left out, in order.
    pub(crate) last_skips: &'a [Skip],
    pub(crate) target_skips: &'a [Skip],
    pub(crate) choices: &'a Choices,
    /// `true` if the target was captured from another folder.
    pub(crate) elsewhere: bool,
    /// Files made or changed outside of any run since the target.
    pub(crate) by_hand: &'a BTreeSet<TreePath>,
    /// Authors of the changes since the target, if changes of others stay.
    pub(crate) authors: Option<&'a Authors>,
}

/// A plan and its result.
pub(crate) struct PlannedRestore {
    /// Actions, for the record and for `apply`.
    pub(crate) actions: RestoreIntent,
    /// **E**, the resulting tree: the target with kept paths. Its new nodes were passed to `put`.
    pub(crate) tree: ChunkId,
    /// Report for people and programs, with the conflicts.
    pub(crate) preview: Plan,
}
