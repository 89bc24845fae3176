//! Tests: a refused request leaves memory and log unchanged, regardless of the read that failed.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use milepost_codec::{
    Body, BodyForm, CheckpointMarked, ChunkId, Error, ErrorKind, LogId, Message, Offset, Origin,
    Result, Seq,
};
use milepost_store::index::Entry;
use milepost_store::index::LogHead;
use milepost_store::process::Owner;
use milepost_store::{
    ChunkStore, CommitBatch, CommitLog, DiskBytes, Extent, Index, Log, Maintenance, MemoryStore,
    StorageCheck,
};
use proptest::prelude::*;

use crate::context::Context;
use crate::query::CheckpointQuery;
use crate::retention::Policy;
use crate::{Append, Engine, Mark, Options, Task};

/// A log in memory with one failing read, which a countdown selects.
#[derive(Default)]
pub(super) struct FailingReads {
    log: MemoryStore,
    /// Reads until the failing one; 0: none fails.
    countdown: AtomicU64,
    /// Called before a chunk is stored.
    pub(super) on_chunk: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl FailingReads {
    fn read(&self) -> Result<()> {
        let count = |left: u64| left.checked_sub(1);
        let before = self.countdown.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
        match before {
            Ok(1) => Err(Error::new(ErrorKind::Unavailable, "a read that fails")),
            _ => Ok(()),
        }
    }
}

impl CommitLog for FailingReads {
    fn owner(&self) -> &Owner {
        self.log.owner()
    }
    fn append(&self, batch: CommitBatch) -> Result<()> {
        self.log.append(batch)
    }
    fn seq(&self) -> Seq {
        self.log.seq()
    }
}

impl ChunkStore for FailingReads {
    fn put_chunk(&self, content: &[u8], pieces: bool) -> Result<ChunkId> {
        self.on_chunk.get().inspect(|call| call());
        self.log.put_chunk(content, pieces)
    }
    fn get_chunk(&self, id: &ChunkId) -> Result<Option<Vec<u8>>> {
        self.read()?;
        self.log.get_chunk(id)
    }
    fn lists_pieces(&self, id: &ChunkId) -> Result<bool> {
        self.read()?;
        self.log.lists_pieces(id)
    }
    fn damaged_chunks(&self) -> (u64, usize) {
        self.log.damaged_chunks()
    }
    fn storing(&self) -> Option<Box<dyn Any + Send>> {
        self.log.storing()
    }
    fn sync_chunks(&self) -> Result<()> {
        self.log.sync_chunks()
    }
}

impl Index for FailingReads {
    fn head(&self, log: LogId) -> Result<Option<LogHead>> {
        self.read()?;
        self.log.head(log)
    }
    fn extent(&self, log: LogId, offset: Offset) -> Result<Option<Extent>> {
        self.read()?;
        self.log.extent(log, offset)
    }
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.read()?;
        self.log.get(key)
    }
    fn scan(&self, from: &[u8], to: &[u8], backwards: bool, limit: usize) -> Result<Vec<Entry>> {
        self.read()?;
        self.log.scan(from, to, backwards, limit)
    }
    fn put_note(&self, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        self.log.put_note(key, value)
    }
    fn drop_note(&self, key: Vec<u8>) -> Result<()> {
        self.log.drop_note(key)
    }
}

impl Maintenance for FailingReads {
    fn applied(&self) -> Seq {
        self.log.applied()
    }
    fn drain(&self) -> Result<()> {
        self.log.drain()
    }
    fn settle(&self, _: &dyn Fn() -> bool) {}
    fn disk_bytes(&self) -> Result<DiskBytes> {
        self.log.disk_bytes()
    }
    fn check_storage(&self, check: &mut StorageCheck) -> Result<()> {
        self.log.check_storage(check)
    }
    fn close(&self) -> Result<()> {
        self.log.close()
    }
}

/// One operation on a store.
#[derive(Debug, Clone)]
enum Op {
    Start(u8),
    Append {
        task: u8,
        events: u8,
        key: Option<u8>,
        mark: bool,
    },
    /// A batch that is refused: the payload of its last event does not match its kind.
    Refused(u8),
    Mark(u8),
    Branch(u8, u8),
    Restore(u8, u8),
    Undo(u8),
    Pin(u8),
    Erase(u8, u8),
    Cleanup(u8),
    Delete(u8),
}

fn op() -> impl Strategy<Value = Op> {
    let task = 0..3_u8;
    prop_oneof![
        2 => task.clone().prop_map(Op::Start),
        8 => (task.clone(), 1..5_u8, proptest::option::of(0..4_u8), any::<bool>()).prop_map(
            |(task, events, key, mark)| Op::Append { task, events, key, mark }
        ),
        2 => task.clone().prop_map(Op::Refused),
        3 => task.clone().prop_map(Op::Mark),
        2 => (task.clone(), any::<u8>()).prop_map(|(task, at)| Op::Branch(task, at)),
        2 => (task.clone(), any::<u8>()).prop_map(|(task, at)| Op::Restore(task, at)),
        2 => task.clone().prop_map(Op::Undo),
        1 => task.clone().prop_map(Op::Pin),
        1 => (task.clone(), any::<u8>()).prop_map(|(task, at)| Op::Erase(task, at)),
        1 => (0..3_u8).prop_map(Op::Cleanup),
        1 => task.prop_map(Op::Delete),
    ]
}

pub(super) struct World {
    pub(super) log: Arc<FailingReads>,
    pub(super) engine: Engine,
}

impl World {
    pub(super) fn new() -> Self {
        let log = Arc::new(FailingReads::default());
        let engine = Engine::over(
            Arc::clone(&log) as Arc<dyn Log>,
            Origin([9; 16]),
            Options::default().snapshots(false),
        );
        Self { log, engine: engine.unwrap() }
    }

    fn task(&self, n: u8) -> Result<Task> {
        self.engine.task(&format!("task-{n}"))
    }

    fn run(&self, op: &Op) -> Result<()> {
        let said = |n: u8| Body::from(Message::text("user", &format!("message {n}")));
        let point = |task: &Task, at: u8| {
            let head = task.head()?.next;
            task.point(1 + u64::from(at) % head)
        };
        match *op {
            Op::Start(n) => self.engine.start_task(&format!("task-{n}"), "ana").map(drop),
            Op::Append { task, events, key, mark } => {
                let mut append = Append::batch((0..events).map(said));
                if let Some(key) = key {
                    append = append.key(format!("key-{key}"));
                }
                if mark {
                    append = append.mark(Mark::new());
                }
                self.task(task)?.append(append).map(drop)
            }
            Op::Refused(task) => {
                // Bypasses the checks of an append, which refuse such a body.
                let inner = &self.engine.inner;
                let task = self.task(task)?;
                let log = LogId::lineage(task.no(), task.lineage().id());
                let mut append = self.engine.log_append(log, inner.catalog.task(task.no())?.origin);
                append.body(&said(0), 0)?;
                let header = Context::NONE.header(&Context::NONE, CheckpointMarked::KIND, 0);
                append.push(header, BodyForm::Inline, &[0xFF; 3])?;
                inner.committer.commit(append.into()).map(drop)
            }
            Op::Mark(task) => self.task(task)?.checkpoint(Mark::new()).map(drop),
            Op::Branch(task, at) => {
                let task = self.task(task)?;
                self.engine.branch(&point(&task, at)?).run().map(drop)
            }
            Op::Restore(task, at) => {
                let task = self.task(task)?;
                self.engine.restore(&point(&task, at)?).run().map(drop)
            }
            Op::Undo(task) => self.engine.undo(self.task(task)?.id()).run().map(drop),
            Op::Pin(task) => {
                let query = CheckpointQuery {
                    task: Some(self.task(task)?.id().to_owned()),
                    ..CheckpointQuery::default()
                };
                match self.engine.query().checkpoints(&query)?.items.first() {
                    Some(checkpoint) => self.engine.retention().pin(&checkpoint.id, None),
                    None => Ok(()),
                }
            }
            Op::Erase(task, at) => {
                let task = self.task(task)?;
                let at = point(&task, at)?.offset - 1;
                self.engine.retention().erase(&task.point(at)?, None)
            }
            Op::Cleanup(keep) => {
                let plan = self.engine.retention().plan(&Policy::new().keep(usize::from(keep)))?;
                self.engine.retention().apply(&plan, &mut |_, _| {}).map(drop)
            }
            Op::Delete(task) => self.engine.retention().delete_task(self.task(task)?.id()),
        }
    }

    /// Returns the content of the log: its last commit and its whole index, including heads.
    fn disk(&self) -> (Seq, Vec<Entry>) {
        let log = &self.log.log;
        let all = log.scan(&[], &[0xFF; 64], false, usize::MAX).unwrap();
        (log.seq(), all)
    }

    /// Checks that the index follows from the log, and that each task reads to its head and
    /// continues there.
    fn check(&self) {
        let report = self.engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        assert!(report.is_clean(), "{:?}", report.faults);
        for n in 0..3 {
            let Ok(task) = self.task(n) else { continue };
            let head = task.head().unwrap().next;
            let appended = task.append(Message::text("user", "on")).unwrap();
            assert_eq!(appended.first, head, "offsets are dense (I2)");
            let read: Result<Vec<_>> = task.read(..).unwrap().collect();
            assert_eq!(read.unwrap().last().unwrap().offset, head);
            self.engine.query().checkpoints(&CheckpointQuery::default()).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_refused_request_leaves_memory_and_log_as_they_were(
        ops in proptest::collection::vec(op(), 1..12),
    ) {
        let world = World::new();
        let mut refused = 0;
        for op in &ops {
            // Each read of the operation fails once, until the operation succeeds or is refused
            // otherwise.
            for n in 1.. {
                let before = world.disk();
                world.log.countdown.store(n, Ordering::Relaxed);
                let done = world.run(op);
                let failed = world.log.countdown.swap(0, Ordering::Relaxed) == 0;
                if done.is_err() {
                    refused += 1;
                    // A cleanup makes several commits. Earlier ones stay.
                    let several = matches!(op, Op::Cleanup(_));
                    let same = world.disk() == before;
                    prop_assert!(same || several, "{:?}, read {}", op, n);
                }
                if !failed || done.is_ok() {
                    break;
                }
            }
            world.check();
        }
        prop_assume!(refused > 0);
    }
}

#[test]
fn handles_and_checkpoints_that_are_given_without_a_read_are_those_that_are_read() {
    let engine = World::new().engine;
    let told = |task: &Task| {
        let lineage = task.lineage();
        (
            (task.id().to_owned(), task.user().to_owned(), task.no()),
            (task.epoch(), lineage.id(), format!("{:?}", lineage.head())),
        )
    };
    let same = |task: &Task| assert_eq!(told(task), told(&engine.task(task.id()).unwrap()));
    let started = engine.start_task("task", "ana").unwrap();
    same(&started);
    let message = || Message::text("user", "said");
    started.append(message()).unwrap();
    let marks = [
        Mark::new().label("first"),
        Mark::new().at(1).metadata(milepost_codec::Json::new("{\"a\": 1}").unwrap()),
        Mark::new().status(milepost_codec::MarkStatus::Failure),
    ];
    for mark in marks {
        let checkpoint = started.checkpoint(mark).unwrap();
        assert_eq!(engine.query().checkpoint(&checkpoint.id.to_string()).unwrap(), checkpoint);
    }
    let restored = engine.restore(&engine.point("task@first").unwrap()).run().unwrap();
    same(&restored);
    restored.append(message()).unwrap();
    let branch = engine.branch(&engine.point("task@1").unwrap()).run().unwrap();
    assert_eq!(branch.append(message()).unwrap().first, 2);
    let named = restored.lineage_named(branch.id()).unwrap();
    assert_eq!(named.head().unwrap(), branch.head().unwrap());
    let undone = engine.undo("task").run().unwrap();
    same(&undone);
    undone.append(message()).unwrap();
}
