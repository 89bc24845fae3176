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
    /// Damage that was repaired before this verification, and was not acknowledged before it.
    pub repairs: Vec<RepairForm>,
    /// True if there are no faults, and no repairs that are not acknowledged.
    pub ok: bool,
}

/// The record of repaired damage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RepairForm {
    /// The damaged file, relative to the store's folder, and the place in it.
    pub place: String,
    /// The fault.
    pub message: String,
    /// The copy that the repair read.
    pub mended_from: String,
    /// The time at which the damage was found; without it, it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_at: Option<String>,
    /// The time of the last verification before it that found no fault; without it, there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole_at: Option<String>,
    /// False if the repair was interrupted: the next opening does it again.
    pub complete: bool,
    /// The time at which the record was acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged_at: Option<String>,
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
