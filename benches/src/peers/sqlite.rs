//! SQLite as an event table: write-ahead log, synchronous = FULL, so that a commit survives power
//! loss as ours does.

use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;

use rusqlite::{Connection, params};

/// An event table.
#[derive(Debug)]
pub struct Sqlite {
    db: Connection,
    next: i64,
}

impl Sqlite {
    /// Opens or makes one.
    pub fn open(dir: &Path) -> Self {
        let db = Connection::open(dir.join("events.db")).unwrap();
        db.pragma_update(None, "journal_mode", "WAL").unwrap();
        db.pragma_update(None, "synchronous", "FULL").unwrap();
        db.execute_batch(
            "CREATE TABLE IF NOT EXISTS event (
                 lineage INTEGER, offset INTEGER, kind INTEGER, time INTEGER, body BLOB,
                 PRIMARY KEY (lineage, offset)) WITHOUT ROWID",
        )
        .unwrap();
        let next = db
            .query_row("SELECT COALESCE(MAX(offset) + 1, 0) FROM event", [], |row| row.get(0))
            .unwrap();
        Self { db, next }
    }

    /// Inserts events in one transaction.
    pub fn append(&mut self, bodies: &[&[u8]]) {
        let transaction = self.db.transaction().unwrap();
        {
            let mut insert = transaction
                .prepare_cached("INSERT INTO event VALUES (1, ?1, 12, 1700000000, ?2)")
                .unwrap();
            for body in bodies {
                insert.execute(params![self.next, body]).unwrap();
                self.next += 1;
            }
        }
        transaction.commit().unwrap();
    }

    /// Reads all bodies.
    pub fn scan(&self, each: &mut dyn FnMut(&[u8])) {
        let mut select =
            self.db.prepare("SELECT body FROM event WHERE lineage = 1 ORDER BY offset").unwrap();
        let mut rows = select.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            each(row.get_ref(0).unwrap().as_blob().unwrap());
        }
    }

    /// Moves the log into the database, as SQLite does at close.
    pub fn checkpoint(&self) {
        self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    }
}

type Request = (Vec<u8>, mpsc::SyncSender<()>);

/// An event table with group commit: a thread inserts all waiting events in one transaction.
#[derive(Debug)]
pub struct SqliteGroup {
    sender: Option<mpsc::Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl SqliteGroup {
    /// Opens a table and starts its thread.
    pub fn open(dir: &Path) -> Self {
        let mut sqlite = Sqlite::open(dir);
        let (sender, receiver) = mpsc::channel::<Request>();
        let thread = std::thread::spawn(move || {
            while let Ok(first) = receiver.recv() {
                let gathered: Vec<Request> =
                    std::iter::once(first).chain(receiver.try_iter()).collect();
                let bodies: Vec<&[u8]> = gathered.iter().map(|(body, _)| &body[..]).collect();
                sqlite.append(&bodies);
                for (_, done) in &gathered {
                    done.send(()).unwrap();
                }
            }
        });
        Self { sender: Some(sender), thread: Some(thread) }
    }

    /// Inserts an event and waits until it is durable.
    pub fn append(&self, body: &[u8]) {
        let (done, wait) = mpsc::sync_channel(1);
        self.sender.as_ref().unwrap().send((body.to_vec(), done)).unwrap();
        wait.recv().unwrap();
    }
}

impl Drop for SqliteGroup {
    fn drop(&mut self) {
        self.sender.take();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}
