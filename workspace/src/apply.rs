//! Doing what a plan says, and taking it back.
//!
//! ```text
//! restore.rs   one restore: what it needs, its folder, the way to a path
//! hands.rs     the calls that change something, each of which a test can stop
//! staging.rs   the folder in which it happens
//! stage.rs     what is to come, written there
//! feed.rs      its contents, read ahead
//! moves.rs     what is done with each path, and the look behind it
//! find.rs      what stands under a name: before, after, or something else
//! check.rs     whether all is there in the end
//! judge.rs     after a crash: what each path asks for to be taken back
//! back.rs      taking it back
//! clear.rs     removing staging, and keeping what was written to meanwhile
//! ```
//!
//! [`apply()`] and [`recover()`] are what the engine's part calls. Before the commit a restore goes back,
//! after it forward: nothing that was there is deleted before [`recover()`] is told that it is done.

mod back;
mod check;
mod clear;
#[cfg(test)]
mod crash;
mod feed;
mod find;
mod hands;
mod judge;
#[cfg(test)]
mod limits;
mod moves;
#[cfg(test)]
mod others;
mod restore;
#[cfg(test)]
mod rig;
mod stage;
mod staging;

use milepost::{Error, ErrorKind, Result};
use milepost_codec::{ChunkId, PathBytes, TreePath};

use crate::plan::{Choices, PathConflict};

#[cfg(test)]
pub(crate) use hands::Call;
pub(crate) use restore::{Folder, Restore, Way};
pub(crate) use staging::restore_of;

/// How a restore stands in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stand {
    /// It was begun and not ended: it is taken back.
    Open,
    /// It was committed: what is left is to clear.
    Done,
    /// It was taken back: what is left is to clear.
    Undone,
}

/// What became of a restore that was recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recovered {
    /// The folder is wholly as it was, or wholly as it was to be, and staging is gone.
    Whole(Vec<Kept>),
    /// These paths were changed by somebody since. All others are as they were.
    Stopped(Vec<PathConflict>),
}

/// Something that was found in staging and is not the restore's to delete: it was written to after it
/// was displaced, or put there by somebody.
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
    /// Why: `Conflict` where somebody changed a path meanwhile; `Unavailable` where the system refused;
    /// `Corrupt` or `NotFound` where contents are lost.
    pub(crate) error: Error,
    /// What became of it: wholly taken back, or not yet. Then it stays open, and recovery goes on.
    pub(crate) recovered: Result<Recovered>,
}

/// Does what a plan says: stages, moves, syncs and checks against the tree to come, where that is other than the
/// one of the present.
///
/// On an error it takes back at once what it did. A path that somebody changed before it was moved is
/// left to him and does not stop that: nothing of the restore is there.
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
        return check::check(restore, present, tree)
            .map_err(|error| Failed { error, recovered: recovered() });
    }
    let mut done = 0;
    moves::forward(restore, &mut done).and_then(|()| check::check(restore, present, tree)).map_err(
        |error| {
            let recovered = take_back(restore, &Choices::default(), done);
            Failed { error, recovered }
        },
    )
}

/// Takes back the first `done` actions, and clears where all of them are.
fn take_back(restore: &Restore<'_>, choices: &Choices, done: usize) -> Result<Recovered> {
    let stopped = back::back(restore, choices, done)?;
    match stopped.is_empty() {
        true => clear::clear(restore).map(Recovered::Whole),
        false => Ok(Recovered::Stopped(stopped)),
    }
}

/// Brings a restore that did not end by itself to its end: back where it is open, else forward. It may
/// be called again and again.
///
/// # Errors
///
/// `Unavailable` where the system refuses. What could be taken back is, and the next call goes on.
pub(crate) fn recover(restore: &Restore<'_>, stand: Stand, choices: &Choices) -> Result<Recovered> {
    match stand {
        Stand::Open => take_back(restore, choices, usize::MAX),
        Stand::Done | Stand::Undone => clear::clear(restore).map(Recovered::Whole),
    }
}
