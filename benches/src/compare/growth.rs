//! Growth of the cost of each operation with the size of the store: events of one task, lineages of
//! one task, tasks.

use std::path::{Path, PathBuf};

use milepost::query::{CheckpointQuery, TaskQuery};
use milepost::{Append, Engine, Mark, Options, Task};

use super::figures::Figures;
use super::on_disk;
use crate::corpus::generated;
use crate::measure::{median, seconds};
use crate::rows::folder;

/// Number of timed operations of each kind, of which the median counts.
const TIMES: u64 = 21;

/// Events of a task before it has lineages, and of each of many tasks.
const EVENTS: u64 = 1000;

/// Approximate number of bytes of a payload.
const BYTES: usize = 200;

/// The work of a figure: one task with more and more events. Its variant is an operation, and its
/// contestant a size.
pub const EVENTS_OF_A_TASK: &str = "growth: events of a task";
/// More and more lineages of a task.
pub const LINEAGES_OF_A_TASK: &str = "growth: lineages of a task";
/// More and more tasks.
pub const TASKS: &str = "growth: tasks";

/// The operations that are timed.
pub const OPERATIONS: [&str; 9] = [
    "append",
    "checkpoint",
    "fork",
    "event at a random offset",
    "state of the head",
    "state at a random offset",
    "list 20 checkpoints",
    "list 20 tasks",
    "open",
];

/// Measures up to this many events, lineages and tasks.
pub fn growth(figures: &mut Figures, rounds: usize, events: u64, others: u64) {
    for _ in 0..rounds {
        let mut store = Store::new();
        for count in powers(1000, events) {
            store.grow(count);
            store.measure(figures, count, EVENTS_OF_A_TASK);
        }
        let mut store = Store::new();
        store.grow(EVENTS);
        for count in powers(100, others) {
            let mut lineages = store.lineages();
            while lineages < count {
                store.fork();
                lineages += 1;
            }
            store.measure(figures, count, LINEAGES_OF_A_TASK);
        }
        let mut store = Store::new();
        let mut tasks = 1;
        store.grow(EVENTS);
        for count in powers(1, others) {
            while tasks < count {
                let task = store.engine().start_task(&format!("t{tasks}"), "bench").unwrap();
                task.append(batch(0, 100)).unwrap();
                task.checkpoint(Mark::new()).unwrap();
                tasks += 1;
            }
            store.measure(figures, count, TASKS);
        }
    }
}

fn powers(from: u64, to: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(from), |count| count.checked_mul(10)).take_while(move |n| *n <= to)
}

/// Formats a size.
pub fn size(count: u64) -> String {
    format!("10^{}", count.ilog10())
}

fn batch(first: u64, count: u64) -> Append {
    Append::batch((first..first + count).map(|n| generated(n, BYTES)))
}

/// A store with the task of all requests.
struct Store {
    dir: tempfile::TempDir,
    engine: Option<Engine>,
    events: u64,
    /// For offsets that look random and are the same each time.
    random: u64,
}

impl Store {
    fn new() -> Self {
        let mut store = Self { dir: folder(), engine: None, events: 0, random: 1 };
        store.open();
        store.engine().start_task("bench", "bench").unwrap();
        store
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    fn open(&mut self) {
        self.engine = None;
        self.engine = Some(Engine::open(self.path(), Options::default()).unwrap());
    }

    fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    fn task(&self) -> Task {
        self.engine().task("bench").unwrap()
    }

    fn lineages(&self) -> u64 {
        self.task().lineages().unwrap().len() as u64
    }

    /// Appends until there are this many events.
    fn grow(&mut self, events: u64) {
        let task = self.task();
        while self.events < events {
            let count = 1000.min(events - self.events);
            task.append(batch(self.events, count)).unwrap();
            self.events += count;
        }
        self.engine().store().drain().unwrap();
    }

    fn offset(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        1 + (self.random >> 20) % (self.events - 1)
    }

    fn fork(&mut self) {
        let point = self.task().point(self.offset()).unwrap();
        self.engine().branch(&point).run().unwrap();
    }

    /// Times each operation at this size.
    fn measure(&mut self, figures: &mut Figures, count: u64, work: &'static str) {
        eprintln!("{work}: {count}");
        let size = size(count);
        for operation in OPERATIONS {
            let took = (0..TIMES).map(|n| self.time(operation, n)).collect();
            figures.add(work, operation, &size, "us", median(took) * 1e6);
        }
        let bytes = on_disk(&self.path()) as f64;
        figures.add(work, "on the disk", &size, "bytes", bytes);
    }

    fn time(&mut self, operation: &str, n: u64) -> f64 {
        let at = self.offset();
        let (engine, task) = (self.engine().clone(), self.task());
        let first =
            CheckpointQuery { task: Some("bench".to_owned()), ..CheckpointQuery::default() };
        match operation {
            "append" => {
                let one = generated(n, BYTES);
                seconds(|| drop(task.append(one)))
            }
            "checkpoint" => seconds(|| drop(task.checkpoint(Mark::new()).unwrap())),
            "fork" => {
                let point = task.point(at).unwrap();
                seconds(|| drop(engine.branch(&point).run().unwrap()))
            }
            "event at a random offset" => {
                let point = task.point(at).unwrap();
                seconds(|| drop(engine.event(&point).unwrap()))
            }
            "state of the head" => {
                let head = engine.point("bench").unwrap();
                seconds(|| drop(engine.run_state(&head).unwrap()))
            }
            "state at a random offset" => {
                let point = task.point(at).unwrap();
                seconds(|| drop(engine.run_state(&point).unwrap()))
            }
            "list 20 checkpoints" => seconds(|| drop(engine.query().checkpoints(&first).unwrap())),
            "list 20 tasks" => {
                seconds(|| drop(engine.query().tasks(&TaskQuery::default()).unwrap()))
            }
            _ => {
                drop((engine, task));
                self.reopen()
            }
        }
    }

    /// Measures an opening after a clean stop.
    fn reopen(&mut self) -> f64 {
        self.engine.take().unwrap().close().unwrap();
        let path = self.path();
        let path: &Path = &path;
        let mut opened = None;
        let took = seconds(|| opened = Some(Engine::open(path, Options::default()).unwrap()));
        self.engine = opened;
        took
    }
}
