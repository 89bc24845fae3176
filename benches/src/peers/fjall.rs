//! fjall as an event table. Each append is persisted with `SyncData`, which is `fdatasync` of its
//! journal.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

/// An event table.
pub struct Fjall {
    db: Database,
    events: Keyspace,
    next: AtomicU64,
}

impl Fjall {
    /// Makes one.
    pub fn new(dir: &Path) -> Self {
        let db = Database::builder(dir.join("fjall")).open().unwrap();
        let events = db.keyspace("events", KeyspaceCreateOptions::default).unwrap();
        Self { db, events, next: AtomicU64::new(0) }
    }

    /// Inserts events in one batch, and syncs.
    pub fn append(&self, bodies: &[&[u8]]) {
        let first = self.next.fetch_add(bodies.len() as u64, Ordering::Relaxed);
        let mut batch = self.db.batch();
        for (offset, body) in (first..).zip(bodies) {
            batch.insert(&self.events, offset.to_be_bytes(), *body);
        }
        batch.commit().unwrap();
        self.db.persist(PersistMode::SyncData).unwrap();
    }

    /// Writes the memory table to disk.
    pub fn settle(&self) {
        self.events.rotate_memtable_and_wait().unwrap();
    }

    /// Reads all bodies.
    pub fn scan(&self, each: &mut dyn FnMut(&[u8])) {
        let entries = self.events.iter();
        entries.for_each(|entry| each(&entry.value().unwrap()));
    }
}
