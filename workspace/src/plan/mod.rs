//! What a restore would do: three trees compared path by path. It changes nothing.
//!
//! ```text
//! three_way    compares three trees: actions, conflicts, and the resulting tree
//! directories  paths that hold a directory now
//! additions    new subtrees, and the content of a directory that a file replaces
//! ignored      files of the folder that captures leave out
//! preflight    checks of the folder itself: space, permission, equal names
//! choices      the user's decisions
//! report       the plan as people and programs read it
//! ```

mod additions;
mod choices;
mod directories;
mod ignored;
mod preflight;
mod report;
#[cfg(test)]
mod tests;
mod three_way;

pub use choices::Choices;
pub use report::{ConflictWhy, NoteWhat, PathConflict, Plan, PlanNote, PlannedPath};

pub(crate) use choices::Choice;
pub(crate) use preflight::look_at_folder;
pub(crate) use three_way::{OPEN, make};

use std::collections::BTreeSet;

use milepost_codec::{ChunkId, RestoreIntent, Skip, TreePath};

use crate::chunks::Contents;
use crate::tree::Budget;

/// The trees that are compared, and what else a plan is made of.
pub(crate) struct Trees<'a> {
    /// Where their nodes are read from, those of the present too.
    pub(crate) contents: &'a dyn Contents,
    /// **L**, the last tree; nothing where nothing was captured yet.
    pub(crate) last: Option<ChunkId>,
    /// **T**, the one to go to.
    pub(crate) target: ChunkId,
    /// What its capture says is in it.
    pub(crate) says: Budget,
    /// **P**, what is there now.
    pub(crate) present: ChunkId,
    /// What the look at the present left out, in order of paths.
    pub(crate) skips: &'a [Skip],
    pub(crate) choices: &'a Choices,
    /// Whether the target was captured from a folder elsewhere.
    pub(crate) elsewhere: bool,
    /// Files that were made or changed outside of any run since the target.
    pub(crate) by_hand: &'a BTreeSet<TreePath>,
}

/// A plan, and what it leads to.
pub(crate) struct Made {
    /// What is done, for the record and for `apply`.
    pub(crate) actions: RestoreIntent,
    /// **E**, the tree to come: the target with what is kept. Its new nodes were handed over.
    pub(crate) tree: ChunkId,
    /// The same for people and programs, with the conflicts.
    pub(crate) shown: Plan,
}
