//! Checkpoints for the tests of the picker.

use milepost::events::{MarkCause, MarkStatus};
use milepost::{CheckpointId, Hash, Json, LineageId};
use milepost_api::{Big, CheckpointForm, Listed};

/// One minute after the time of the sample at offset 0.
pub const NOW_US: u64 = 1_800_000_060_000_000;

/// Returns a checkpoint with the label `TASK-AT` and the step `at`. Each is one microsecond later
/// than the one before it.
pub fn checkpoint(task: &str, at: u64) -> CheckpointForm {
    let digest = blake(task, at);
    let time_us = NOW_US - 60_000_000 + at;
    CheckpointForm {
        id: CheckpointId(digest),
        task: task.to_owned(),
        lineage: LineageId(0),
        at: Big(at),
        hash: Hash(digest),
        mark: Big(at),
        parent: None,
        label: Some(format!("{task}-{at}")),
        cause: MarkCause::Step,
        status: MarkStatus::Success,
        time: crate::output::time(time_us),
        time_us: Big(time_us),
        metadata: Json::new(format!("{{\"step\":{at}}}")).ok(),
        aliases: Vec::new(),
        iteration: None,
        phase: None,
    }
}

pub fn page<const N: usize>(
    items: [CheckpointForm; N],
    next: Option<&str>,
) -> Listed<CheckpointForm> {
    Listed { items: items.into(), next: next.map(str::to_owned) }
}

/// Returns a distinct hash for each sample.
fn blake(task: &str, at: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (byte, from) in bytes.iter_mut().zip(at.to_le_bytes().into_iter().chain(task.bytes())) {
        *byte = from;
    }
    bytes
}
