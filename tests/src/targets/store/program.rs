//! An input as operations, each done to a store and to the model.

use std::path::PathBuf;

use milepost::{Append, Engine, ErrorKind, LineageId, Mark, Options, Task};
use tempfile::TempDir;

use super::crash::{self, Tear};
use super::folder;
use super::model::{LineageModel, Model, Pending, Recipe, TaskModel};
use crate::targets::input::Input;

/// Operations of one input.
const STEPS_MAX: u32 = 60;
/// Crashes and reopenings of one input.
const REOPENS_MAX: u32 = 6;
/// Bytes that one input appends.
const BYTES_MAX: usize = 3 << 20;
const TASKS_MAX: usize = 3;
const LINEAGES_MAX: usize = 8;

/// Returns the stores' options: appends wait early, so that blocks are written, and sled stays
/// small.
pub(crate) fn options() -> Options {
    Options::default().backlog_bytes(1 << 20).cache_bytes(1 << 20)
}

/// A store, and its expected content.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    /// Number of the copy: after each crash the program continues with a copy in a new folder.
    generation: u32,
    pub(crate) engine: Option<Engine>,
    pub(crate) model: Model,
    pub(crate) pending: Vec<Pending>,
    steps: u32,
    reopens: u32,
    bytes: usize,
    salt: u64,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = folder();
        let engine = Engine::open(dir.path().join("0"), options()).expect("a new store");
        let mut world = Self {
            dir,
            generation: 0,
            engine: Some(engine),
            model: Model::default(),
            pending: Vec::new(),
            steps: 0,
            reopens: 0,
            bytes: 0,
            salt: 0,
        };
        world.start();
        world
    }

    pub(crate) fn may_go_on(&self) -> bool {
        self.steps < STEPS_MAX && self.reopens < REOPENS_MAX && self.bytes < BYTES_MAX
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join(self.generation.to_string())
    }

    fn engine(&self) -> &Engine {
        self.engine.as_ref().expect("it is open")
    }

    fn task(&self, at: usize) -> Task {
        let name = &self.model.tasks[at].name;
        self.engine().task(name).expect("a task that was started")
    }

    /// Does one operation. With `crashes`, one of them is a crash.
    pub(crate) fn step(&mut self, input: &mut Input<'_>, crashes: bool) {
        self.steps += 1;
        match input.byte() % 20 {
            0..=3 => self.append(input, 700),
            4 => self.append(input, 24_000),
            5 => self.append_large(input),
            6 | 7 => self.submit(input),
            8 => self.wait(),
            9 => self.mark(input),
            10 => self.branch(input),
            11 => self.restore(input),
            12 => self.undo(input),
            13 => self.engine().store().drain().expect("drain"),
            14 => self.close_and_open(),
            15 => self.start(),
            16 => self.keyed(input),
            17 => self.aside(input),
            18 => self.again(input),
            _ if crashes => self.crash(input),
            _ => {}
        }
    }

    fn start(&mut self) {
        let at = self.model.tasks.len();
        if at == TASKS_MAX {
            return;
        }
        self.wait();
        let name = format!("t{at}");
        let task = self.engine().start_task(&name, "ana").expect("start");
        let epoch = task.epoch();
        self.model.tasks.push(TaskModel {
            name,
            lineages: vec![LineageModel::default()],
            epoch,
            ..TaskModel::default()
        });
        self.heads(at, 0);
    }

    /// Updates the head of a lineage after an acknowledged event of the engine.
    fn heads(&mut self, at: usize, lineage: u32) {
        let handle = self.task(at).lineage_named(LineageId(lineage));
        let head = handle.and_then(|l| l.head()).expect("a head");
        let model = &mut self.model.tasks[at].lineages[lineage as usize];
        (model.next, model.hash) = (head.next, Some(head.hash));
    }

    fn pick(&mut self, input: &mut Input<'_>) -> usize {
        input.below(self.model.tasks.len() as u64) as usize
    }

    fn recipe(&mut self, input: &mut Input<'_>, size_max: usize) -> Recipe {
        self.salt += 1000;
        let kind = input.byte();
        let count = 1 + (kind >> 5);
        let size = input.below(size_max as u64) as usize;
        self.bytes += size * usize::from(count);
        Recipe {
            kind: kind % 12,
            // The helper makes a body of 300 KB of every eighth.
            salt: self.salt | 1,
            size,
            count,
        }
    }

    /// Adds an append to a lineage, from an offset on.
    fn appended(&mut self, at: usize, lineage: u32, first: u64, recipe: Recipe) {
        let model = &mut self.model.tasks[at].lineages[lineage as usize];
        assert_eq!(first, model.next, "I2: where it was appended");
        model.own.insert(first, recipe);
        model.next = first + u64::from(recipe.count);
    }

    fn append(&mut self, input: &mut Input<'_>, size_max: usize) {
        let (at, recipe) = (self.pick(input), self.recipe(input, size_max));
        self.append_to(at, self.model.tasks[at].active, recipe);
    }

    /// An event that goes into chunks.
    fn append_large(&mut self, input: &mut Input<'_>) {
        let (at, mut recipe) = (self.pick(input), self.recipe(input, 90_000));
        recipe.size += 250_000;
        (recipe.kind, recipe.count) = (if recipe.kind % 2 == 0 { 5 } else { 11 }, 1);
        self.bytes += recipe.size;
        self.append_to(at, self.model.tasks[at].active, recipe);
    }

    fn append_to(&mut self, at: usize, lineage: u32, recipe: Recipe) {
        self.wait();
        let task = self.task(at);
        let lineage_id = LineageId(lineage);
        let done = match task.lineage().id() == lineage_id {
            true => task.append(recipe.bodies()),
            false => task.lineage_named(lineage_id).and_then(|l| l.append(recipe.bodies())),
        };
        let done = done.expect("append");
        assert_eq!(done.count, u32::from(recipe.count));
        self.appended(at, lineage, done.first, recipe);
        let model = &mut self.model.tasks[at].lineages[lineage as usize];
        assert_eq!(done.head.next, model.next);
        model.hash = Some(done.head.hash);
    }

    /// Queues appends and does not wait: a crash may leave any of the first of them.
    fn submit(&mut self, input: &mut Input<'_>) {
        for _ in 0..=input.below(4) {
            let (at, recipe) = (self.pick(input), self.recipe(input, 3000));
            let lineage = self.model.tasks[at].active;
            let same = |p: &&Pending| p.task == at && p.lineage == lineage;
            let before = self.pending.iter().rfind(same);
            let first = match before {
                Some(before) => before.first + u64::from(before.recipe.count),
                None => self.model.tasks[at].lineages[lineage as usize].next,
            };
            let ticket = self.task(at).submit(recipe.bodies()).expect("submit");
            self.pending.push(Pending { ticket, task: at, lineage, recipe, first });
        }
    }

    /// Waits for all that was queued.
    pub(crate) fn wait(&mut self) {
        for one in std::mem::take(&mut self.pending) {
            let done = one.ticket.wait().expect("a queued append");
            assert_eq!(done.first, one.first, "I2: in the order of calls");
            self.appended(one.task, one.lineage, one.first, one.recipe);
            let model = &mut self.model.tasks[one.task].lineages[one.lineage as usize];
            model.hash = Some(done.head.hash);
        }
    }

    fn mark(&mut self, input: &mut Input<'_>) {
        self.wait();
        let at = self.pick(input);
        let label = format!("c{}", input.below(5));
        let mark = self.task(at).checkpoint(Mark::new().label(label));
        let mark = mark.expect("a mark");
        let task = &mut self.model.tasks[at];
        task.marks.push((mark.lineage.0, mark.mark, mark.id));
        self.heads(at, mark.lineage.0);
    }

    /// Returns a point on the active lineage of a task.
    fn point(&mut self, input: &mut Input<'_>) -> (usize, milepost::Point) {
        self.wait();
        let at = self.pick(input);
        let task = self.task(at);
        let head = task.head().expect("a head").next;
        let offset = 1 + input.below(head);
        (at, task.point(offset).expect("a point"))
    }

    fn branch(&mut self, input: &mut Input<'_>) {
        let (at, point) = self.point(input);
        if self.model.tasks[at].lineages.len() == LINEAGES_MAX {
            return;
        }
        let made = self.engine().branch(&point).description("aside").run();
        let id = made.expect("a branch").id().0;
        self.lineage_made(at, id);
    }

    fn lineage_made(&mut self, at: usize, id: u32) {
        let task = &mut self.model.tasks[at];
        assert_eq!(id as usize, task.lineages.len(), "lineages are numbered");
        task.lineages.push(LineageModel::default());
        self.heads(at, id);
    }

    fn activated(&mut self, at: usize, handle: &Task) {
        let task = &mut self.model.tasks[at];
        task.active = handle.lineage().id().0;
        task.epoch = handle.epoch();
        task.keyed = None;
    }

    fn restore(&mut self, input: &mut Input<'_>) {
        let (at, point) = self.point(input);
        if self.model.tasks[at].lineages.len() == LINEAGES_MAX {
            return;
        }
        let handle = self.engine().restore(&point).run().expect("a restore");
        self.lineage_made(at, handle.lineage().id().0);
        self.activated(at, &handle);
    }

    fn undo(&mut self, input: &mut Input<'_>) {
        self.wait();
        let at = self.pick(input);
        match self.engine().undo(&self.model.tasks[at].name).run() {
            Ok(handle) => self.activated(at, &handle),
            // There was nothing to undo.
            Err(error) => assert_eq!(error.kind(), ErrorKind::Invalid, "{error}"),
        }
    }

    /// An append with a key.
    fn keyed(&mut self, input: &mut Input<'_>) {
        self.wait();
        let (at, recipe) = (self.pick(input), self.recipe(input, 300));
        let lineage = self.model.tasks[at].active;
        let key = format!("k{}", recipe.salt);
        let append = Append::from(recipe.bodies()).key(&key);
        let done = self.task(at).append(append).expect("append");
        assert!(!done.repeated);
        self.appended(at, lineage, done.first, recipe);
        let task = &mut self.model.tasks[at];
        task.lineages[lineage as usize].hash = Some(done.head.hash);
        task.keyed = Some((lineage, key, recipe, done.first));
    }

    /// Repeats the last append with its key, as after a crash before its acknowledgement.
    fn again(&mut self, input: &mut Input<'_>) {
        self.wait();
        let at = self.pick(input);
        let Some((lineage, key, recipe, first)) = self.model.tasks[at].keyed.clone() else {
            return;
        };
        let handle = self.task(at).lineage_named(LineageId(lineage));
        let append = Append::from(recipe.bodies()).key(key);
        let done = handle.and_then(|l| l.append(append)).expect("append");
        assert_eq!((done.repeated, done.first), (true, first), "I14");
    }

    /// An append to a lineage by name.
    fn aside(&mut self, input: &mut Input<'_>) {
        let at = self.pick(input);
        let lineage = input.below(self.model.tasks[at].lineages.len() as u64) as u32;
        let recipe = self.recipe(input, 700);
        self.append_to(at, lineage, recipe);
    }

    fn close_and_open(&mut self) {
        self.wait();
        self.reopens += 1;
        let engine = self.engine.take().expect("it is open");
        engine.close().expect("close");
        let engine = Engine::open(self.path(), options()).expect("open what was closed");
        let findings = &engine.store().report().findings;
        assert!(findings.is_empty(), "after a clean close: {findings:?}");
        self.model.check(&engine);
        self.engine = Some(engine);
    }

    /// Kills the process, tears an unacknowledged write, and opens the store again.
    pub(crate) fn crash(&mut self, input: &mut Input<'_>) {
        self.reopens += 1;
        let (from, engine) = (self.path(), self.engine.take().expect("it is open"));
        self.generation += 1;
        let to = self.path();
        crash::copy(&from, &to);
        Tear::take(input).apply(&to);
        let pending = std::mem::take(&mut self.pending);
        let reopened = Engine::open(&to, options());
        let reopened = reopened.unwrap_or_else(|e| panic!("I1: after a crash: {e}"));
        self.model.settle(&reopened, pending);
        self.model.check(&reopened);
        self.engine = Some(reopened);
        // The copied store is no longer in use.
        engine.close().expect("close");
        std::fs::remove_dir_all(from).expect("remove a folder");
    }

    pub(crate) fn close(mut self) {
        self.wait();
        let engine = self.engine.take().expect("it is open");
        engine.close().expect("close");
    }
}
