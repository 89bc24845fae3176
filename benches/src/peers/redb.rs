//! redb as an event table. `Durability::Immediate`, as it comes: each commit is synced.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};

const EVENTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("events");

/// An event table.
#[derive(Debug)]
pub struct Redb {
    db: Database,
    next: AtomicU64,
}

impl Redb {
    /// Makes one.
    pub fn new(dir: &Path) -> Self {
        Self { db: Database::create(dir.join("events.redb")).unwrap(), next: AtomicU64::new(0) }
    }

    /// Inserts events in one transaction. One writes at a time; others wait.
    pub fn append(&self, bodies: &[&[u8]]) {
        let transaction = self.db.begin_write().unwrap();
        {
            let mut events = transaction.open_table(EVENTS).unwrap();
            for body in bodies {
                let offset = self.next.fetch_add(1, Ordering::Relaxed);
                events.insert(offset, *body).unwrap();
            }
        }
        transaction.commit().unwrap();
    }

    /// Reads all bodies.
    pub fn scan(&self, each: &mut dyn FnMut(&[u8])) {
        let transaction = self.db.begin_read().unwrap();
        let events = transaction.open_table(EVENTS).unwrap();
        let entries = events.iter().unwrap();
        entries.for_each(|entry| each(entry.unwrap().1.value()));
    }
}
