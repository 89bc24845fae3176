//! Verification of a store, and anchors.

use milepost_codec::Result;
use milepost_store::Fault;
use milepost_store::open_report::Repair;

use crate::handles::engine::Engine;
use crate::verification::anchor::Anchor;
use crate::verification::verify::{VerifyReport, verify};

/// Verification and anchors: see [`Engine::integrity`].
#[derive(Debug, Clone, Copy)]
pub struct Integrity<'a> {
    pub(super) engine: &'a Engine,
}

impl Engine {
    /// Returns the operations that verify the store's content, and that take and compare anchors.
    pub fn integrity(&self) -> Integrity<'_> {
        Integrity { engine: self }
    }
}

impl Integrity<'_> {
    /// Verifies a task, or the whole store: computes every chain and the id of every checkpoint
    /// again, and reads every file. `progress` receives the number of events verified so far and
    /// the total.
    ///
    /// # Errors
    ///
    /// Those that stop the verification. Faults of the store are in the report.
    pub fn verify(
        &self,
        task: Option<&str>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<VerifyReport> {
        let task = task.map(|id| self.engine.task_no(id)).transpose()?;
        let mut report = verify(&self.engine.catalog(), self.engine.inner.store, task, progress)?;
        report.repairs = self.repairs()?;
        report.repairs.retain(|repair| repair.acknowledged_us.is_none());
        Ok(report)
    }

    /// Returns the records of repaired damage, oldest first, acknowledged ones included. They stay
    /// when the store is closed, compacted, or its index is rebuilt.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the disk fails.
    pub fn repairs(&self) -> Result<Vec<Repair>> {
        self.engine.inner.catalog.log().repairs()
    }

    /// Acknowledges the records of repaired damage: a verification no longer counts them. Returns
    /// the number of those that were not acknowledged before.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the disk fails, or the store was opened for reading only.
    pub fn acknowledge_repairs(&self) -> Result<u64> {
        self.engine.inner.catalog.log().acknowledge_repairs()
    }

    /// Notes a verification of the whole store: the record of damage found later includes it as the
    /// time when the store was intact. The note is best effort, since nothing else depends on it.
    pub fn note_verified(&self, report: &VerifyReport) {
        let log = self.engine.inner.catalog.log();
        if log.check_writable().is_ok()
            && let Err(error) = log.note_verified(report.events, report.faults.len())
        {
            tracing::debug!("the verification is not noted: {error}");
        }
    }

    /// Folds every lineage of a task, or of all tasks, from its beginning with each registered
    /// reducer, and returns the snapshots with another state. [`Integrity::verify`] checks only
    /// that snapshots are intact and belong to their points.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. Otherwise errors that stop the verification.
    pub fn verify_states(&self, task: Option<&str>) -> Result<Vec<Fault>> {
        let task = task.map(|id| self.engine.task_no(id)).transpose()?;
        let inner = &self.engine.inner;
        crate::verification::verify::verify_states(
            &self.engine.catalog(),
            &inner.options.reducers,
            task,
        )
    }

    /// Returns the current heads of the store, to be kept somewhere else.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed. `Corrupt`: its index is damaged.
    pub fn anchor(&self) -> Result<Anchor> {
        let inner = &self.engine.inner;
        Anchor::take(&inner.catalog, inner.store, inner.now_us())
    }

    /// Compares the store with an anchor and returns the differences: logs that are missing,
    /// shorter, or have another history. The result is empty if the store has only grown since.
    /// Reads the heads and one block of each log. Together with [`Integrity::verify`], which
    /// computes the chains, this proves everything up to the anchor.
    ///
    /// # Errors
    ///
    /// `Invalid`: the anchor belongs to another store.
    pub fn verify_anchor(&self, anchor: &Anchor) -> Result<Vec<Fault>> {
        anchor.check(&self.engine.inner.catalog, self.engine.inner.store)
    }
}
