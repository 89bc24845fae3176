//! Erased events: their bodies are removed, their headers and hashes remain.

use std::collections::BTreeSet;
use std::sync::Arc;

use milepost_codec::{
    CheckpointAttached, CheckpointMarked, CheckpointUnmarked, ControlChanged, LineageId,
    LineageOpened, Offset, Restored, Result, TaskNo, WorkspaceCaptured,
};
use milepost_store::index::keys::{self, KeyKind};

use crate::history::catalog::Catalog;

/// Kinds that other events depend on and that cannot be erased: opened lineages, changes of
/// control, captured workspaces, checkpoints and changes of them, restores.
const NEEDED: [u16; 7] = [
    LineageOpened::KIND,
    ControlChanged::KIND,
    WorkspaceCaptured::KIND,
    CheckpointMarked::KIND,
    CheckpointUnmarked::KIND,
    CheckpointAttached::KIND,
    Restored::KIND,
];

/// Returns `true` if the body of an event of this kind can be erased: no other events depend on it.
pub(crate) fn is_erasable(kind: u16) -> bool {
    !NEEDED.contains(&kind)
}

/// The erased events of one task at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErasedEvents(Arc<BTreeSet<(LineageId, Offset)>>);

impl ErasedEvents {
    /// Returns `true` if the event of a lineage at an offset was erased.
    pub(crate) fn has(&self, lineage: LineageId, offset: Offset) -> bool {
        self.0.contains(&(lineage, offset))
    }

    /// Returns the number of erased events.
    pub(crate) fn count(&self) -> u64 {
        self.0.len() as u64
    }
}

impl Catalog {
    /// Loads the erased events when the store is opened.
    pub(crate) fn load_erased(&self) -> Result<()> {
        self.log().walk(&keys::all(KeyKind::Erased), &mut |key, _| {
            let (lineage, offset) = keys::mark_place(key);
            self.now_erased(TaskNo(keys::first_u64(key)), lineage, offset);
            Ok(())
        })
    }

    /// Records the erasure of an event.
    pub(crate) fn now_erased(&self, task: TaskNo, lineage: LineageId, offset: Offset) {
        let mut all = self.erased.write();
        let of_task = all.entry(task).or_default();
        Arc::make_mut(&mut of_task.0).insert((lineage, offset));
    }

    /// Returns the erased events of a task.
    pub(crate) fn erased_of(&self, task: TaskNo) -> ErasedEvents {
        let all = self.erased.read();
        all.get(&task).cloned().unwrap_or_else(ErasedEvents::default)
    }

    /// Returns the number of erased events of a task. A snapshot made with another number may hold
    /// an erased event. The number only grows, even if an erased event is trimmed.
    pub(crate) fn erased_count(&self, task: TaskNo) -> u64 {
        self.erased_of(task).count()
    }
}
