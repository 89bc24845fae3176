//! What the user decided about paths that stand in the way.

use milepost::{Error, Result};
use milepost_codec::TreePath;
use serde::{Deserialize, Serialize};

/// What is to be done with paths that stand in the way of a restore, each for the path and all that
/// is below it. Where two fit, the longer one counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Choices {
    /// What is there is replaced by what the snapshot has.
    pub theirs: Vec<TreePath>,
    /// What is there stays, and is recorded as it is.
    pub keep_mine: Vec<TreePath>,
    /// The snapshot is of this folder, though it was captured elsewhere.
    pub moved: bool,
    /// What the rules that were captured with the snapshot ignore goes too, where it was recorded
    /// since.
    pub take_ignored: bool,
}

/// What was decided about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Theirs,
    KeepMine,
}

impl Choices {
    /// Takes the snapshot's at `path` and below.
    #[must_use]
    pub fn theirs(mut self, path: TreePath) -> Self {
        self.theirs.push(path);
        self
    }

    /// Leaves what is at `path` and below.
    #[must_use]
    pub fn keep_mine(mut self, path: TreePath) -> Self {
        self.keep_mine.push(path);
        self
    }

    /// Takes the folder for the one that was captured.
    #[must_use]
    pub fn moved(mut self) -> Self {
        self.moved = true;
        self
    }

    /// Takes away what was recorded since, and the rules of the snapshot ignore.
    #[must_use]
    pub fn take_ignored(mut self) -> Self {
        self.take_ignored = true;
        self
    }

    /// `Invalid` where both were chosen for one path.
    pub(crate) fn check(&self) -> Result<()> {
        match self.theirs.iter().find(|path| self.keep_mine.contains(path)) {
            None => Ok(()),
            Some(path) => Err(Error::invalid(format!(
                "both --theirs and --keep-mine were given for `{path}`: choose one"
            ))),
        }
    }

    /// What was decided about a path.
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

    /// Returns `true` if something below a path is to go.
    pub(crate) fn goes_below(&self, path: &TreePath) -> bool {
        self.theirs.iter().any(|choice| choice.is_in(path))
    }

    /// Whether something below a path is to be kept.
    pub(crate) fn keeps_below(&self, path: &TreePath) -> bool {
        let below = |choice: &&TreePath| *choice != path && choice.is_in(path);
        self.keep_mine.iter().any(|choice| below(&choice))
    }
}
