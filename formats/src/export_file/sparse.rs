//! Chain hashes in the export of a share: one of many events has its own. A reader computes those
//! between them, and compares.

use std::collections::HashMap;

use milepost::Hash;
use milepost::ids::LogKind;
use milepost::transfer::ExportEvent;

/// Number of events of a log for each hash in the file.
const STRIDE: u64 = 64;

/// The choice of the events that have their chain hash.
#[derive(Debug, Default)]
pub(super) struct SparseHashes {
    /// Set if the hashes have a key: a reader cannot compute them.
    is_keyed: bool,
    /// For each log, the hash of its last event, if the file does not have it.
    left_out: HashMap<LogKind, Hash>,
}

/// The hashes in the line of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StatedHashes {
    /// The hash of the event before, which its own line does not have.
    pub previous: Option<Hash>,
    pub hash: Option<Hash>,
}

impl SparseHashes {
    pub(super) fn new(is_keyed: bool) -> Self {
        Self { is_keyed, left_out: HashMap::new() }
    }

    /// Returns the hashes of the line of an event. A trusted event has its own, since no reader can
    /// compute it, and the one before, with which a reader compares the events before.
    pub(super) fn next(&mut self, event: &ExportEvent, is_trusted: bool) -> StatedHashes {
        let before = self.left_out.remove(&event.log);
        if self.is_keyed || is_trusted || event.offset % STRIDE == STRIDE - 1 {
            return StatedHashes { previous: before.filter(|_| is_trusted), hash: event.hash };
        }
        if let Some(hash) = event.hash {
            self.left_out.insert(event.log, hash);
        }
        StatedHashes { previous: None, hash: None }
    }
}
