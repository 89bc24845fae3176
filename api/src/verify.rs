//! Verifications.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// The result of a verification. `milepost verify --json` prints the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct VerifyForm {
    /// Tasks.
    pub tasks: Big,
    /// Lineages.
    pub lineages: Big,
    /// Events, those of control logs included.
    pub events: Big,
    /// Checkpoints whose digest was recomputed.
    pub checkpoints: Big,
    /// Blocks read.
    pub blocks: Big,
    /// Index entries compared.
    pub entries: Big,
    /// Snapshots read.
    pub snapshots: Big,
    /// Journal frames; zero if one task was verified.
    pub frames: Big,
    /// Chunks in packs; zero if one task was verified.
    pub chunks: Big,
    /// The faults.
    pub faults: Vec<FaultForm>,
    /// True if there are no faults.
    pub ok: bool,
}

/// A difference between stored and expected data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct FaultForm {
    /// The log or file.
    pub place: String,
    /// The fault.
    pub message: String,
}
