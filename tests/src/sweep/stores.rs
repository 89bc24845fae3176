//! The stores that are damaged: small, with every kind of file in them.
//!
//! They grow in generations. Each but the last begins with a copy of the one before as a kill
//! leaves it, and so with a fresh segment: segments stay small, and older copies of each file are
//! at hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost::clock::ManualClock;
use milepost::events::{MarkStatus, Message};
use milepost::ids::Seq;
use milepost::{Append, Body, Engine, Json, LineageId, Mark, Options};

use crate::seed::Random;
use crate::{bodies, folder};

/// End of a store's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Left {
    /// A clean close.
    Closed,
    /// A kill before all of its journal was applied.
    Killed,
}

impl Left {
    pub const ALL: [Left; 2] = [Left::Closed, Left::Killed];

    pub fn name(self) -> &'static str {
        match self {
            Left::Closed => "closed",
            Left::Killed => "killed",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|left| left.name() == name)
    }
}

/// The folder that holds both stores and the older copies.
#[derive(Debug, Clone)]
pub struct Stores {
    pub root: PathBuf,
}

/// Generations before the last one.
const GENERATIONS: u64 = 5;

pub fn options() -> Options {
    let clock = Arc::new(ManualClock::at(1_700_000_000_000_000));
    Options::default().backlog_bytes(2 << 20).clock(clock)
}

impl Stores {
    /// Stores that were made already.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub fn store(&self, left: Left) -> PathBuf {
        self.root.join(left.name())
    }

    /// Copies from earlier in a store's life, the newest first.
    pub fn older(&self, left: Left) -> Vec<PathBuf> {
        let mut all: Vec<_> =
            (0..=GENERATIONS).map(|n| self.root.join(format!("generation {n}"))).collect();
        all.push(self.root.join(format!("before {}", left.name())));
        all.retain(|dir| dir.exists());
        all.reverse();
        all
    }

    /// The last commit that sled held when the killed store was killed.
    pub fn applied(&self, left: Left) -> Seq {
        match left {
            Left::Closed => Seq::MAX,
            Left::Killed => {
                let text = fs::read_to_string(self.root.join("applied")).unwrap();
                text.trim().parse().unwrap()
            }
        }
    }

    /// Makes both.
    pub fn make(root: &Path) -> Self {
        let stores = Self::at(root);
        for n in 0..GENERATIONS {
            let (dir, next) = (stores.generation(n), stores.generation(n + 1));
            let engine = Engine::open(&dir, options()).unwrap();
            if n == 0 {
                engine.start_task("essay", "ana").unwrap();
                engine.start_task("tuning", "ben").unwrap();
            }
            write(&engine, n);
            fork(&engine, n);
            engine.store().drain().unwrap();
            if n + 1 < GENERATIONS {
                folder::copy_store(&dir, &next).unwrap();
                engine.close().unwrap();
            } else {
                // Closing waits for the snapshots.
                engine.close().unwrap();
                folder::copy(&dir, &next).unwrap();
            }
        }
        for left in Left::ALL {
            stores.finish(left);
        }
        stores
    }

    fn generation(&self, n: u64) -> PathBuf {
        self.root.join(format!("generation {n}"))
    }

    fn finish(&self, left: Left) {
        let (work, store) = (self.root.join("work"), self.store(left));
        folder::copy(&self.generation(GENERATIONS), &work).unwrap();
        let engine = Engine::open(&work, options()).unwrap();
        assert!(engine.store().stats().unwrap().snapshots > 0);
        write(&engine, GENERATIONS);
        write(&engine, GENERATIONS + 1);
        engine.store().drain().unwrap();
        // Once more than half of the segment is used, a drain makes a spare one.
        for n in 0.. {
            if spares(&work) > 0 {
                break;
            }
            assert!(n < 100, "no spare segment was made");
            let task = engine.task("tuning").unwrap();
            task.append(bodies::bytes(9_000 + n, 5000)).unwrap();
            engine.store().drain().unwrap();
        }
        folder::copy_store(&work, &self.root.join(format!("before {}", left.name()))).unwrap();
        if left == Left::Killed {
            let applied = engine.store().stats().unwrap().applied;
            tail(&engine);
            // The applier makes a spare segment when it looks, also while it applies nothing.
            for n in 0.. {
                if (0..10_000).any(|_| spares(&work) > 0) {
                    break;
                }
                assert!(n < 20, "no spare segment was made");
                engine.task("essay").unwrap().append(bodies::bytes(8_500 + n, 16 << 10)).unwrap();
            }
            let stats = engine.store().stats().unwrap();
            assert_eq!(stats.applied, applied, "the tail waits");
            assert!(stats.seq > applied + 20);
            folder::copy_store(&work, &store).unwrap();
            engine.close().unwrap();
            // sled holds some of what is applied in memory only: a kill takes it.
            let again = self.root.join("again");
            folder::copy(&store, &again).unwrap();
            let engine = Engine::open(&again, options()).unwrap();
            // The one before may say that the store was closed, which is in the journal only.
            let written = stats.seq - engine.store().report().recovered - 1;
            assert!(written > 0 && written <= applied);
            fs::write(self.root.join("applied"), written.to_string()).unwrap();
            drop(engine);
            fs::remove_dir_all(&again).unwrap();
        } else {
            engine.close().unwrap();
            folder::copy(&work, &store).unwrap();
        }
        fs::remove_dir_all(&work).unwrap();
        check(&store, left);
    }
}

fn spares(store: &Path) -> usize {
    let journal = fs::read_dir(store.join("journal")).unwrap();
    let names = journal.map(|entry| entry.unwrap().file_name());
    let spare = names.filter(|name| name.to_string_lossy().starts_with("spare"));
    spare.count()
}

/// Every kind of file is there, or the sweep would pass over it in silence.
fn check(store: &Path, left: Left) {
    let count = |dir: &str, ending| folder::files(&store.join(dir), ending).unwrap().len();
    assert!(count("archive", ".mpa") >= 3);
    let segments = if left == Left::Killed { 2 } else { 1 };
    assert!(count("journal", ".seg") >= segments);
    assert!(spares(store) > 0);
    assert!(count("packs", ".pack") >= 1 && count("packs", ".copy") >= 1);
    for name in ["sled/db", "sled/conf", "store", "lock", ".gitignore"] {
        assert!(store.join(name).is_file(), "{name}");
    }
}

/// An idempotency key and its events.
pub struct Keyed {
    pub task: &'static str,
    pub key: String,
    pub bodies: Vec<Body>,
}

/// The keys of all generations that a store of that kind has.
pub fn keys(left: Left) -> Vec<Keyed> {
    let mut all = Vec::new();
    for n in 0..GENERATIONS + 2 {
        // A restore to before it freed it again.
        if n != 2 {
            all.push(keyed("essay", n));
        }
        all.push(keyed("tuning", n));
    }
    if left == Left::Killed {
        all.push(keyed("essay", 100));
    }
    all
}

fn keyed(task: &'static str, n: u64) -> Keyed {
    let bodies = vec![
        Message::text("user", &format!("request {n} of {task}")).into(),
        bodies::body(9, n, 200),
    ];
    let key = format!("request-{n}");
    Keyed { task, key, bodies }
}

fn append_keyed(engine: &Engine, keyed: Keyed) {
    let append = Append::from(keyed.bodies).key(keyed.key).actor("ui");
    let done = engine.task(keyed.task).unwrap().append(append).unwrap();
    assert!(!done.repeated);
}

/// A generation's events: under 128 KiB in the journal, most of them of bytes that do not compress.
fn write(engine: &Engine, n: u64) {
    let mut random = Random::new(n);
    for task in ["essay", "tuning"] {
        let handle = engine.task(task).unwrap();
        for i in 0..4 {
            let batch: Vec<Body> = (0..4)
                .map(|_| bodies::body(random.below(11) as u8, random.number(), 1500))
                .collect();
            handle.append(batch).unwrap();
            let text = bodies::text(n * 10 + i, 3000);
            handle.append(Message::text("assistant", &text)).unwrap();
            handle.append(bodies::bytes(random.number(), 5000)).unwrap();
        }
        append_keyed(engine, keyed(task, n));
        let metadata = Json::from_value(&serde_json::json!({ "n": n })).unwrap();
        let mark = Mark::new().label(format!("draft-{n}")).metadata(metadata);
        handle.checkpoint(mark.alias(format!("step {n}"))).unwrap();
        handle.append(bodies::body(0, n + 7, 299)).unwrap();
        let mark = Mark::new().label("best").status(if n.is_multiple_of(2) {
            MarkStatus::Success
        } else {
            MarkStatus::Failure
        });
        handle.checkpoint(mark).unwrap();
    }
    if n.is_multiple_of(2) {
        let task = engine.task("essay").unwrap();
        task.append(bodies::bytes(n + 1_000, 300 << 10)).unwrap();
    }
}

/// A branch with events of its own, and a restore.
fn fork(engine: &Engine, n: u64) {
    match n {
        1 => {
            let point = engine.point("essay@draft-0").unwrap();
            let aside = engine.branch(&point).description("aside").run().unwrap();
            aside.append(bodies::text_message(n)).unwrap();
            aside.checkpoint(Mark::new().label("aside")).unwrap();
        }
        2 => {
            let point = engine.point("essay@draft-1").unwrap();
            engine.restore(&point).description("the last went wrong").run().unwrap();
        }
        3 => {
            let point = engine.point("tuning@draft-2").unwrap();
            engine.restore(&point).run().unwrap();
            engine.undo("tuning").run().unwrap();
        }
        _ => {}
    }
}

/// Commits without applying: to the end of one segment, and on in the next. A large frame makes the
/// next segment, so that the spare one is left.
fn tail(engine: &Engine) {
    let task = engine.task("essay").unwrap();
    for i in 0..12 {
        task.append(bodies::bytes(5_000 + i, 1500)).unwrap();
        task.append(bodies::text_message(5_000 + i)).unwrap();
    }
    append_keyed(engine, keyed("essay", 100));
    task.checkpoint(Mark::new().label("unapplied")).unwrap();
    // Less than half of the backlog, which would be applied at once.
    let large: Vec<Body> = (0..3).map(|i| bodies::bytes(6_000 + i, 200 << 10)).collect();
    task.append(large).unwrap();
    let other = engine.task("essay").unwrap();
    let aside = other.lineage_named(LineageId(1)).unwrap();
    for i in 0..6 {
        task.append(bodies::text_message(7_000 + i)).unwrap();
        aside.append(bodies::text_message(8_000 + i)).unwrap();
    }
    task.checkpoint(Mark::new().label("last")).unwrap();
}
