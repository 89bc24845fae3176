//! Pins: checkpoints that no policy removes.

use milepost_codec::{
    CheckpointId, Control, Error, LogId, Pinned, Result, TEXT_MAX, TaskNo, Unpinned, check_size,
};
use milepost_store::index::PinEntry;
use milepost_store::index::keys::{self, KeyKind};

use super::ViewRetention;
use crate::commit::committer::Request;
use crate::history::catalog::Catalog;
use crate::history::checkpoint::Checkpoint;

/// A pinned checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pin {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// The reason for the pin.
    pub reason: Option<String>,
    /// The time of the pin, in microseconds since the Unix epoch.
    pub time_us: u64,
}

impl ViewRetention<'_> {
    /// Pins a checkpoint: no policy removes it, or the events that it needs.
    ///
    /// # Errors
    ///
    /// - `NotFound`: the checkpoint does not exist.
    /// - `Invalid`: the reason has more than 1,024 bytes.
    pub fn pin(&self, checkpoint: &CheckpointId, reason: Option<&str>) -> Result<()> {
        check_size("a reason", reason.map_or(0, str::len), TEXT_MAX)?;
        // Held so that no cleanup removes the checkpoint before it is pinned.
        let _structure = self.view.inner.structure()?;
        let (task, found) = self.pinnable(checkpoint)?;
        let pinned = Pinned { checkpoint: found.id, reason: reason.map(str::to_owned) };
        self.commit_control(task, vec![pinned.into()])
    }

    /// Unpins a checkpoint, if it is pinned.
    ///
    /// # Errors
    ///
    /// `NotFound`: the checkpoint does not exist.
    pub fn unpin(&self, checkpoint: &CheckpointId) -> Result<()> {
        let _structure = self.view.inner.structure()?;
        let (task, found) = self.pinnable(checkpoint)?;
        if !self.view.inner.catalog.is_pinned(task, &found.id)? {
            return Ok(());
        }
        let unpinned = Unpinned { checkpoint: found.id };
        self.commit_control(task, vec![unpinned.into()])
    }

    /// Returns the pinned checkpoints of a task.
    ///
    /// # Errors
    ///
    /// `NotFound`: the task does not exist.
    pub fn pins(&self, task: &str) -> Result<Vec<Pin>> {
        self.view.inner.catalog.pins(self.view.task_no(task)?)
    }

    fn pinnable(&self, checkpoint: &CheckpointId) -> Result<(TaskNo, Checkpoint)> {
        let catalog = &self.view.inner.catalog;
        let found = catalog.checkpoint_named(&checkpoint.to_string(), self.view.viewer())?;
        Ok((catalog.find_for(&found.task, self.view.viewer())?, found))
    }

    /// Commits events to a task's control log.
    pub(super) fn commit_control(&self, task: TaskNo, events: Vec<Control>) -> Result<()> {
        let request = self.control_request(task, events)?;
        self.view.inner.commit(request).map(|_| ())
    }

    pub(crate) fn control_request(&self, task: TaskNo, events: Vec<Control>) -> Result<Request> {
        let inner = &self.view.inner;
        let origin = inner.catalog.task(task)?.origin;
        let mut append = self.view.log_append(LogId::control(task), origin);
        for event in events {
            append.control(&event, inner.now_us())?;
        }
        Ok(append.into())
    }
}

impl Catalog {
    /// Returns `true` if a checkpoint is pinned.
    pub(crate) fn is_pinned(&self, task: TaskNo, checkpoint: &CheckpointId) -> Result<bool> {
        Ok(self.log().get(&keys::pin(task, checkpoint))?.is_some())
    }

    /// Returns the pinned checkpoints of a task.
    pub(crate) fn pins(&self, task: TaskNo) -> Result<Vec<Pin>> {
        let prefix = keys::of_task(KeyKind::Pin, task);
        let all = self.log().scan(&prefix, &keys::after_prefix(&prefix), false, usize::MAX)?;
        let pin = |(key, value): (Vec<u8>, Vec<u8>)| {
            let entry = PinEntry::decode(&value)?;
            let id = key.last_chunk().ok_or_else(|| {
                Error::corrupt("key of a pin", "the id of a checkpoint", "other bytes")
            })?;
            Ok(Pin { checkpoint: CheckpointId(*id), reason: entry.reason, time_us: entry.time_us })
        };
        all.into_iter().map(pin).collect()
    }
}
