//! sled used plainly: one key an event, and `flush` behind each append. On Linux that writes with
//! `sync_file_range`, which does not reach the disk behind a volatile cache: it is not safe against
//! power loss.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// An event table.
#[derive(Debug)]
pub struct PlainSled {
    db: sled::Db,
    next: AtomicU64,
}

impl PlainSled {
    /// Makes one.
    pub fn new(dir: &Path) -> Self {
        Self { db: sled::open(dir.join("sled")).unwrap(), next: AtomicU64::new(0) }
    }

    /// Inserts events in one batch, and flushes.
    pub fn append(&self, bodies: &[&[u8]]) {
        let first = self.next.fetch_add(bodies.len() as u64, Ordering::Relaxed);
        let mut batch = sled::Batch::default();
        for (offset, body) in (first..).zip(bodies) {
            batch.insert(&offset.to_be_bytes(), *body);
        }
        self.db.apply_batch(batch).unwrap();
        self.db.flush().unwrap();
    }

    /// Reads all bodies.
    pub fn scan(&self, each: &mut dyn FnMut(&[u8])) {
        let entries = self.db.iter();
        entries.for_each(|entry| each(&entry.unwrap().1));
    }
}
