//! Requests of the committer: appends to logs that are committed together.

use milepost_codec::{LogId, Offset, RestoreId, Seq, TaskNo};
use milepost_store::clock::Stopwatch;
use smallvec::{SmallVec, smallvec};

use super::log_append::{Effect, LogAppend};

/// An atomic request: all of its appends are committed, or none.
#[derive(Debug)]
pub(crate) struct Request {
    appends: SmallVec<[LogAppend; 1]>,
    /// Heads that logs must still have at the commit: the request was computed from them.
    heads: Vec<(LogId, Offset)>,
    /// A task, and the last commit whose captures and activations of it the request knows.
    knows: Option<(TaskNo, Seq)>,
}

impl Request {
    pub(crate) fn of(appends: impl Into<SmallVec<[LogAppend; 1]>>) -> Self {
        Self { appends: appends.into(), heads: Vec::new(), knows: None }
    }

    /// Makes the commit fail with `Conflict` if one of these logs has grown.
    pub(crate) fn unless_grown(mut self, heads: Vec<(LogId, Offset)>) -> Self {
        self.heads = heads;
        self
    }

    /// Makes the commit fail if a later one than `seen` has a capture or an activation of a task:
    /// see [`is_overtaken`](super::is_overtaken).
    pub(crate) fn unless_overtaken(mut self, task: TaskNo, seen: Seq) -> Self {
        self.knows = Some((task, seen));
        self
    }

    pub(super) fn knows(&self) -> Option<(TaskNo, Seq)> {
        self.knows
    }

    pub(super) fn appends(&self) -> &[LogAppend] {
        &self.appends
    }

    pub(super) fn heads(&self) -> &[(LogId, Offset)] {
        &self.heads
    }

    /// Returns the effects of its control events, in order.
    pub(super) fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.appends.iter().flat_map(LogAppend::effects)
    }

    /// Returns the restore that the request ends. It does not block this request.
    pub(super) fn ends(&self) -> Option<RestoreId> {
        self.effects().find_map(|effect| match effect {
            Effect::EndsRestore(_, restore) => Some(*restore),
            _ => None,
        })
    }

    /// Returns the time at which the request was begun, before encoding.
    pub(crate) fn begun(&self) -> Option<Stopwatch> {
        self.appends.first().map(|append| append.begun)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.appends.iter().map(|append| append.bytes.len() + 256).sum()
    }
}

impl From<LogAppend> for Request {
    fn from(append: LogAppend) -> Self {
        Self::of(smallvec![append])
    }
}
