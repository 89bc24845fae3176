//! Erased events: their bodies are removed, their headers and hashes remain.

use std::collections::BTreeSet;
use std::sync::Arc;

use milepost_codec::{
    CheckpointAttached, CheckpointMarked, CheckpointUnmarked, ControlChanged, LineageId,
    LineageOpened, Offset, Restored, WorkspaceCaptured,
};

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
pub(crate) struct ErasedEvents(pub(super) Arc<BTreeSet<(LineageId, Offset)>>);

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
