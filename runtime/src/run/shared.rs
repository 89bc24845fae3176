//! State of a run, shared with the autosave thread.

use std::collections::HashSet;

use milepost::events::RunControl;
use milepost::{Append, Result, Task};
use parking_lot::{Condvar, Mutex, RwLock};

use super::due::DueCheckpoint;
use super::idle::Idle;
use super::options::RunOptions;
use crate::failover::FailoverEngine;

/// State shared with the autosave thread.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) task: Mutex<Task>,
    pub(super) options: RunOptions,
    /// Holds appends that the store refuses, without a failover engine in the options.
    pub(super) spool: Option<FailoverEngine>,
    pub(super) gathered: Mutex<DueCheckpoint>,
    pub(super) idle: Mutex<Idle>,
    pub(super) keys: Keys,
    pub(super) guidance: Mutex<GuidanceCursor>,
    pub(super) position: Mutex<Position>,
    pub(super) gate: RwLock<()>,
}

impl Shared {
    pub(super) fn task(&self) -> Task {
        self.refresh();
        self.task.lock().clone()
    }

    /// Switches to another lineage.
    pub(super) fn adopt(&self, task: Task) -> Result<()> {
        let gathered = DueCheckpoint::of(&task)?;
        let mut now = self.gathered.lock();
        now.on(gathered);
        *self.idle.lock() = Idle::activated(task.clock().now_us());
        *self.guidance.lock() = GuidanceCursor::default();
        self.position.lock().moved();
        *self.task.lock() = task;
        Ok(())
    }

    /// Fills in the context of the run.
    pub(super) fn in_context(&self, append: Append) -> Append {
        append.or_context(&self.options.context)
    }
}

/// The position of a run, for the time in which the store does not have it.
#[derive(Debug, Default)]
pub(super) struct Position {
    /// The number of openings of the store that the task's handle belongs to.
    pub(super) generation: u64,
    /// The next step.
    pub(super) step: Option<u64>,
    pub(super) phase: Option<String>,
    /// The control at the last safe point.
    pub(super) control: Option<RunControl>,
    /// A failed or held checkpoint was reported, and no write has succeeded since.
    pub(super) is_reported: bool,
}

impl Position {
    pub(super) fn at(&mut self, next_step: u64) {
        self.step = Some(next_step);
    }

    pub(super) fn entered(&mut self, phase: &str) {
        self.phase = Some(phase.to_owned());
    }

    pub(super) fn is(&mut self, control: RunControl) {
        self.control = Some(control);
    }

    /// Discards the facts that a restore has changed.
    pub(super) fn moved(&mut self) {
        let (generation, is_reported) = (self.generation, self.is_reported);
        *self = Self { generation, is_reported, ..Self::default() };
    }
}

/// The number of instructions of a lineage that were read; `None` until the first reading.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct GuidanceCursor {
    pub(super) read: Option<Read>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    /// Returned by `Run::new_guidance`.
    pub(super) returned: u64,
    /// Returned to a step that ended.
    pub(super) settled: u64,
}

/// Keys whose work is in progress.
#[derive(Debug, Default)]
pub(super) struct Keys {
    busy: Mutex<HashSet<String>>,
    released: Condvar,
}

/// A key in progress, until it is dropped.
pub(super) struct Busy<'a> {
    keys: &'a Keys,
    key: &'a str,
}

impl Keys {
    pub(super) fn acquire<'a>(&'a self, key: &'a str) -> Busy<'a> {
        let mut busy = self.busy.lock();
        while !busy.insert(key.to_owned()) {
            self.released.wait(&mut busy);
        }
        Busy { keys: self, key }
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.keys.busy.lock().remove(self.key);
        self.keys.released.notify_all();
    }
}
