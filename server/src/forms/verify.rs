//! Verifications.

use milepost::VerifyReport;
use serde::Serialize;
use utoipa::ToSchema;

use super::Big;

/// What a verification saw. `milepost verify --json` shows the same.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct VerifyForm {
    tasks: Big,
    lineages: Big,
    /// Events, those of control logs included.
    events: Big,
    /// Checkpoints whose digest was computed again.
    checkpoints: Big,
    blocks: Big,
    /// Entries of the index, each compared.
    entries: Big,
    snapshots: Big,
    /// Frames of the journal; none where one task was asked for.
    frames: Big,
    /// Chunks in packs; none where one task was asked for.
    chunks: Big,
    faults: Vec<FaultForm>,
    /// Whether there are no faults.
    ok: bool,
}

/// One thing that is not as it was written.
#[derive(Debug, Serialize, ToSchema)]
struct FaultForm {
    /// Which log or file.
    place: String,
    message: String,
}

impl From<VerifyReport> for VerifyForm {
    fn from(report: VerifyReport) -> Self {
        let ok = report.is_clean();
        let faults = report.faults.into_iter().map(|fault| FaultForm {
            place: fault.place,
            message: fault.message,
        });
        Self {
            tasks: Big(report.tasks),
            lineages: Big(report.lineages),
            events: Big(report.events),
            checkpoints: Big(report.checkpoints),
            blocks: Big(report.blocks),
            entries: Big(report.entries),
            snapshots: Big(report.snapshots),
            frames: Big(report.frames),
            chunks: Big(report.chunks),
            faults: faults.collect(),
            ok,
        }
    }
}
