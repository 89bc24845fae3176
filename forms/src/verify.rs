//! Verifications.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// What a verification saw. `milepost verify --json` shows the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct VerifyForm {
    /// Tasks.
    pub tasks: Big,
    /// Lineages.
    pub lineages: Big,
    /// Events, those of control logs included.
    pub events: Big,
    /// Checkpoints whose digest was computed again.
    pub checkpoints: Big,
    /// Blocks read.
    pub blocks: Big,
    /// Entries of the index, each compared.
    pub entries: Big,
    /// Snapshots read.
    pub snapshots: Big,
    /// Frames of the journal; none where one task was asked for.
    pub frames: Big,
    /// Chunks in packs; none where one task was asked for.
    pub chunks: Big,
    /// What is not as it was written.
    pub faults: Vec<FaultForm>,
    /// Whether there are no faults.
    pub ok: bool,
}

/// One thing that is not as it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct FaultForm {
    /// Which log or file.
    pub place: String,
    /// What is wrong with it.
    pub message: String,
}
