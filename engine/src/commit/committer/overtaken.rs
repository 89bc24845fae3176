//! The last commits that changed facts about a task's folder. A request that was computed from an
//! earlier one is refused, and its caller computes it again.

use std::collections::HashMap;

use milepost_codec::{Error, ErrorKind, Header, Result, Seq, TaskNo, WorkspaceCaptured};

use super::log_append::{Effect, LogAppend};

/// Number of tasks above which the map is cleared.
const TASKS_MAX: usize = 1 << 16;

/// The last commits with a capture or an activation, by task.
#[derive(Debug, Default)]
pub(super) struct FolderCommits {
    last: HashMap<TaskNo, Seq>,
    /// The last commit of tasks that are not in the map, at most.
    others: Seq,
}

/// The cause of the refusal of a request.
#[derive(Debug)]
struct Overtaken;

impl std::error::Error for Overtaken {}

impl std::fmt::Display for Overtaken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("another capture or activation of the task was committed first")
    }
}

/// Returns `true` if a request was refused because another capture or activation was committed
/// first.
pub(crate) fn is_overtaken(error: &Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<Overtaken>())
}

impl FolderCommits {
    /// Notes an append that is in the commit `seq`.
    pub(super) fn note(&mut self, append: &LogAppend, seq: Seq) {
        let captures = |(_, header): &(u32, Header)| header.kind == WorkspaceCaptured::KIND;
        let activates = |effect: &Effect| matches!(effect, Effect::Activates(..));
        if append.indexed.iter().any(captures) || append.effects().iter().any(activates) {
            if self.last.len() > TASKS_MAX {
                self.last.clear();
                self.others = seq;
            }
            self.last.insert(append.log.task, seq);
        }
    }

    /// Discards notes from after the commit `seq`: the next one failed.
    pub(super) fn back_to(&mut self, seq: Seq) {
        let noted = self.last.values_mut().chain([&mut self.others]);
        noted.for_each(|at| *at = seq.min(*at));
    }

    /// Refuses a request that knows a task's folder up to a commit, if a later one changed it.
    pub(super) fn check(&self, knows: Option<(TaskNo, Seq)>) -> Result<()> {
        match knows {
            Some((task, seen)) if *self.last.get(&task).unwrap_or(&self.others) > seen => {
                Err(Error::new(ErrorKind::Conflict, Overtaken.to_string()).with_source(Overtaken))
            }
            _ => Ok(()),
        }
    }
}
