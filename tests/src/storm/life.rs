//! Runs a program from its beginning to its end.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::acts::{Acts, lock};
use super::call::Call;
use super::damage::damage;
use super::fault;
use super::mend;
use super::program::{End, Life, Program, Schedule};
use super::reopen::Reopened;
use super::report::Counts;
use crate::folder;

/// The lives of a store.
struct Storm {
    dir: tempfile::TempDir,
    acts: Acts,
    copies: u64,
    /// Calls whose answers are not known: they were done or not.
    unknown: Vec<Call>,
    /// They were made where the reducer was there.
    unknown_counted: bool,
    /// The last life had no clean end.
    cut_short: bool,
    schedule: Schedule,
    seed: u64,
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
    let mut counts = *lock(&storm.acts.counts);
    counts.programs = 1;
    counts.acknowledged = lock(&storm.acts.model).acknowledged;
    (counts, done)
}

impl Storm {
    fn new(program: &Program) -> Self {
        let dir = crate::faults::temp_dir();
        let acts = Acts {
            root: dir.path().canonicalize().unwrap().join("store"),
            tiny: program.tiny,
            ..Acts::default()
        };
        lock(&acts.more).within = dir.path().canonicalize().unwrap();
        Self {
            dir,
            acts,
            copies: 0,
            unknown: Vec::new(),
            unknown_counted: false,
            cut_short: false,
            schedule: program.schedule,
            seed: program.seed,
        }
    }

    fn live(&mut self, program: &Program) -> Result<(), String> {
        for (n, life) in program.lives.iter().enumerate() {
            let at = |e| format!("life {n}: {e}");
            self.open(life).map_err(at)?;
            if let End::Fault(fault) = life.end {
                self.faulted(life, fault).map_err(at)?;
                continue;
            }
            self.steps(life).map_err(at)?;
            self.end(life.end).map_err(at)?;
            if life.end == End::Damage {
                return Ok(());
            }
        }
        let last = Life { counted: true, supervised: false, steps: Vec::new(), end: End::Close };
        self.open(&last)?;
        self.end(End::Close)
    }

    fn open(&mut self, life: &Life) -> Result<(), String> {
        let reopened = Reopened {
            counted: life.counted,
            supervised: life.supervised,
            unknown: std::mem::take(&mut self.unknown),
            unknown_counted: self.unknown_counted,
            cut_short: std::mem::take(&mut self.cut_short),
        };
        self.acts.reopen(reopened)
    }

    fn steps(&self, life: &Life) -> Result<(), String> {
        let numbered = life.steps.iter().enumerate();
        let Schedule::Threads(threads) = self.schedule else {
            let mut numbered = numbered;
            return numbered.try_for_each(|(k, step)| {
                self.acts.step(step).map_err(|e| format!("step {k}: {e}"))
            });
        };
        self.acts.threads(life, threads)?;
        self.acts.adopt(true)
    }

    fn end(&mut self, end: End) -> Result<(), String> {
        self.acts.check("before the end")?;
        match end {
            End::Close => self.acts.close(),
            End::Kill => {
                self.cut_short = true;
                self.copies += 1;
                lock(&self.acts.counts).kills += 1;
                let killed = self.dir.path().join(format!("killed-{}", self.copies));
                folder::copy_store(&self.acts.root, &killed).unwrap();
                lock(&self.acts.watches).clear();
                self.acts.engine.take();
                self.acts.supervisor.take();
                std::fs::remove_dir_all(&self.acts.root).unwrap();
                self.acts.root = killed;
                Ok(())
            }
            End::Damage => {
                self.acts.close()?;
                lock(&self.acts.counts).faults += 1;
                let model = lock(&self.acts.model);
                damage(&self.acts.root, self.acts.options(), &model)
            }
            End::Repair => {
                self.acts.close()?;
                self.copies += 1;
                let to = self.dir.path().join(format!("repaired-{}", self.copies));
                let options = self.acts.options();
                let done = mend::copied(&self.acts.root, &to, &options, &lock(&self.acts.model));
                let _ = std::fs::remove_dir_all(&to);
                done
            }
            End::Flip(at) => {
                self.acts.close()?;
                self.cut_short = true;
                lock(&self.acts.counts).faults += 1;
                mend::flipped(&self.acts.root, at, &self.acts.options())
            }
            End::NoSled => {
                self.acts.close()?;
                self.cut_short = true;
                lock(&self.acts.counts).faults += 1;
                folder::remove_sled(&self.acts.root).map_err(|e| e.to_string())
            }
            End::Fault(_) => Ok(()),
        }
    }

    /// Does the steps in a process of their own, in which calls fail, or which ends before its
    /// time.
    fn faulted(&mut self, life: &Life, fault: fault::Fault) -> Result<(), String> {
        self.acts.close()?;
        self.copies += 1;
        let within = self.dir.path().canonicalize().unwrap();
        let within = within.join(format!("faulted-{}", self.copies));
        std::fs::create_dir(&within).unwrap();
        let run = fault::Run {
            within: &within,
            life,
            fault,
            schedule: self.schedule,
            seed: self.seed.wrapping_add(self.copies),
        };
        let ended = run.run(&mut self.acts)?;
        self.unknown = ended;
        self.unknown_counted = life.counted;
        self.cut_short = true;
        Ok(())
    }
}
