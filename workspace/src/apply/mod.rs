//! Doing what a plan says, and taking it back.
//!
//! ```text
//! context    one restore: its inputs, its folder, the way to a path
//! syscalls   the calls that change something; a test can stop each of them
//! staging    the folder in which a restore works
//! stage      writes new content to staging
//! contents   reads that content ahead
//! execute    applies each action, and checks what it displaced
//! compare    compares what a name holds with before and after
//! preflight  checks that everything is there in the end
//! recover    decides after a crash how each action is undone
//! undo       undoes a restore
//! cleanup    removes staging, and keeps files that somebody wrote to meanwhile
//! ```
//!
//! The participant calls [`apply()`], and then [`abort()`] or [`finish()`]. Before the commit a
//! restore is undone, after it finished: displaced files stay until [`finish()`].

mod cleanup;
mod compare;
mod contents;
mod context;
mod execute;
mod preflight;
mod recover;
mod stage;
mod staging;
mod syscalls;
#[cfg(test)]
mod tests;
mod undo;

use milepost::{Error, ErrorKind, Result};
use milepost_codec::{ChunkId, PathBytes, TreePath};

use crate::plan::{Choices, PathConflict};

pub(crate) use context::{Folder, Restore, Way};
pub(crate) use staging::restore_of;
#[cfg(test)]
pub(crate) use syscalls::Call;

/// What became of a restore that was recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recovered {
    /// The folder is wholly as it was, or wholly as it was to be, and staging is gone.
    Whole(Vec<Kept>),
    /// These paths were changed by somebody since. All others are as they were.
    Stopped(Vec<PathConflict>),
}

/// Something that was found in staging and is not the restore's to delete: it was written to after
/// it was displaced, or put there by somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The path that it was displaced from, where that is known.
    pub(crate) path: Option<TreePath>,
    /// Where it is now, from the root of the workspace.
    pub(crate) kept: PathBytes,
}

/// A restore that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    /// Why: `Conflict` where somebody changed a path meanwhile; `Unavailable` where the system
    /// refused; `Corrupt` or `NotFound` where contents are lost.
    pub(crate) error: Error,
    /// What became of it: wholly taken back, or not yet. Then it stays open, and recovery goes on.
    pub(crate) recovered: Result<Recovered>,
}

/// Does what a plan says: stages, moves, syncs and checks against the tree to come, where that is
/// other than the one of the present.
///
/// On an error it takes back at once what it did. A path that somebody changed before it was moved
/// is left to him and does not stop that: nothing of the restore is there.
pub(crate) fn apply(restore: &Restore<'_>, present: ChunkId, tree: ChunkId) -> Result<(), Failed> {
    let begun = restore.check().and_then(|()| staging::Staging::find(restore));
    match begun {
        Ok(None) => {}
        // What is in it is not this call's to clear.
        Ok(Some(_)) => {
            let name = staging::name(&restore.id);
            let why = || Error::new(ErrorKind::Conflict, format!("`{name}` is there already"));
            let error = why().at("the restore was begun before: recover it first");
            return Err(Failed { error, recovered: Err(why()) });
        }
        Err(error) => {
            let recovered = Ok(Recovered::Whole(Vec::new()));
            return Err(Failed { error, recovered });
        }
    }
    if restore.plan.actions.is_empty() {
        let recovered = || Ok(Recovered::Whole(Vec::new()));
        return preflight::check(restore, present, tree)
            .map_err(|error| Failed { error, recovered: recovered() });
    }
    let mut done = 0;
    execute::forward(restore, &mut done)
        .and_then(|()| preflight::check(restore, present, tree))
        .map_err(|error| {
            let recovered = take_back(restore, &Choices::default(), done);
            Failed { error, recovered }
        })
}

/// Takes back the first `done` actions, and clears where all of them are.
fn take_back(restore: &Restore<'_>, choices: &Choices, done: usize) -> Result<Recovered> {
    let stopped = undo::back(restore, choices, done)?;
    match stopped.is_empty() {
        true => cleanup::clear(restore).map(Recovered::Whole),
        false => Ok(Recovered::Stopped(stopped)),
    }
}

/// Undoes a restore that did not end, wherever it stopped. It may be called repeatedly.
///
/// # Errors
///
/// `Unavailable` where the system refuses. What could be undone is, and the next call goes on.
pub(crate) fn abort(restore: &Restore<'_>, choices: &Choices) -> Result<Recovered> {
    take_back(restore, choices, usize::MAX)
}

/// Removes the staging of a restore that was committed or aborted. It may be called repeatedly.
///
/// # Errors
///
/// As [`abort()`].
pub(crate) fn finish(restore: &Restore<'_>) -> Result<Recovered> {
    cleanup::clear(restore).map(Recovered::Whole)
}
