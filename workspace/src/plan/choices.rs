//! Decisions of the user about conflicting paths.

use milepost::{Error, Result};
use milepost_codec::TreePath;
use serde::{Deserialize, Serialize};

/// Decisions about paths that conflict with a restore, each for the path and everything below it.
/// If two apply, the longer path wins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Choices {
    /// Paths whose content the snapshot replaces.
    pub theirs: Vec<TreePath>,
    /// Paths whose content stays, and is recorded as it is.
    pub keep_mine: Vec<TreePath>,
    /// `true` if the snapshot is of this folder, although it was captured elsewhere.
    pub moved: bool,
    /// `true` if files are removed too that the snapshot's ignore rules match and that were
    /// recorded since.
    pub take_ignored: bool,
    /// `true` if only changes of the run are undone. Changes of others stay.
    pub leave_others: bool,
}

/// Decision about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Theirs,
    KeepMine,
}

impl Choices {
    /// Restores `path` and everything below it from the snapshot.
    #[must_use]
    pub fn theirs(mut self, path: TreePath) -> Self {
        self.theirs.push(path);
        self
    }

    /// Keeps the present content of `path` and everything below it.
    #[must_use]
    pub fn keep_mine(mut self, path: TreePath) -> Self {
        self.keep_mine.push(path);
        self
    }

    /// Treats the folder as the captured one.
    #[must_use]
    pub fn moved(mut self) -> Self {
        self.moved = true;
        self
    }

    /// Removes files that the snapshot's ignore rules match and that were recorded since.
    #[must_use]
    pub fn take_ignored(mut self) -> Self {
        self.take_ignored = true;
        self
    }

    /// Undoes only changes of the run: calls of tools that the log has. Paths that only others
    /// changed since the snapshot stay as they are: see [`Plan::left`](crate::Plan::left). Paths
    /// that both changed, or with an unknown author, are conflicts.
    #[must_use]
    pub fn leave_others(mut self) -> Self {
        self.leave_others = true;
        self
    }

    /// Checks the choices.
    ///
    /// # Errors
    ///
    /// `Invalid`: both were chosen for one path.
    pub fn check(&self) -> Result<()> {
        match self.theirs.iter().find(|path| self.keep_mine.contains(path)) {
            None => Ok(()),
            Some(path) => Err(Error::invalid(format!(
                "both --theirs and --keep-mine were given for `{path}`: choose one"
            ))),
        }
    }

    /// Returns the decision about a path.
    pub(crate) fn of(&self, path: &TreePath) -> Option<Choice> {
        let longest = |choices: &[TreePath]| {
            let fitting = choices.iter().filter(|choice| path.is_in(choice));
            fitting.map(|choice| choice.as_bytes().len()).max()
        };
        let (theirs, mine) = (longest(&self.theirs), longest(&self.keep_mine));
        match (theirs, mine) {
            (None, None) => None,
            (theirs, mine) if theirs > mine => Some(Choice::Theirs),
            _ => Some(Choice::KeepMine),
        }
    }

    /// Returns `true` if a path at or below `path` is to be restored.
    pub(crate) fn has_choice_below(&self, path: &TreePath) -> bool {
        self.theirs.iter().any(|choice| choice.is_in(path))
    }

    /// Returns `true` if a path below `path` is to be kept.
    pub(crate) fn keeps_below(&self, path: &TreePath) -> bool {
        let below = |choice: &&TreePath| *choice != path && choice.is_in(path);
        self.keep_mine.iter().any(|choice| below(&choice))
    }
}
