//! Work for a store under faults, the same for the same seed, which writes its acknowledgements to
//! a file.
//!
//! The file `acks` is next to the store, one line for each acknowledgement of the engine; see
//! `acked.rs`, which reads it and checks that the store has them all.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    missing_docs,
    reason = "tests"
)]

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use milepost::events::{Application, Data, Message};
use milepost::retention::Policy;
use milepost::{Body, Engine, ErrorKind, LineageId, Mark, Options, Result, Task};

use crate::bodies;
use crate::seed::Random;

/// Step of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A new task; the others go on too.
    Start,
    /// A batch of that kind, to the active lineage.
    Append(Kind),
    /// A batch to a lineage by name.
    Aside,
    Mark,
    Branch,
    Restore,
    Undo,
    Drain,
    State,
    /// Closes the store and opens it again.
    Reopen,
    /// A task of its own is started, worked on and deleted.
    Delete,
    /// A task of its own is worked on, and its events are trimmed up to its last checkpoint.
    Wear,
    Compact,
}

/// Content of a batch. The kind is part of the batch's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Up to five events, of which some are messages.
    Small,
    /// Three events of some 20 KB that do not compress.
    Medium,
    /// A small event and one that goes into chunks.
    Chunked,
    /// Two events of 110 KB that compress.
    Large,
}

const KINDS: [Kind; 4] = [Kind::Small, Kind::Medium, Kind::Chunked, Kind::Large];

/// Returns the events of a batch: the number determines their count and their content.
pub fn batch(seed: u64, number: u64) -> Vec<Body> {
    let mut random = Random::new(seed ^ number.wrapping_mul(0x1000_0001));
    let name = |index: usize, count: usize| format!("b{number}/{index}/{count}");
    let bytes = |name: String, data: Vec<u8>| -> Body {
        let data = Data::Bytes(data);
        Application { name, data }.into()
    };
    let sizes: Vec<usize> = match KINDS[(number % 4) as usize] {
        Kind::Small => {
            let count = 1 + random.below(5);
            (0..count).map(|_| random.below(1500) as usize).collect()
        }
        Kind::Medium => (0..3).map(|_| 15_000 + random.below(10_000) as usize).collect(),
        Kind::Chunked => vec![10, 300_000],
        Kind::Large => vec![110_000, 110_000],
    };
    let compresses = sizes == [110_000, 110_000];
    let count = sizes.len();
    let event = |(index, size): (usize, usize)| {
        let (name, salt) = (name(index, count), random.number());
        if size < 1500 && salt.is_multiple_of(3) {
            let mut message = Message::text("user", &bodies::text(salt, size));
            message.name = Some(name);
            return message.into();
        }
        let distinct = if compresses { 1000 } else { size.max(1) };
        let data = Random::new(salt).bytes(distinct);
        bytes(name, data.into_iter().cycle().take(size).collect())
    };
    sizes.into_iter().enumerate().map(event).collect()
}

/// The batch, the place in it and its size, of an event of one.
pub fn place_in_batch(body: &Body) -> Option<(u64, usize, usize)> {
    let text = match body {
        Body::Application(event) => event.name.clone(),
        Body::Message(message) => message.name.clone()?,
        _ => return None,
    };
    numbers(&text)
}

fn numbers(text: &str) -> Option<(u64, usize, usize)> {
    let mut parts = text.strip_prefix('b')?.split('/');
    let mut next = || parts.next()?.parse::<u64>().ok();
    Some((next()?, next()? as usize, next()? as usize))
}

/// A short script that meets every part of the engine.
pub fn short_script() -> Vec<Step> {
    use Kind::{Chunked, Large, Medium, Small};
    use Step::{Append, Aside, Branch, Drain, Mark, Reopen, Restore, Start, State, Undo};
    vec![
        Start,
        Append(Small),
        Mark,
        Append(Chunked),
        Append(Small),
        Append(Large),
        Append(Medium),
        Drain,
        Restore,
        Append(Small),
        Undo,
        Append(Chunked),
        Branch,
        Aside,
        State,
        Reopen,
        Append(Small),
        Start,
        Append(Medium),
        Mark,
        Append(Large),
        Append(Large),
        Append(Small),
        Drain,
        Append(Small),
    ]
}

/// Returns a script that removes much, and compacts.
pub fn compacting_script() -> Vec<Step> {
    use Kind::{Chunked, Large, Medium, Small};
    use Step::{Append, Branch, Compact, Delete, Drain, Mark, Reopen, Restore, Start, Wear};
    vec![
        Start,
        Append(Chunked),
        Delete,
        Mark,
        Append(Large),
        Wear,
        Append(Small),
        Compact,
        Append(Medium),
        Wear,
        Append(Chunked),
        Delete,
        Branch,
        Drain,
        Compact,
        Append(Small),
        Reopen,
        Restore,
        Append(Large),
        Wear,
        Compact,
        Append(Small),
    ]
}

/// Returns a script of this many steps.
pub fn script(seed: u64, steps: u64) -> Vec<Step> {
    let mut random = Random::new(seed ^ 0x5c21);
    let mut script = vec![Step::Start];
    for n in 1..steps {
        script.push(match random.below(24) {
            0..=8 => Step::Append(Kind::Small),
            9..=11 => Step::Append(Kind::Medium),
            12 => Step::Append(Kind::Chunked),
            13 => Step::Append(Kind::Large),
            14..=15 => Step::Mark,
            16 => Step::Branch,
            17 => Step::Aside,
            18 => Step::Restore,
            19 => Step::Undo,
            20 if n % 3 == 0 => Step::Start,
            21 => Step::Drain,
            22 => Step::State,
            23 if n % 2 == 0 => Step::Reopen,
            _ => Step::Append(Kind::Small),
        });
    }
    script
}

/// A script that uses segments again: they are kept from 8 MiB on.
pub fn recycling_script() -> Vec<Step> {
    let mut script = vec![Step::Start, Step::Mark];
    for n in 0..118 {
        script.push(Step::Append(Kind::Large));
        if n % 8 == 7 {
            script.extend([Step::Drain, Step::Mark]);
        }
    }
    // The third of the largest size is the first again.
    script.extend([Step::Restore, Step::Drain]);
    script.extend([Step::Append(Kind::Small); 20]);
    script.extend([Step::Append(Kind::Large); 6]);
    script.extend([Step::Append(Kind::Small); 6]);
    script
}

/// Returns the options of these tests' stores: appends wait early, so that blocks are written.
pub fn options() -> Options {
    Options::default().backlog_bytes(1 << 20).cache_bytes(4 << 20)
}

/// A store that is worked on.
#[derive(Debug)]
pub struct Work {
    store: PathBuf,
    seed: u64,
    random: Random,
    acks: File,
    engine: Option<Engine>,
    tasks: Vec<String>,
    next_batch: u64,
    /// Prefix of the names of its tasks.
    prefix: String,
    /// An append that failed is tried once more, as a caller might.
    pub retries: bool,
}

impl Work {
    /// Opens the store in a folder. Batches are numbered from `first` on: two that work on one
    /// store, one after another, do not use the same.
    pub fn open(dir: &Path, seed: u64, first: u64) -> Result<Self> {
        let acks = OpenOptions::new().create(true).append(true).open(dir.join("acks")).unwrap();
        Self::open_with(dir, acks, seed, first)
    }

    /// The same, with the acknowledgements written elsewhere.
    pub fn open_with(dir: &Path, acks: File, seed: u64, first: u64) -> Result<Self> {
        let store = dir.join("store");
        let engine = Engine::open(&store, options())?;
        let mut tasks = Vec::new();
        // Tasks of an earlier process.
        for n in 0.. {
            match engine.task(&format!("t{n}")) {
                Ok(task) => tasks.push(task.id().to_owned()),
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                Err(error) => return Err(error),
            }
        }
        Ok(Self {
            store,
            seed,
            random: Random::new(seed ^ first),
            acks,
            engine: Some(engine),
            tasks,
            next_batch: first,
            prefix: "t".to_owned(),
            retries: false,
        })
    }

    /// Another that works on the same open store at the same time, with tasks of its own.
    pub fn beside(&self, n: u64) -> Self {
        let first = self.next_batch + n * 100_000;
        Self {
            store: self.store.clone(),
            seed: self.seed,
            random: Random::new(self.seed ^ first),
            acks: self.acks.try_clone().unwrap(),
            engine: self.engine.clone(),
            tasks: Vec::new(),
            next_batch: first,
            prefix: format!("side{n}-"),
            retries: self.retries,
        }
    }

    pub fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    /// Writes a line. One write: it is there whole, or the process was killed before.
    pub fn tell(&mut self, line: &str) {
        self.acks.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn task(&mut self) -> Result<Task> {
        let at = self.random.below(self.tasks.len() as u64) as usize;
        self.engine().task(&self.tasks[at].clone())
    }

    fn number(&mut self, kind: Kind) -> u64 {
        self.next_batch += 1;
        let kind = KINDS.iter().position(|k| *k == kind).unwrap_or(0) as u64;
        self.next_batch * 4 + kind
    }

    /// Does one step, and writes its acknowledgement.
    pub fn step(&mut self, step: Step) -> Result<()> {
        if self.tasks.is_empty() && step != Step::Start {
            self.step(Step::Start)?;
        }
        match step {
            Step::Start => self.start(),
            Step::Append(kind) => {
                let task = self.task()?;
                let lineage = task.lineage().id();
                self.append(&task, lineage, kind)
            }
            Step::Aside => {
                let task = self.task()?;
                let lineages = task.lineages()?;
                let at = self.random.below(lineages.len() as u64) as usize;
                self.append(&task, lineages[at].id, Kind::Small)
            }
            Step::Mark => self.mark(),
            Step::Branch => {
                let (task, offset) = self.somewhere()?;
                let made = self.engine().branch(&task.point(offset)?).description("aside").run()?;
                self.tell(&format!("lineage {} {}", task.id(), made.id().0));
                Ok(())
            }
            Step::Restore => {
                let (task, offset) = self.somewhere()?;
                let back = self.engine().restore(&task.point(offset)?).description("back").run()?;
                let lineage = back.lineage().id().0;
                self.tell(&format!("active {} {lineage} {}", back.id(), back.epoch()));
                Ok(())
            }
            Step::Undo => {
                let task = self.task()?;
                match self.engine().undo(task.id()).run() {
                    Ok(back) => {
                        let lineage = back.lineage().id().0;
                        self.tell(&format!("active {} {lineage} {}", back.id(), back.epoch()));
                        Ok(())
                    }
                    // There was nothing to undo.
                    Err(error) if error.kind() == ErrorKind::Invalid => Ok(()),
                    Err(error) => Err(error),
                }
            }
            Step::Drain => self.engine().store().drain(),
            Step::State => {
                let task = self.task()?;
                let head = task.head()?.next;
                self.engine().run_state(&task.point(head)?).map(|_| ())
            }
            Step::Delete => self.delete(),
            Step::Wear => self.wear(),
            Step::Compact => self.engine().retention().compact(&mut |_| {}).map(|_| ()),
            Step::Reopen => {
                self.engine.take().unwrap().close()?;
                self.engine = Some(Engine::open(&self.store, options())?);
                Ok(())
            }
        }
    }

    fn start(&mut self) -> Result<()> {
        let name = format!("{}{}", self.prefix, self.tasks.len());
        self.engine().start_task(&name, "ana")?;
        self.tell(&format!("active {name} 0 1"));
        self.tasks.push(name);
        Ok(())
    }

    fn append(&mut self, task: &Task, lineage: LineageId, kind: Kind) -> Result<()> {
        let number = self.number(kind);
        let once = || {
            let bodies = batch(self.seed, number);
            if task.lineage().id() == lineage {
                return task.append(bodies);
            }
            task.lineage_named(lineage)?.append(bodies)
        };
        let done = match once() {
            Err(_) if self.retries => once()?,
            done => done?,
        };
        let (id, lineage, first) = (task.id(), lineage.0, done.first);
        self.tell(&format!("batch {id} {lineage} {first} {number}"));
        Ok(())
    }

    fn mark(&mut self) -> Result<()> {
        let task = self.task()?;
        let label = format!("c{}", self.random.below(1000));
        let mark = task.checkpoint(Mark::new().label(label))?;
        let (id, lineage) = (mark.id, mark.lineage.0);
        self.tell(&format!("mark {} {lineage} {} {id}", task.id(), mark.mark));
        Ok(())
    }

    fn delete(&mut self) -> Result<()> {
        self.next_batch += 1;
        let name = format!("gone-{}", self.next_batch);
        let task = self.engine().start_task(&name, "eve")?;
        for size in [10, 20_000, 300_000] {
            task.append(bodies::bytes(self.next_batch, size))?;
        }
        task.checkpoint(Mark::new())?;
        self.engine().retention().delete_task(&name)?;
        self.tell(&format!("gone {name}"));
        Ok(())
    }

    fn wear(&mut self) -> Result<()> {
        let name = format!("{}worn", self.prefix);
        let task = match self.engine().task(&name) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.engine().start_task(&name, "eve")?
            }
            task => task?,
        };
        for n in 0..3 {
            let bodies = [n, n + 100].map(|salt| bodies::body(0, salt, 300));
            task.append(bodies.to_vec())?;
            task.append(bodies::bytes(self.next_batch + n, 5000))?;
        }
        let mark = task.checkpoint(Mark::new())?;
        task.append(bodies::body(2, self.next_batch, 10))?;
        let policy = Policy::new().keep(1).undo(0).task(&name);
        let report = self.engine().retention().retain(&policy)?;
        if let Some(error) = report.tasks.into_iter().find_map(|task| task.error) {
            return Err(error);
        }
        let state = crate::acked::state_of(self.engine(), &mark.id.to_string())?;
        self.tell(&format!("kept {} {state}", mark.id));
        Ok(())
    }

    /// Returns a task, and an offset of its active lineage.
    fn somewhere(&mut self) -> Result<(Task, u64)> {
        let task = self.task()?;
        let head = task.head()?.next;
        let offset = 1 + self.random.below(head);
        Ok((task, offset))
    }

    /// Returns `true` if the store is open, `false` after a failed close or open.
    pub fn is_open(&self) -> bool {
        self.engine.is_some()
    }
}
