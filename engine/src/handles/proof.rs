//! What proves a store: verification and anchors.

use milepost_codec::Result;
use milepost_store::Fault;

use crate::handles::engine::Engine;
use crate::integrity::anchor::Anchor;
use crate::integrity::verify::{VerifyReport, verify};

impl Engine {
    /// Verifies a task, or everything: computes every chain and every checkpoint's digest again,
    /// and reads every file. `progress` is told how many events were seen, and how many there are.
    ///
    /// # Errors
    ///
    /// Those that keep it from going on. What is found to be wrong is in the report.
    pub fn verify(
        &self,
        task: Option<&str>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<VerifyReport> {
        let task = task.map(|id| self.task_no(id)).transpose()?;
        verify(&self.inner.catalog, self.inner.store, task, progress)
    }

    /// Folds every lineage of a task, or of all, from its beginning, by each registered reducer,
    /// and says which snapshots hold another state. [`Engine::verify`] sees that they are whole and
    /// of the right point; whether what is in them was folded takes a fold.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. Else those that keep it from going on.
    pub fn verify_states(&self, task: Option<&str>) -> Result<Vec<Fault>> {
        let task = task.map(|id| self.task_no(id)).transpose()?;
        let inner = &self.inner;
        crate::integrity::verify::verify_states(&inner.catalog, &inner.options.reducers, task)
    }

    /// The heads of the store now, to be kept somewhere else.
    ///
    /// # Errors
    ///
    /// `Unavailable` where the store is closed, `Corrupt` where its index is damaged.
    pub fn anchor(&self) -> Result<Anchor> {
        let inner = &self.inner;
        Anchor::take(&inner.catalog, inner.store, inner.now_us())
    }

    /// What of the store is not as it was when an anchor was taken: logs that are gone, shorter, or
    /// another history. Empty where the store has only grown since. It reads the heads and one
    /// block of each log: with [`Engine::verify`], which computes the chains, everything up to the
    /// anchor is proved.
    ///
    /// # Errors
    ///
    /// `Invalid`: the anchor is of another store.
    pub fn verify_anchor(&self, anchor: &Anchor) -> Result<Vec<Fault>> {
        anchor.check(&self.inner.catalog, self.inner.store)
    }
}
