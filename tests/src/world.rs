//! The engine and its model side by side: each operation is done to both, then they are compared.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    missing_docs,
    reason = "tests"
)]

mod check;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use milepost::clock::{Clock, ManualClock};
use milepost::events::{
    CheckpointMarked, LineageOpened, LineageType, MarkStatus, Parent, Restored,
};
use milepost::ids::Head;
use milepost::query::{CheckpointQuery, Page};
use milepost::state::{MemoryChunks, RunReducer};
use milepost::{
    Append, Body, Checkpoint, Detail, Engine, ErrorKind, Header, Json, LineageId, Mark, Options,
    Point, Reducer, Result, Scope, Task, Ticket,
};
use tempfile::TempDir;

use self::check::check_mark;
use crate::folder;
use crate::model::{LineageModel, MarkModel, Model, Outcome, TaskModel};

/// Target of an append.
#[derive(Debug, Clone, Copy)]
pub enum Who {
    /// Through the newest handle on the task.
    Current,
    /// Through one that was taken earlier.
    Earlier(u8),
    /// To a lineage by name.
    Named(u8),
}

/// Expected head of an append.
#[derive(Debug, Clone, Copy)]
pub enum Expect {
    Nothing,
    Right,
    Wrong(u8),
}

/// An append, in numbers that are taken modulo what there is.
#[derive(Debug, Clone)]
pub struct Adding {
    pub who: Who,
    pub bodies: Vec<Body>,
    pub expect: Expect,
    pub key: Option<u8>,
}

/// A mark, likewise.
#[derive(Debug, Clone)]
pub struct Marking {
    pub who: Who,
    pub label: Option<u8>,
    pub failed: bool,
    pub at: Option<u16>,
    pub metadata: Option<u8>,
}

pub struct World {
    pub model: Model,
    pub engine: Engine,
    clock: Arc<ManualClock>,
    options: Options,
    folder: Option<(TempDir, u32)>,
    /// Handles on each task, the newest last, with the epoch of each.
    handles: Vec<Vec<(Task, u64)>>,
    chunks: MemoryChunks,
}

impl World {
    /// A store in memory, or in a folder.
    pub fn new(in_folder: bool, options: Options) -> Self {
        let clock = Arc::new(ManualClock::at(1_700_000_000_000_000));
        let options = options.clock(Arc::clone(&clock) as Arc<dyn Clock>);
        let folder = in_folder.then(|| (tempfile::tempdir().unwrap(), 0));
        let engine = match &folder {
            Some((dir, _)) => Engine::open(dir.path().join("0"), options.clone()).unwrap(),
            None => Engine::in_memory(options.clone()).unwrap(),
        };
        Self {
            model: Model::default(),
            engine,
            clock,
            options,
            folder,
            handles: Vec::new(),
            chunks: MemoryChunks::default(),
        }
    }

    fn path(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|(dir, n)| dir.path().join(n.to_string()))
    }

    fn header(&self) -> Header {
        Header { time_us: self.clock.now_us(), ..Header::default() }
    }

    pub fn pick(&self, n: u8) -> Option<usize> {
        let count = self.model.tasks.len();
        (count > 0).then(|| usize::from(n) % count)
    }

    pub fn start(&mut self) {
        self.clock.advance(17);
        let n = self.model.tasks.len();
        let (name, user) = (format!("task:{n}"), format!("user {}", n % 2));
        let task = self.engine.start_task(&name, &user).unwrap();
        let again = self.engine.start_task(&name, &user).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::Conflict);
        let mut lineage = LineageModel {
            lineage_type: LineageType::Root,
            description: None,
            parent: None,
            events: Vec::new(),
            hashes: BTreeMap::new(),
        };
        note(&mut lineage, task.head().unwrap());
        let mut model =
            TaskModel { name, user, lineages: vec![lineage], activations: vec![(0, None)] };
        let opened = LineageOpened {
            lineage_type: LineageType::Root,
            description: None,
            parent: None,
            initial: None,
            copied_from: None,
        };
        let header = self.header();
        model.push(0, opened.into(), header);
        self.model.tasks.push(model);
        self.handles.push(vec![(task, 1)]);
    }

    fn submit(&self, task: usize, who: Who, append: Append) -> (Result<Ticket>, usize, u64) {
        let model = &self.model.tasks[task];
        let handles = &self.handles[task];
        let through = |(handle, epoch): &(Task, u64)| {
            let lineage = model.activations[*epoch as usize - 1].0;
            (handle.submit(append.clone()), lineage, *epoch)
        };
        match who {
            Who::Current => through(handles.last().unwrap()),
            Who::Earlier(n) => through(&handles[usize::from(n) % handles.len()]),
            Who::Named(n) => {
                let lineage = usize::from(n) % model.lineages.len();
                let handle = handles[0].0.lineage_named(LineageId(lineage as u32));
                (handle.unwrap().submit(append), lineage, model.epoch())
            }
        }
    }

    /// Submits appends one after another, then waits for each: the same as one at a time.
    pub fn append(&mut self, task: usize, adding: &[Adding]) {
        let mut waiting = Vec::new();
        for add in adding {
            self.clock.advance(3);
            let model = &self.model.tasks[task];
            let lineage = match add.who {
                Who::Current => model.active(),
                Who::Earlier(n) => {
                    let handles = &self.handles[task];
                    let epoch = handles[usize::from(n) % handles.len()].1;
                    model.activations[epoch as usize - 1].0
                }
                Who::Named(n) => usize::from(n) % model.lineages.len(),
            };
            let expect = match add.expect {
                Expect::Nothing => None,
                Expect::Right => Some(model.head(lineage)),
                Expect::Wrong(n) => Some(model.head(lineage) + 1 + u64::from(n)),
            };
            let key = add.key.map(|n| format!("key {n}"));
            let mut append = Append::from(add.bodies.clone());
            if let Some(head) = expect {
                append = append.expect_head(head);
            }
            if let Some(key) = &key {
                append = append.key(key.clone());
            }
            let (ticket, through, epoch) = self.submit(task, add.who, append);
            assert_eq!(through, lineage);
            let header = self.header();
            let model = &mut self.model.tasks[task];
            let outcome = if epoch == model.epoch() {
                Some(model.append(lineage, &add.bodies, key.as_deref(), expect, &header))
            } else {
                None
            };
            waiting.push((ticket.unwrap(), lineage, outcome));
        }
        for (ticket, lineage, outcome) in waiting {
            self.check_append(task, lineage, ticket, outcome);
        }
    }

    fn check_append(
        &mut self,
        task: usize,
        lineage: usize,
        ticket: Ticket,
        outcome: Option<Outcome>,
    ) {
        let model = &mut self.model.tasks[task];
        let result = ticket.wait();
        match outcome {
            None => {
                let error = result.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Conflict, "I13: a handle of before");
                let active = Detail::Active {
                    lineage: LineageId(model.active() as u32),
                    epoch: model.epoch(),
                };
                assert_eq!(error.detail(), Some(&active), "I13: it names the lineage");
            }
            Some(Outcome::Done { first, head }) => {
                let done = result.unwrap();
                assert_eq!((done.first, done.head.next), (first, head), "I2");
                assert!(!done.repeated);
                note(&mut model.lineages[lineage], done.head);
            }
            Some(Outcome::Repeated { first, head }) => {
                let done = result.unwrap();
                assert_eq!((done.first, done.head.next), (first, head), "I14");
                assert!(done.repeated, "I14");
                assert_eq!(u64::from(done.count), head - first);
            }
            Some(Outcome::HeadConflict(actual)) => {
                let error = result.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Conflict, "I13");
                let Some(Detail::Head(head)) = error.detail() else {
                    panic!("I13: no head in {error}");
                };
                assert_eq!(head.next, actual, "I13: the actual head");
            }
            Some(Outcome::KeyConflict) => {
                assert_eq!(result.unwrap_err().kind(), ErrorKind::Conflict, "I14");
            }
        }
    }

    pub fn mark(&mut self, task: usize, marking: &Marking) {
        self.clock.advance(5);
        let model = &self.model.tasks[task];
        let handles = &self.handles[task];
        let (handle, lineage, epoch) = match marking.who {
            Who::Current => {
                let (handle, epoch) = handles.last().unwrap();
                (handle.lineage().clone(), model.active(), *epoch)
            }
            Who::Earlier(n) => {
                let (handle, epoch) = &handles[usize::from(n) % handles.len()];
                let lineage = model.activations[*epoch as usize - 1].0;
                (handle.lineage().clone(), lineage, *epoch)
            }
            Who::Named(n) => {
                let lineage = usize::from(n) % model.lineages.len();
                let handle = handles[0].0.lineage_named(LineageId(lineage as u32));
                (handle.unwrap(), lineage, model.epoch())
            }
        };
        let head = model.head(lineage);
        let mut body = CheckpointMarked::default();
        let mut mark = Mark::new();
        if let Some(n) = marking.label {
            body.label = Some(format!("label/{n}@"));
            mark = mark.label(format!("label/{n}@"));
        }
        if marking.failed {
            body.status = MarkStatus::Failure;
            mark = mark.status(MarkStatus::Failure);
        }
        if let Some(n) = marking.metadata {
            // Now and then larger than what an index entry holds.
            let long = "m".repeat(if n % 4 == 0 { 3000 } else { 3 });
            let metadata = serde_json::json!({ "n": n % 3, "long": long });
            let metadata = Json::from_value(&metadata).unwrap();
            body.metadata = Some(metadata.clone());
            mark = mark.metadata(metadata);
        }
        let at = marking.at.map(|at| u64::from(at) % (head + 1));
        if let Some(at) = at {
            let point = handle.point(at).unwrap();
            let hash = self.engine.hash_at(&point).unwrap();
            body.at = Some(Head { next: at, hash });
            mark = mark.at(at);
        }
        body.parent = self.model.marks_of(task, lineage).first().map(|m| m.id);
        let result = handle.checkpoint(mark);
        let header = self.header();
        let model = &mut self.model.tasks[task];
        if epoch != model.epoch() {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Conflict, "I13");
            return;
        }
        let made = result.unwrap();
        let new = MarkModel {
            task,
            lineage,
            mark: head,
            at: at.unwrap_or(head),
            id: made.id,
            body: body.clone(),
        };
        model.push(lineage, body.into(), header);
        check_mark(&made, &new);
        self.model.marks.push(new);
    }

    fn point(&self, task: usize, lineage: u8, at: u16) -> (Point, usize, u64) {
        let model = &self.model.tasks[task];
        let lineage = usize::from(lineage) % model.lineages.len();
        let offset = u64::from(at) % (model.head(lineage) + 1);
        let address = format!("{}/{lineage}@{offset}", model.name);
        (self.engine.point(&address).unwrap(), lineage, offset)
    }

    fn fork(&mut self, task: usize, lineage_type: LineageType, from: &Point, description: &str) {
        // A checkpoint whose mark has its own offset is inherited: the fork is after the mark.
        let mark = self.model.marks.iter().find(|m| Some(m.id) == from.checkpoint).cloned();
        let offset = from.offset + u64::from(mark.as_ref().is_some_and(|m| m.mark == m.at));
        let mut at = from.clone();
        at.offset = offset;
        let hash = self.engine.hash_at(&at).unwrap();
        let header = self.header();
        let model = &mut self.model.tasks[task];
        let owner = model.fork_owner(from.lineage.0 as usize, offset);
        let new = model.lineages.len();
        let parent = Parent { lineage: LineageId(owner as u32), offset, hash };
        let restored = Restored {
            from: LineageId(model.active() as u32),
            head: model.head(model.active()),
            lineage: from.lineage,
            offset: from.offset,
            checkpoint: from.checkpoint,
            scope: Scope::State,
        };
        model.lineages.push(LineageModel {
            lineage_type,
            description: Some(description.to_owned()),
            parent: Some((owner, offset)),
            events: Vec::new(),
            hashes: BTreeMap::from([(offset, hash)]),
        });
        let opened = LineageOpened {
            lineage_type,
            description: Some(description.to_owned()),
            parent: Some(parent),
            initial: None,
            copied_from: None,
        };
        model.push(new, opened.into(), header.clone());
        if lineage_type == LineageType::Restore {
            model.push(new, restored.into(), header.clone());
        }
        // A checkpoint whose mark is at a later offset is marked again.
        if let Some(old) = mark.filter(|m| m.mark != m.at) {
            let body = CheckpointMarked {
                at: Some(Head { next: offset, hash }),
                parent: Some(old.id),
                ..old.body
            };
            let query = CheckpointQuery {
                task: Some(model.name.clone()),
                lineage: Some(LineageId(new as u32)),
                ..CheckpointQuery::default()
            };
            let made = self.engine.query().checkpoints(&query).unwrap().items.remove(0);
            let new = MarkModel {
                task,
                lineage: new,
                mark: model.head(new),
                at: offset,
                id: made.id,
                body: body.clone(),
            };
            model.push(new.lineage, body.into(), header);
            check_mark(&made, &new);
            self.model.marks.push(new);
        }
    }

    pub fn branch(&mut self, task: usize, lineage: u8, at: u16) {
        self.clock.advance(7);
        let (point, ..) = self.point(task, lineage, at);
        let made = self.engine.branch(&point).description("aside").run().unwrap();
        assert_eq!(made.id().0 as usize, self.model.tasks[task].lineages.len());
        self.fork(task, LineageType::Branch, &point, "aside");
    }

    pub fn restore(&mut self, task: usize, lineage: u8, at: u16, checkpoint: bool) {
        self.clock.advance(7);
        let marks: Vec<_> = self.model.marks.iter().filter(|m| m.task == task).collect();
        let point = if checkpoint && !marks.is_empty() {
            let mark = marks[usize::from(at) % marks.len()];
            let point = self.engine.point(&format!("@{}", mark.id)).unwrap();
            assert_eq!(point.lineage.0 as usize, mark.lineage);
            assert_eq!((point.offset, point.checkpoint), (mark.at, Some(mark.id)));
            point
        } else {
            self.point(task, lineage, at).0
        };
        let handle = self.engine.restore(&point).description("back").run().unwrap();
        self.fork(task, LineageType::Restore, &point, "back");
        let model = &mut self.model.tasks[task];
        let back = model.activations.len() - 1;
        model.activations.push((model.lineages.len() - 1, Some(back)));
        assert_eq!(handle.epoch(), model.epoch());
        assert_eq!(handle.lineage().id().0 as usize, model.active());
        self.handles[task].push((handle, model.epoch()));
    }

    pub fn undo(&mut self, task: usize) {
        let model = &mut self.model.tasks[task];
        let result = self.engine.undo(&model.name).run();
        let Some(back) = model.activations[model.activations.len() - 1].1 else {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Invalid, "I7");
            return;
        };
        let before = model.activations[back];
        model.activations.push(before);
        let handle = result.unwrap();
        assert_eq!(handle.epoch(), model.epoch(), "I7");
        assert_eq!(handle.lineage().id().0 as usize, before.0, "I7");
        self.handles[task].push((handle, model.epoch()));
    }

    pub fn drain(&self) {
        self.engine.store().drain().unwrap();
        let stats = self.engine.store().stats().unwrap();
        assert_eq!(stats.applied, stats.seq);
    }

    pub fn clone_and_drop(&mut self) {
        let clone = self.engine.clone();
        drop(std::mem::replace(&mut self.engine, clone));
    }

    /// Closes the store and opens it again.
    pub fn reopen(&mut self) {
        let Some(path) = self.path() else { return };
        self.handles.clear();
        self.engine.clone().close().unwrap();
        self.engine = Engine::open(path, self.options.clone()).unwrap();
        assert_eq!(self.engine.store().stats().unwrap().recovered, 0);
        self.take_handles();
    }

    /// Copies the store in its current state, and continues with the copy.
    pub fn kill(&mut self) {
        let Some(path) = self.path() else { return };
        let (dir, n) = self.folder.as_mut().unwrap();
        *n += 1;
        let next = dir.path().join(n.to_string());
        folder::copy_store(&path, &next).unwrap();
        self.handles.clear();
        self.engine = Engine::open(next, self.options.clone()).unwrap();
        std::fs::remove_dir_all(path).unwrap();
        self.take_handles();
    }

    fn take_handles(&mut self) {
        let engine = &self.engine;
        let handles = self.model.tasks.iter().map(|model| {
            let handle = engine.task(&model.name).unwrap();
            vec![(handle, model.epoch())]
        });
        self.handles = handles.collect();
    }
}

/// Takes down a chain hash; one that is known has to be the same.
fn note(lineage: &mut LineageModel, head: Head) {
    let known = *lineage.hashes.entry(head.next).or_insert(head.hash);
    assert_eq!(known, head.hash, "I3: the hash at {} is another", head.next);
}
