//! The stores in the comparison. Each is configured as its documentation asks for durability at a
//! power loss.

use std::hint::black_box;
use std::path::Path;

use milepost::{Append, Body, Engine, Options, Task};
use parking_lot::Mutex;

use crate::peers::{Fjall, JsonFiles, OkayWal, PlainSled, RawFile, Redb, Sqlite, SqliteGroup};

/// The kind of the events that are written.
const MESSAGE: u16 = 13;

/// An event: decoded for stores of events, and as bytes for stores of bytes.
#[derive(Debug, Clone)]
pub struct Event {
    /// The decoded content.
    pub body: Body,
    /// Its payload as Milepost stores it.
    pub payload: Vec<u8>,
}

impl Event {
    /// Encodes it once, so that encoding counts for Milepost only, which repeats it.
    pub fn of(body: Body) -> Self {
        let payload = body.encode().1;
        Self { body, payload }
    }
}

/// A log of events.
pub trait EventLog: Sync {
    /// Appends events together, and returns when they are durable.
    fn append(&self, events: &[Event]);

    /// Does postponed work.
    fn settle(&self) {}

    /// Reads all back, makes all checks, and decodes each; returns the number, or `None` if it
    /// cannot.
    fn scan(&self) -> Option<usize>;
}

/// One who takes part.
#[derive(Clone, Copy)]
pub struct Contestant {
    /// The name in tables.
    pub name: &'static str,
    /// When an append returns.
    pub durability: &'static str,
    /// Opens a log, or creates it in an empty folder. `again` is set if equal events are appended
    /// repeatedly and stand for different ones.
    pub begin: fn(&Path, again: bool) -> Box<dyn EventLog>,
}

/// All of them; the first is ours.
pub const ALL: [Contestant; 9] = [
    Contestant {
        name: "Milepost",
        durability: "fdatasync of the journal; chained with BLAKE3, indexed behind",
        begin: |dir, again| Box::new(Ours::new(dir, !again)),
    },
    Contestant {
        name: "SQLite",
        durability: "WAL, synchronous=FULL: fsync of the log",
        begin: |dir, _| Box::new(Mutex::new(Sqlite::open(dir))),
    },
    Contestant {
        name: "SQLite, grouped",
        durability: "the same; a thread commits what has gathered",
        begin: |dir, _| Box::new(Grouped(SqliteGroup::open(dir))),
    },
    Contestant {
        name: "redb",
        durability: "Durability::Immediate: fdatasync",
        begin: |dir, _| Box::new(Redb::new(dir)),
    },
    Contestant {
        name: "fjall",
        durability: "PersistMode::SyncData: fdatasync of the journal",
        begin: |dir, _| Box::new(Fjall::new(dir)),
    },
    Contestant {
        name: "okaywal",
        durability: "fdatasync, grouped; a log and nothing behind it",
        begin: |dir, _| Box::new(OkayWal::new(dir)),
    },
    Contestant {
        name: "sled, plainly",
        durability: "flush: sync_file_range, NOT safe against power loss",
        begin: |dir, _| Box::new(PlainSled::new(dir)),
    },
    Contestant {
        name: "a file each",
        durability: "fsync of the file, rename, fsync of the folder",
        begin: |dir, _| Box::new(JsonFiles::new(dir)),
    },
    Contestant {
        name: "raw file",
        durability: "fdatasync of a file written before, grouped; chained with BLAKE3; written over when full",
        begin: |dir, _| Box::new(RawFile::new(dir)),
    },
];

/// Milepost with its own protections.
pub struct Ours {
    engine: Engine,
    task: Task,
}

impl Ours {
    /// Opens a store.
    pub fn new(dir: &Path, share_bodies: bool) -> Self {
        let options = Options::default().share_bodies(share_bodies);
        let engine = Engine::open(dir.join("store"), options).unwrap();
        let task = match engine.task("compare") {
            Ok(task) => task,
            Err(_) => engine.start_task("compare", "bench").unwrap(),
        };
        Self { engine, task }
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.engine.clone().close().unwrap();
    }
}

impl EventLog for Ours {
    fn append(&self, events: &[Event]) {
        match events {
            [event] => self.task.append(event.body.clone()).unwrap(),
            events => {
                let bodies = events.iter().map(|event| event.body.clone());
                self.task.append(Append::batch(bodies)).unwrap()
            }
        };
    }

    fn settle(&self) {
        self.engine.store().drain().unwrap();
    }

    fn scan(&self) -> Option<usize> {
        // The hash of each block is checked, too.
        let events = self.task.read(..).unwrap();
        Some(events.map(Result::unwrap).count())
    }
}

fn payloads(events: &[Event]) -> Vec<&[u8]> {
    events.iter().map(|event| &event.payload[..]).collect()
}

/// Decodes all records that are read: without that, the contents of an event are unknown.
fn decoded(scan: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Option<usize> {
    let mut count = 0;
    scan(&mut |payload| {
        black_box(Body::decode(MESSAGE, payload).unwrap());
        count += 1;
    });
    Some(count)
}

impl EventLog for Mutex<Sqlite> {
    fn append(&self, events: &[Event]) {
        self.lock().append(&payloads(events));
    }

    fn settle(&self) {
        self.lock().checkpoint();
    }

    fn scan(&self) -> Option<usize> {
        decoded(|each| self.lock().scan(each))
    }
}

struct Grouped(SqliteGroup);

impl EventLog for Grouped {
    fn append(&self, events: &[Event]) {
        events.iter().for_each(|event| self.0.append(&event.payload));
    }

    fn scan(&self) -> Option<usize> {
        None
    }
}

/// Those whose methods are the same already.
macro_rules! as_it_is {
    ($($peer:ty, $settle:expr;)*) => {$(
        impl EventLog for $peer {
            fn append(&self, events: &[Event]) {
                <$peer>::append(self, &payloads(events));
            }

            fn settle(&self) {
                $settle(self);
            }

            fn scan(&self) -> Option<usize> {
                decoded(|each| <$peer>::scan(self, each))
            }
        }
    )*};
}

as_it_is! {
    Redb, |_| ();
    Fjall, Fjall::settle;
    PlainSled, |_| ();
}

impl EventLog for OkayWal {
    fn append(&self, events: &[Event]) {
        OkayWal::append(self, &payloads(events));
    }

    fn scan(&self) -> Option<usize> {
        // It hands its entries to recovery, and does not keep their places.
        None
    }
}

impl EventLog for JsonFiles {
    fn append(&self, events: &[Event]) {
        events.iter().for_each(|event| self.save(&event.payload));
    }

    fn scan(&self) -> Option<usize> {
        decoded(|each| JsonFiles::scan(self, each))
    }
}

impl EventLog for RawFile {
    fn append(&self, events: &[Event]) {
        self.append_chained(&payloads(events));
    }

    fn scan(&self) -> Option<usize> {
        None
    }
}
