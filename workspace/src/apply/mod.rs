//! Execution of a plan, and its undo.
//!
//! ```text
//! context    one restore: its inputs, its folder, access to paths
//! syscalls   the calls that change something; a test can stop each of them
//! staging    the folder in which a restore works
//! stage      writes new content to staging
//! contents   reads that content ahead
//! execute    applies each action, and checks the displaced entries
//! compare    compares an entry with the items before and after
//! preflight  checks the result of a restore
//! recover    decides after a crash how each action is undone
//! undo       undoes a restore
//! cleanup    removes staging, and keeps files that another process wrote to
//! ```
//!
//! The participant calls [`apply()`], and then [`abort()`] or [`finish()`]. A restore is undone
//! before its commit and finished after it. Displaced files stay until [`finish()`].

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
use milepost_codec::ChunkId;

use crate::plan::{Choices, PathConflict};

pub(crate) use context::Restore;
pub(crate) use staging::{KeptEntry, restore_of};
#[cfg(test)]
pub(crate) use syscalls::Call;

/// Result of an undo or a cleanup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recovered {
    /// The folder is entirely as before or entirely as planned, and staging is removed.
    Complete(Vec<KeptEntry>),
    /// Another process changed these paths since. All others are as before.
    Stopped(Vec<PathConflict>),
}

/// A failed restore.
#[derive(Debug)]
pub(crate) struct Failed {
    /// Cause. `Conflict`: another process changed a path. `Unavailable`: the system refused.
    /// `Corrupt` or `NotFound`: contents are lost.
    pub(crate) error: Error,
    /// Result of the undo. If it is incomplete, the restore stays open for recovery.
    pub(crate) recovered: Result<Recovered>,
}

/// Executes a plan: stages, moves, syncs, and checks the paths where `tree` differs from `present`.
///
/// On an error, undoes its actions at once. A path that another process changed before the move
/// stays as it is and does not stop the undo: the restore left nothing there.
pub(crate) fn apply(restore: &Restore<'_>, present: ChunkId, tree: ChunkId) -> Result<(), Failed> {
    let begun = restore.check().and_then(|()| staging::Staging::find(restore));
    match begun {
        Ok(None) => {}
        // The existing staging is not this call's to remove.
        Ok(Some(_)) => {
            let name = staging::name(&restore.id);
            let why = || Error::new(ErrorKind::Conflict, format!("`{name}` is there already"));
            let error = why().at("the restore was begun before: recover it first");
            return Err(Failed { error, recovered: Err(why()) });
        }
        Err(error) => {
            let recovered = Ok(Recovered::Complete(Vec::new()));
            return Err(Failed { error, recovered });
        }
    }
    if restore.plan.actions.is_empty() {
        let recovered = || Ok(Recovered::Complete(Vec::new()));
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

/// Undoes the first `done` actions. Removes staging if all of them are undone.
fn take_back(restore: &Restore<'_>, choices: &Choices, done: usize) -> Result<Recovered> {
    let stopped = undo::back(restore, choices, done)?;
    match stopped.is_empty() {
        true => cleanup::clear(restore).map(Recovered::Complete),
        false => Ok(Recovered::Stopped(stopped)),
    }
}

/// Undoes a restore that did not end, wherever it stopped. It may be called repeatedly.
///
/// # Errors
///
/// `Unavailable`: the system refuses. Other paths are undone; the next call continues.
pub(crate) fn abort(restore: &Restore<'_>, choices: &Choices) -> Result<Recovered> {
    take_back(restore, choices, usize::MAX)
}

/// Removes the staging of a restore that was committed or aborted. It may be called repeatedly.
///
/// # Errors
///
/// As [`abort()`].
pub(crate) fn finish(restore: &Restore<'_>) -> Result<Recovered> {
    cleanup::clear(restore).map(Recovered::Complete)
}
