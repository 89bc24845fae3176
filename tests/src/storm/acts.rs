//! Does steps on an open store, one after another or in the middle of others.

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use milepost::integrity::Anchor;
use milepost::retention::CompactionStep;
use milepost::{Engine, ErrorKind, Options};
use milepost_runtime::failover::FailoverEngine;

use super::begun::Begun;
use super::call::{Call, Done, Failed};
use super::carry;
use super::check::{check, verify};
use super::clock::SetClock;
use super::count::Count;
use super::fork::adopt;
use super::lines;
use super::model::Model;
use super::more::More;
use super::part::Refusing;
use super::program::{At, How, Life, Op, Step, Who};
use super::report::Counts;
use super::resolve::{self, name, resolve};
use super::run::{perform, supervised};
use super::watch::Watch;

/// An open store that is worked on, and its model.
#[derive(Debug, Default)]
pub struct Acts {
    pub root: PathBuf,
    pub tiny: bool,
    /// The reducer of an embedder, where this life has it.
    pub count: Option<Count>,
    pub engine: Option<Engine>,
    /// The failover engine, if one opened the engine.
    pub supervisor: Option<FailoverEngine>,
    /// Anchors that were taken.
    pub anchors: Mutex<Vec<Anchor>>,
    /// Number of folders created next to the store.
    pub beside: AtomicU64,
    pub watches: Mutex<Vec<Watch>>,
    pub model: Mutex<Model>,
    pub counts: Mutex<Counts>,
    pub more: Mutex<More>,
    pub clock: Arc<SetClock>,
    /// File of calls and answers: calls may be made to fail here.
    pub lines: Option<Mutex<File>>,
    /// Other threads work on the store.
    pub threaded: AtomicBool,
    /// A call failed as it may where the disk does: nothing more is done.
    pub failed: AtomicBool,
    /// One at a time starts, cleans up or deletes tasks.
    pub names: Mutex<()>,
}

/// Anchors that a store is compared with.
const ANCHORS: usize = 4;

/// Returns `true` if a call failed as it may where the disk does.
pub fn is_of_disk(failed: &Failed) -> bool {
    const ALL: [ErrorKind; 3] = [ErrorKind::Poisoned, ErrorKind::Unavailable, ErrorKind::Corrupt];
    ALL.iter().any(|kind| failed.is(*kind))
}

/// A lock, whatever became of the thread that had it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Acts {
    pub fn engine(&self) -> Engine {
        self.engine.clone().unwrap()
    }

    pub fn options(&self) -> Options {
        let mut options = Options::default();
        if self.tiny {
            options = options.backlog_bytes(1 << 20).cache_bytes(1 << 20);
        }
        if let Some(count) = &self.count {
            options = options.reducer(count.clone());
        }
        let refuses = Arc::clone(&lock(&self.more).refuses);
        let clock: Arc<SetClock> = Arc::clone(&self.clock);
        options = options.clock(clock);
        options.hook(Arc::new(Refusing(refuses)))
    }

    pub fn check(&self, when: &str) -> Result<(), String> {
        let engine = self.engine();
        let mut model = lock(&self.model);
        check(&engine, &mut model, self.count.as_ref()).map_err(|e| format!("{when}: {e}"))?;
        drop(model);
        for anchor in lock(&self.anchors).iter() {
            let faults = engine.integrity().verify_anchor(anchor);
            let faults = faults.map_err(|e| format!("{when}: an anchor: {e}"))?;
            if let Some(first) = faults.first() {
                return Err(format!("{when}: it is behind an anchor: {first:?}"));
            }
        }
        lock(&self.counts).checks += 1;
        verify(&engine).map_err(|e| format!("{when}: {e}"))
    }

    pub fn step(&self, step: &Step) -> Result<(), String> {
        if self.failed.load(Ordering::SeqCst) {
            return Ok(());
        }
        lock(&self.counts).operations += 1;
        match &step.op {
            // An answer may be an error where calls are made to fail.
            Op::Check | Op::Watch { .. } | Op::Look(_) | Op::Carry { .. } | Op::Anchor
                if self.lines.is_some() =>
            {
                return Ok(());
            }
            Op::Anchor => {
                let anchor = self.engine().integrity().anchor();
                let mut anchors = lock(&self.anchors);
                anchors.push(anchor.map_err(|e| format!("an anchor: {e}"))?);
                if anchors.len() > ANCHORS {
                    anchors.remove(0);
                }
                return Ok(());
            }
            Op::Clock(hours) => {
                self.clock.set(*hours);
                return Ok(());
            }
            Op::Carry { copy } => return self.carry(step.task, *copy),
            Op::Check => return self.check("check"),
            Op::Compact { at, beside } => return self.compact(*at, beside),
            Op::Watch { who, from, how } => return self.watch(step.task, *who, *from, *how),
            Op::Look(n) => return self.look(*n),
            op if self.more(step.task, op)? => return Ok(()),
            _ => {}
        }
        let carried = match &step.op {
            Op::Cleanup { .. } => self.attached_tasks(),
            _ => Vec::new(),
        };
        if !carried.is_empty() && (self.lines.is_some() || self.threaded.load(Ordering::SeqCst)) {
            // The content of its appends would be unknown.
            return Ok(());
        }
        let before = self.stored(step);
        let calls = resolve(step, &mut lock(&self.model));
        match &step.op {
            Op::Cleanup { beside, .. } if !beside.is_empty() => {
                calls.iter().try_for_each(|call| self.cleanup(call, beside))
            }
            _ => calls.iter().try_for_each(|call| self.call(call)),
        }?;
        self.wait_stored(step, before);
        carried.iter().try_for_each(|name| self.sync(name))
    }

    /// Tasks with attached data, which a cleanup may append again.
    fn attached_tasks(&self) -> Vec<String> {
        let model = lock(&self.model);
        let all = model.tasks.iter().filter(|(_, task)| task.live && !task.attached.is_empty());
        all.map(|(name, _)| name.clone()).collect()
    }

    /// Runs the steps of a life on a number of threads.
    pub fn threads(&self, life: &Life, threads: u8) -> Result<(), String> {
        self.threaded.store(true, Ordering::SeqCst);
        let threads = usize::from(threads.max(1));
        let first = Mutex::new(Ok(()));
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let first = &first;
                scope.spawn(move || {
                    let mine = life.steps.iter().enumerate().skip(thread);
                    let mine = mine.step_by(threads);
                    for (k, step) in mine.filter(|(_, step)| may_cross(&step.op)) {
                        let done = match lock(first).is_ok() {
                            true => self.step(step),
                            false => return,
                        };
                        if let Err(error) = done {
                            *lock(first) = Err(format!("step {k}: {error}"));
                        }
                    }
                });
            }
        });
        self.threaded.store(false, Ordering::SeqCst);
        lock(&first).clone()
    }

    /// Takes from the store what calls that were under way together left open.
    pub fn adopt(&self, exactly: bool) -> Result<(), String> {
        adopt(&self.engine(), &mut lock(&self.model), exactly)
    }

    /// Returns the number of stored states, for a step that stores some.
    fn stored(&self, step: &Step) -> Option<u64> {
        let counts = step.op == Op::Snapshots && self.count.is_some();
        let stats = counts.then(|| self.engine().store().stats());
        stats?.ok().map(|stats| stats.snapshots)
    }

    fn wait_stored(&self, step: &Step, before: Option<u64>) {
        let Some(before) = before else { return };
        for _ in 0..200 {
            let stored = self.engine().store().stats().map_or(0, |stats| stats.snapshots);
            // One of each reducer.
            if stored >= before + 2 {
                let mut model = lock(&self.model);
                if let Some(task) = model.tasks.get_mut(&name(step.task)) {
                    let active = task.active();
                    let head = task.lineages.get(&active).map_or(0, |lineage| lineage.head);
                    task.counted.insert(active, head);
                }
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn watch(&self, task: u8, who: Who, from: u16, how: How) -> Result<(), String> {
        let (engine, name) = (self.engine(), name(task));
        let model = lock(&self.model);
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
        lock(&self.watches).push(watch);
        Ok(())
    }

    fn carry(&self, task: u8, copies: bool) -> Result<(), String> {
        let (engine, name) = (self.engine(), name(task));
        let quiet = {
            let model = lock(&self.model);
            if model.live_task(&name).is_none() {
                return Ok(());
            }
            !self.threaded.load(Ordering::SeqCst)
        };
        let n = self.beside.fetch_add(1, Ordering::SeqCst);
        if copies {
            let done = carry::copy(&engine, &name, &format!("copy-{n}"), quiet);
            return done.map_err(|e| format!("a copy of {name}: {e}"));
        }
        let to = self.root.with_extension(format!("carried-{n}"));
        let keyed = if quiet { self.keyed(&name) } else { Vec::new() };
        let done = carry::carry(&engine, &name, &to, quiet, &keyed);
        let _ = std::fs::remove_dir_all(&to);
        done.map_err(|e| format!("task {name} carried: {e}"))
    }

    fn look(&self, n: u8) -> Result<(), String> {
        let model = lock(&self.model);
        let mut watches = lock(&self.watches);
        let at = usize::from(n).checked_rem(watches.len());
        at.map_or(Ok(()), |at| watches[at].look(&model))
    }

    fn call(&self, call: &Call) -> Result<(), String> {
        if self.failed.load(Ordering::SeqCst) {
            return Ok(());
        }
        let alone = matches!(call, Call::Start { .. } | Call::Delete { .. } | Call::Cleanup { .. });
        let _one = alone.then(|| lock(&self.names));
        let begun = self.begin(call);
        let got = match (&self.supervisor, call) {
            (Some(supervisor), Call::Append(adding)) if adding.is_plain() => {
                supervised(supervisor, &self.engine(), adding)
            }
            _ => perform(&self.engine(), call),
        };
        let got = got.map_err(|e| Failed::of(&e));
        self.ended(call, &got, begun)
    }

    fn begin(&self, call: &Call) -> Begun {
        let mut model = lock(&self.model);
        let begun = Begun::now(&mut model, call);
        if let Some(file) = &self.lines {
            lines::begun(&mut lock(file), begun.id, call);
        }
        begun
    }

    fn ended(&self, call: &Call, got: &Result<Done, Failed>, begun: Begun) -> Result<(), String> {
        let mut model = lock(&self.model);
        if let Some(file) = &self.lines {
            lines::ended(&mut lock(file), begun.id, got);
            if got.as_ref().is_err_and(is_of_disk) {
                self.failed.store(true, Ordering::SeqCst);
                return Ok(());
            }
        }
        begun.end(&mut model, call, got, self.count.is_some())
    }

    /// A step that does not wait for a cleanup: a task that is not there is not started.
    fn in_a_fold(&self, step: &Step) -> Result<(), String> {
        let calls = resolve(step, &mut lock(&self.model));
        let append = |call: &&Call| matches!(call, Call::Append(_) | Call::Mark { .. });
        let mut calls = calls.iter().filter(append);
        calls.try_for_each(|call| self.call(call))
    }

    /// Cleans up; other steps are done while it folds a state.
    fn cleanup(&self, call: &Call, beside: &[Step]) -> Result<(), String> {
        let Some(count) = &self.count else {
            return self.call(call);
        };
        let begun = self.begin(call);
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
                aside = beside.iter().try_for_each(|step| self.in_a_fold(step));
            }
            drop(stopped);
            (cleaning.join().unwrap(), aside)
        });
        aside.map_err(|e| format!("beside a cleanup: {e}"))?;
        self.ended(call, &got, begun)
    }

    fn compact(&self, at: At, beside: &[Step]) -> Result<(), String> {
        let withdrawn = self.withdrawn();
        let (mut reports, mut done, mut result) = (0, false, Ok(()));
        let compacted = self.engine().retention().compact(&mut |report| {
            let here = match at {
                At::Number(number) => reports == number,
                At::Sled => matches!(report, CompactionStep::Sled(..)),
            };
            if here && !done {
                done = true;
                result = beside.iter().try_for_each(|step| self.step(step));
            }
            reports += 1;
        });
        result.map_err(|e| format!("beside a compaction: {e}"))?;
        match compacted.map_err(|e| Failed::of(&e)) {
            Err(failed) if self.lines.is_some() && is_of_disk(&failed) => {
                self.failed.store(true, Ordering::SeqCst);
                Ok(())
            }
            // Another thread compacts.
            Err(failed) if failed.is(ErrorKind::Conflict) => Ok(()),
            Err(failed) => Err(format!("compact: {failed:?}")),
            Ok(_) => self.search(&withdrawn),
        }
    }
}

/// Returns `true` if a step may run concurrently with any other. Removals of named checkpoints may
/// not: the model would not know what a concurrent cleanup had to keep.
fn may_cross(op: &Op) -> bool {
    !matches!(op, Op::Check | Op::Pin(_) | Op::RemoveMark(_))
}
