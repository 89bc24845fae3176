//! The failover engine: errors other than failures of the disk, and random runs over failures,
//! reopenings and restores from outside.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use milepost::events::{Message, StepFinished, StepStarted};
use milepost::restore::{CaptureContext, PendingRestore, PrepareContext};
use milepost::{Body, Detail, Engine, Error, ErrorKind, Options, Participant, Result, Scope, Task};
use milepost_runtime::failover::{Accepted, FailoverEngine, FailoverOptions, Health};
use milepost_runtime::run::{EverySteps, Run, RunOptions, SafePoint};
use milepost_tests::seed::{Random, number, seed};

/// A participant whose restore neither ends nor can be undone.
struct Stuck;

impl Participant for Stuck {
    fn name(&self) -> &str {
        "stuck"
    }
    fn capture(&self, _: &CaptureContext<'_>) -> Result<Vec<Body>> {
        Ok(Vec::new())
    }
    fn prepare(&self, _: &PrepareContext<'_>) -> Result<milepost_codec::RestorePart> {
        Ok(milepost_codec::RestorePart {
            participant: "stuck".into(),
            place: milepost::events::Data::Json(milepost::Json::string("here")),
            note: None,
            plan: milepost_codec::ChunkList::default(),
            roots: Vec::new(),
        })
    }
    fn apply(&self, _: &Engine, _: &PendingRestore) -> Result<Vec<Body>> {
        Err(Error::invalid("a file is in the way"))
    }
    fn abort(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        Err(Error::invalid("a file is in the way"))
    }
    fn finish(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        Err(Error::invalid("a file is in the way"))
    }
}

#[test]
fn a_pending_restore_of_one_task_is_no_failure_of_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let store = FailoverEngine::open(path, Options::default(), FailoverOptions::default()).unwrap();
    let engine = store.engine().unwrap();
    let task = engine.start_task("held", "ana").unwrap();
    let free = engine.start_task("free", "ana").unwrap();
    task.append(Message::text("user", "one")).unwrap();
    let point = task.point(1).unwrap();
    assert!(engine.restore(&point).with(Arc::new(Stuck)).run().is_err());
    assert_eq!(engine.restores().pending().unwrap().len(), 1);

    let held = store.append("held", Message::text("user", "two"));
    assert_eq!(held.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(store.health(), Health::Healthy);
    let done = store.append("free", Message::text("user", "three")).unwrap();
    assert!(matches!(done, Accepted::Appended(_)), "{done:?}");
    free.append(Message::text("user", "four")).unwrap();
    let stats = store.stats();
    assert_eq!((stats.degraded, stats.reopened, stats.buffered), (0, 0, 0));
    store.close().unwrap();
}

/// Appends of a run, as distinct texts.
type Texts = Vec<String>;

/// A run on a failover engine whose store fails, and what must be there of it.
struct Running {
    dir: tempfile::TempDir,
    store: Arc<FailoverEngine>,
    run: Run,
    /// The texts on the active lineage.
    there: Texts,
    /// Those that are held in memory, and whether the run wrote them: others are for the lineage
    /// that is active at the commit.
    held: Vec<(String, bool)>,
    /// Another lineage was activated, and the run was not told yet.
    is_elsewhere: bool,
    fails: bool,
    refused: u64,
    worked: u64,
}

/// The texts of a task's active lineage, with the offset behind each.
fn texts_of(task: &Task) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for event in task.read(0..).unwrap() {
        let event = event.unwrap();
        let text = match event.body.unwrap() {
            Body::Message(message) => format!("{:?}", message.content),
            Body::StepStarted(step) => format!("step {}", step.step),
            Body::StepFinished(step) => format!("end of step {}", step.step),
            Body::Application(event) => format!("{:?}", event.data),
            _ => continue,
        };
        found.push((text, event.offset + 1));
    }
    found
}

impl Running {
    fn new() -> Self {
        let dir = milepost_tests::faults::temp_dir();
        let path = dir.path().join("store");
        let options = FailoverOptions::default().limit_bytes(64 << 20);
        let store = Arc::new(FailoverEngine::open(path, Options::default(), options).unwrap());
        let task = store.engine().unwrap().start_task("t", "ana").unwrap();
        let options = RunOptions::default().failover(Arc::clone(&store)).policy(EverySteps(1));
        let run = Run::of(task, options).unwrap();
        run.begin().unwrap();
        assert_eq!(run.safe_point().unwrap(), SafePoint::Go);
        let (there, held) = (Vec::new(), Vec::new());
        let (is_elsewhere, fails, refused, worked) = (false, false, 0, 0);
        Self { dir, store, run, there, held, is_elsewhere, fails, refused, worked }
    }

    /// The folder of the store, and where it is while it fails.
    fn places(&self) -> [PathBuf; 2] {
        ["store", "away"].map(|name| self.dir.path().join(name))
    }

    /// A write with these texts got an answer: it is held or not.
    fn wrote(&mut self, texts: Texts, held: Result<bool>) {
        match held {
            Ok(true) => {
                assert!(self.fails, "{texts:?} are held by a store that works");
                self.held.extend(texts.into_iter().map(|text| (text, true)));
            }
            Ok(false) => {
                assert!(
                    !self.fails && !self.is_elsewhere,
                    "{texts:?} are not on the run's lineage"
                );
                self.there.extend(texts);
            }
            Err(error) => {
                let active = matches!(error.detail(), Some(Detail::Active { .. }));
                assert!(active && self.is_elsewhere && !self.fails, "{texts:?}: {error}");
            }
        }
    }

    fn say(&mut self, n: u64) {
        let message = Message::text("user", &format!("message {n}"));
        let text = format!("{:?}", message.content);
        let done = self.run.append(message);
        let held = done.map(|done| matches!(done, Accepted::Buffered { .. }));
        self.wrote(vec![text], held);
    }

    fn step(&mut self, n: u64) {
        let started = StepStarted { step: n, ..StepStarted::default() };
        let begun = self.run.start_step(started);
        let held = begun.map(|done| matches!(done, Accepted::Buffered { .. }));
        let went = held.is_ok();
        self.wrote(vec![format!("step {n}")], held);
        if went {
            let finished = StepFinished { step: n, ..StepFinished::default() };
            let held = self.run.finish_step(finished).map(|marked| marked.is_none());
            self.wrote(vec![format!("end of step {n}")], held);
        }
    }

    /// Work that is done once, asked for twice. It waits for the store while that fails.
    fn once(&mut self, n: u64) {
        if self.fails || self.is_elsewhere {
            return;
        }
        let mut results = Vec::new();
        for _ in 0..2 {
            let work = || {
                self.worked += 1;
                Ok::<_, Error>(format!("work {n}"))
            };
            results.push(self.run.once(&format!("key {n}"), work).unwrap());
        }
        assert_eq!(results, vec![format!("work {n}"); 2]);
        let data = milepost::Json::from_value(&results[0]).unwrap();
        self.there.push(format!("{:?}", milepost::events::Data::Json(data)));
    }

    /// The store is closed and cannot be opened, which an append finds.
    fn fail(&mut self, n: u64) {
        if self.fails {
            return;
        }
        let [store, away] = self.places();
        self.store.engine().unwrap().close().unwrap();
        fs::rename(store, away).unwrap();
        self.fails = true;
        let found = Message::text("user", &format!("failure {n}"));
        self.held.push((format!("{:?}", found.content), false));
        let held = self.store.append("t", found).unwrap();
        assert_eq!(held, Accepted::Buffered { pending: 1 });
    }

    /// The store can be opened again, and is.
    fn heal(&mut self) {
        if !self.fails {
            return;
        }
        let [store, away] = self.places();
        fs::rename(away, store).unwrap();
        self.fails = false;
        self.store.retry_now();
        assert!(self.store.wait_healthy(Duration::MAX), "{:?}", self.store.health());
        for (text, of_run) in self.held.drain(..) {
            match of_run && self.is_elsewhere {
                true => self.refused += 1,
                false => self.there.push(text),
            }
        }
        self.check();
    }

    /// Another program restores to after some text.
    fn restore(&mut self, random: &mut Random) {
        let [_, away] = self.places();
        let engine = match self.fails {
            true => Engine::open(&away, Options::default()).unwrap(),
            false => self.store.engine().unwrap(),
        };
        let task = engine.task("t").unwrap();
        let texts = texts_of(&task);
        assert_eq!(texts.iter().map(|(text, _)| text.clone()).collect::<Texts>(), self.there);
        let keep = random.below(texts.len() as u64 + 1) as usize;
        let at = keep.checked_sub(1).map_or(1, |last| texts[last].1);
        engine.restore(&task.point(at).unwrap()).scope(Scope::State).run().unwrap();
        self.there.truncate(keep);
        self.is_elsewhere = true;
        if self.fails {
            drop(task);
            engine.close().unwrap();
        }
    }

    /// A safe point tells the run that it is elsewhere, and not again.
    fn safe_point(&mut self) {
        if self.fails {
            // The run continues unchanged.
            assert_eq!(self.run.safe_point().unwrap(), SafePoint::Go);
            return;
        }
        let point = self.run.safe_point().unwrap();
        let active = self.store.engine().unwrap().task("t").unwrap().lineage().id();
        if self.is_elsewhere {
            assert_eq!(point, SafePoint::Elsewhere(active));
            self.is_elsewhere = false;
            if self.run.state().unwrap().control != milepost::events::RunControl::Running {
                self.run.begin().unwrap();
            }
            assert_eq!(self.run.safe_point().unwrap(), SafePoint::Go);
        } else {
            assert_eq!(point, SafePoint::Go, "on lineage {active}");
        }
    }

    fn check(&self) {
        let engine = self.store.engine().unwrap();
        let texts = texts_of(&engine.task("t").unwrap()).into_iter().map(|(text, _)| text);
        assert_eq!(texts.collect::<Texts>(), self.there, "I1, I14: once, and in order");
        let stats = self.store.stats();
        assert_eq!(stats.refused, self.refused, "{stats:?}");
        assert_eq!(stats.buffered, stats.drained + stats.refused, "{stats:?}");
    }
}

#[test]
fn what_a_run_was_told_is_there_once_over_failures_reopenings_and_restores_from_outside() {
    let first = seed();
    for case in 0..number("MILEPOST_CASES").unwrap_or(12) {
        let seed = first.wrapping_add(case);
        println!("case {seed}");
        let mut random = Random::new(seed);
        let mut running = Running::new();
        for n in 0..60 {
            match random.below(16) {
                0..=4 => running.say(n),
                5..=7 => running.step(n),
                8 | 9 => running.once(n),
                10 => running.fail(n),
                11 | 12 => running.heal(),
                13 => running.restore(&mut random),
                _ => running.safe_point(),
            }
        }
        running.heal();
        running.safe_point();
        running.check();
        let engine = running.store.engine().unwrap();
        assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
    }
}
