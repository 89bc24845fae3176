//! Runs a program from its beginning to its end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;

use milepost::{Engine, Options};

use super::call::{Call, Failed};
use super::check::{check, verify};
use super::judge::{Answer, judge};
use super::model::Model;
use super::program::{End, Op, Program, Step};
use super::report::Counts;
use super::resolve::resolve;
use super::run::perform;
use crate::folder;

/// A store that is worked on, and its model.
struct Storm {
    dir: tempfile::TempDir,
    root: PathBuf,
    tiny: bool,
    copies: u64,
    engine: Option<Engine>,
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
            copies: 0,
            engine: None,
            model: Mutex::default(),
            counts: Mutex::default(),
        }
    }

    fn engine(&self) -> Engine {
        self.engine.clone().unwrap()
    }

    fn open(&mut self) -> Result<(), String> {
        let mut options = Options::default();
        if self.tiny {
            options = options.backlog_bytes(1 << 20).cache_bytes(1 << 20);
        }
        let engine = Engine::open(&self.root, options).map_err(|e| format!("I1: open: {e}"))?;
        self.engine = Some(engine);
        self.check("opened")
    }

    fn check(&self, when: &str) -> Result<(), String> {
        let engine = self.engine();
        let mut model = self.model.lock().unwrap();
        check(&engine, &mut model).map_err(|e| format!("{when}: {e}"))?;
        drop(model);
        self.counts.lock().unwrap().checks += 1;
        verify(&engine).map_err(|e| format!("{when}: {e}"))
    }

    fn live(&mut self, program: &Program) -> Result<(), String> {
        for (n, life) in program.lives.iter().enumerate() {
            let at = |e| format!("life {n}: {e}");
            self.open().map_err(at)?;
            for (k, step) in life.steps.iter().enumerate() {
                self.step(step)
                    .map_err(|e| format!("life {n}, step {k}: {e}"))?;
            }
            self.end(life.end).map_err(at)?;
        }
        self.open()?;
        self.end(End::Close)
    }

    fn end(&mut self, end: End) -> Result<(), String> {
        self.check("before the end")?;
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
        engine.close().map_err(|e| format!("close: {e}"))
    }

    fn step(&self, step: &Step) -> Result<(), String> {
        self.counts.lock().unwrap().operations += 1;
        match &step.op {
            Op::Check => return self.check("check"),
            Op::Compact { at, beside } => return self.compact(*at, beside),
            _ => {}
        }
        let calls = resolve(step, &mut self.model.lock().unwrap());
        calls.iter().try_for_each(|call| self.call(call))
    }

    fn call(&self, call: &Call) -> Result<(), String> {
        let id = self.model.lock().unwrap().begin(true);
        let got = perform(&self.engine(), call).map_err(|e| Failed::of(&e));
        let mut model = self.model.lock().unwrap();
        let crossed = model.end(id);
        let answer = Answer {
            call,
            got: &got,
            crossed,
        };
        judge(&mut model, &answer)
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
