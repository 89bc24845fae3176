//! Runs a program from its beginning to its end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use milepost::{Engine, Options};

use super::call::{Call, Done, Failed};
use super::check::{check, verify};
use super::count::Count;
use super::damage::damage;
use super::judge::{Answer, judge};
use super::model::Model;
use super::program::{End, How, Op, Program, Step, Who};
use super::report::Counts;
use super::resolve::{self, name, resolve};
use super::run::perform;
use super::watch::Watch;
use crate::folder;

/// A store that is worked on, and its model.
struct Storm {
    dir: tempfile::TempDir,
    root: PathBuf,
    tiny: bool,
    /// The reducer of an embedder, where this life has it.
    count: Option<Count>,
    copies: u64,
    engine: Option<Engine>,
    watches: Mutex<Vec<Watch>>,
    model: Mutex<Model>,
    counts: Mutex<Counts>,
}

/// Runs a program; an error says the first thing that is wrong.
pub fn run(program: &Program) -> (Counts, Result<(), String>) {
    let mut storm = Storm::new(program);
    let done = catch_unwind(AssertUnwindSafe(|| storm.live(program)));
    let done = done.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Err(format!("a panic: {}", text.unwrap_or_default()))
    });
    let mut counts = std::mem::take(&mut *storm.counts.lock().unwrap());
    counts.programs = 1;
    if let Ok(model) = storm.model.lock() {
        counts.acknowledged = model.acknowledged;
    }
    (counts, done)
}

impl Storm {
    fn new(program: &Program) -> Self {
        let dir = crate::faults::temp_dir();
        let root = dir.path().join("store");
        Self {
            dir,
            root,
            tiny: program.tiny,
            count: None,
            copies: 0,
            engine: None,
            watches: Mutex::default(),
            model: Mutex::default(),
            counts: Mutex::default(),
        }
    }

    fn engine(&self) -> Engine {
        self.engine.clone().unwrap()
    }

    fn options(&self) -> Options {
        let mut options = Options::default();
        if self.tiny {
            options = options.backlog_bytes(1 << 20).cache_bytes(1 << 20);
        }
        if let Some(count) = &self.count {
            options = options.reducer(count.clone());
        }
        options
    }

    fn open(&mut self, counted: bool) -> Result<(), String> {
        self.count = counted.then(Count::default);
        let engine =
            Engine::open(&self.root, self.options()).map_err(|e| format!("I1: open: {e}"))?;
        self.engine = Some(engine);
        self.check("opened")
    }

    fn check(&self, when: &str) -> Result<(), String> {
        let engine = self.engine();
        let mut model = self.model.lock().unwrap();
        check(&engine, &mut model, self.count.as_ref()).map_err(|e| format!("{when}: {e}"))?;
        drop(model);
        self.counts.lock().unwrap().checks += 1;
        verify(&engine).map_err(|e| format!("{when}: {e}"))
    }

    fn live(&mut self, program: &Program) -> Result<(), String> {
        for (n, life) in program.lives.iter().enumerate() {
            let at = |e| format!("life {n}: {e}");
            self.open(life.counted).map_err(at)?;
            for (k, step) in life.steps.iter().enumerate() {
                self.step(step)
                    .map_err(|e| format!("life {n}, step {k}: {e}"))?;
            }
            self.end(life.end).map_err(at)?;
            if life.end == End::Damage {
                return Ok(());
            }
        }
        self.open(true)?;
        self.end(End::Close)
    }

    fn end(&mut self, end: End) -> Result<(), String> {
        self.check("before the end")?;
        self.watches.lock().unwrap().clear();
        if end == End::Kill {
            self.copies += 1;
            self.counts.lock().unwrap().kills += 1;
            let killed = self.dir.path().join(format!("killed-{}", self.copies));
            folder::copy_store(&self.root, &killed).unwrap();
            self.engine.take();
            std::fs::remove_dir_all(&self.root).unwrap();
            self.root = killed;
            return Ok(());
        }
        let engine = self.engine.take().unwrap();
        engine.close().map_err(|e| format!("close: {e}"))?;
        if end == End::Damage {
            self.counts.lock().unwrap().faults += 1;
            let model = self.model.lock().unwrap();
            return damage(&self.root, self.options(), &model);
        }
        Ok(())
    }

    fn step(&self, step: &Step) -> Result<(), String> {
        self.counts.lock().unwrap().operations += 1;
        match &step.op {
            Op::Check => return self.check("check"),
            Op::Compact { at, beside } => return self.compact(*at, beside),
            Op::Watch { who, from, how } => return self.watch(step.task, *who, *from, *how),
            Op::Look(n) => return self.look(*n),
            _ => {}
        }
        let before = self.stored(step);
        let calls = resolve(step, &mut self.model.lock().unwrap());
        match &step.op {
            Op::Cleanup { beside, .. } if !beside.is_empty() => {
                calls.iter().try_for_each(|call| self.cleanup(call, beside))
            }
            _ => calls.iter().try_for_each(|call| self.call(call)),
        }?;
        self.wait_stored(step, before);
        Ok(())
    }

    /// How many states are stored, where a step is to store some.
    fn stored(&self, step: &Step) -> Option<u64> {
        let counts = step.op == Op::Snapshots && self.count.is_some();
        let stats = counts.then(|| self.engine().stats());
        stats?.ok().map(|stats| stats.snapshots)
    }

    fn wait_stored(&self, step: &Step, before: Option<u64>) {
        let Some(before) = before else { return };
        for _ in 0..200 {
            let stored = self.engine().stats().map_or(0, |stats| stats.snapshots);
            // One of each reducer.
            if stored >= before + 2 {
                let mut model = self.model.lock().unwrap();
                if let Some(task) = model.tasks.get_mut(&name(step.task)) {
                    let active = task.active();
                    task.counted.insert(active);
                }
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn watch(&self, task: u8, who: Who, from: u16, how: How) -> Result<(), String> {
        let (engine, name) = (self.engine(), name(task));
        let model = self.model.lock().unwrap();
        let Some(known) = model.live_task(&name) else {
            return Ok(());
        };
        let lineage = match how {
            How::Follower => known.active(),
            _ => resolve::lineage(known, who).unwrap_or_else(|| known.active()),
        };
        let Some(from) = resolve::offset(known, lineage, from) else {
            return Ok(());
        };
        let whose = (name.as_str(), known.generation);
        let watch = Watch::begin(&engine, whose, lineage, from, how);
        let watch = watch.map_err(|e| format!("{how:?} of {name}/{lineage} from {from}: {e}"))?;
        self.watches.lock().unwrap().push(watch);
        Ok(())
    }

    fn look(&self, n: u8) -> Result<(), String> {
        let model = self.model.lock().unwrap();
        let mut watches = self.watches.lock().unwrap();
        let at = usize::from(n).checked_rem(watches.len());
        at.map_or(Ok(()), |at| watches[at].look(&model))
    }

    fn call(&self, call: &Call) -> Result<(), String> {
        let (id, before) = self.begin();
        let got = perform(&self.engine(), call).map_err(|e| Failed::of(&e));
        self.ended(call, &got, id, before)
    }

    fn begin(&self) -> (u64, u64) {
        let mut model = self.model.lock().unwrap();
        (model.begin(true), model.marked)
    }

    fn ended(
        &self,
        call: &Call,
        got: &Result<Done, Failed>,
        id: u64,
        before: u64,
    ) -> Result<(), String> {
        let mut model = self.model.lock().unwrap();
        let crossed = model.end(id);
        let answer = Answer {
            call,
            got,
            crossed,
            before,
            counted: self.count.is_some(),
        };
        judge(&mut model, &answer)
    }

    /// Cleans up; other steps are done while it folds a state.
    fn cleanup(&self, call: &Call, beside: &[Step]) -> Result<(), String> {
        let Some(count) = &self.count else {
            return self.call(call);
        };
        let (id, before) = self.begin();
        let engine = self.engine();
        let stopped = count.stop_next();
        let (got, aside) = std::thread::scope(|scope| {
            let cleaning = scope.spawn(|| {
                let got = perform(&engine, call).map_err(|e| Failed::of(&e));
                // No fold began: it is not waited for any more.
                count.forget();
                got
            });
            let mut aside = Ok(());
            if stopped.begun.recv().is_ok() {
                aside = beside.iter().try_for_each(|step| self.step(step));
            }
            drop(stopped);
            (cleaning.join().unwrap(), aside)
        });
        aside.map_err(|e| format!("beside a cleanup: {e}"))?;
        self.ended(call, &got, id, before)
    }

    fn compact(&self, at: u8, beside: &[Step]) -> Result<(), String> {
        let (mut reports, mut result) = (0, Ok(()));
        let done = self.engine().compact(&mut |_| {
            if reports == at && result.is_ok() {
                result = beside.iter().try_for_each(|step| self.step(step));
            }
            reports += 1;
        });
        result.map_err(|e| format!("beside a compaction: {e}"))?;
        done.map_err(|e| format!("compact: {e}"))?;
        Ok(())
    }
}
