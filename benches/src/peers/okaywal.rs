//! okaywal, a write-ahead log with group commit and nothing behind it. Nothing is checkpointed, so that all is kept.

use std::io::Read as _;
use std::path::Path;

use okaywal::{Configuration, LogPosition, LogVoid, WriteAheadLog};
use parking_lot::Mutex;

/// A bare log.
#[derive(Debug)]
pub struct OkayWal {
    log: WriteAheadLog,
    places: Mutex<Vec<(LogPosition, u32)>>,
}

impl OkayWal {
    /// Makes one.
    pub fn new(dir: &Path) -> Self {
        let config = Configuration::default_for(dir.join("okaywal"));
        let log = config
            .checkpoint_after_bytes(u64::MAX)
            .open(LogVoid)
            .unwrap();
        Self {
            log,
            places: Mutex::default(),
        }
    }

    /// Writes events as one entry, and waits until that is synced.
    pub fn append(&self, bodies: &[&[u8]]) {
        let mut entry = self.log.begin_entry().unwrap();
        let mut written = Vec::with_capacity(bodies.len());
        for body in bodies {
            let record = entry.write_chunk(body).unwrap();
            written.push((record.position, record.length));
        }
        entry.commit().unwrap();
        self.places.lock().append(&mut written);
    }

    /// Reads all bodies, and checks each.
    pub fn scan(&self, each: &mut dyn FnMut(&[u8])) {
        let mut body = Vec::new();
        for (position, length) in self.places.lock().iter() {
            let mut reader = self.log.read_at(*position).unwrap();
            body.resize(*length as usize, 0);
            reader.read_exact(&mut body).unwrap();
            assert!(reader.crc_is_valid().unwrap());
            each(&body);
        }
    }
}
