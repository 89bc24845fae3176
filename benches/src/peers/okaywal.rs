//! okaywal, a write-ahead log with group commit and nothing behind it. Nothing is checkpointed, so
//! that all is kept.

use std::path::Path;

use okaywal::{Configuration, LogVoid, WriteAheadLog};

/// A bare log.
#[derive(Debug)]
pub struct OkayWal {
    log: WriteAheadLog,
}

impl OkayWal {
    /// Makes one.
    pub fn new(dir: &Path) -> Self {
        let config = Configuration::default_for(dir.join("okaywal"));
        let log = config.checkpoint_after_bytes(u64::MAX).open(LogVoid).unwrap();
        Self { log }
    }

    /// Writes events as one entry, and waits until that is synced.
    pub fn append(&self, bodies: &[&[u8]]) {
        let mut entry = self.log.begin_entry().unwrap();
        for body in bodies {
            entry.write_chunk(body).unwrap();
        }
        entry.commit().unwrap();
    }
}
