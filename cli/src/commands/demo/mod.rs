//! `demo`: an optimizer records itself, is paused, guided and killed, resumes, and restores an
//! earlier checkpoint, from which it does better.
//!
//! ```text
//! optimizer  an evolution strategy on a hard function
//! run        its iterations as events, and its state from a point
//! child      the process that is killed, and the pipe to it
//! report     output
//! ```

mod child;
mod optimizer;
mod report;
mod run;

use std::path::{Path, PathBuf};

use milepost::clock::{Clock, SystemClock};
use milepost::{Engine, ErrorKind, LineageId, Options, Point, Task};

use self::child::Worker;
use self::report::{Report, Scored};
use self::run::{Acknowledged, DemoRun, label, optimizer_at};
use super::command::{CliCommand, Examples, Run};
use crate::error::{Failure, Result};
use crate::output::{Out, count};
use crate::store_locator::{StoreArgs, made_at, open_at};

/// Step size at the beginning of the run.
const FIRST_STEP_SIZE: f64 = 0.25;
/// Iterations after which the run is paused and guided.
const PAUSE_AT: u64 = 600;
const FIRST_GUIDANCE: (&str, f64) = ("it looks close: take small, careful steps", 0.02);
/// Iterations after which the run is killed.
const KILL_AT: u64 = 1150;
/// Iterations of the first attempt.
const UNTIL: u64 = 2000;
/// Iteration from which the second attempt starts.
const BACK_TO: u64 = 500;
const SECOND_GUIDANCE: (&str, f64) = ("it was stuck: take large steps first", 0.8);
const SECOND_UNTIL: u64 = BACK_TO + 2000;

pub use child::worker;

/// Watch an optimizer record itself, be killed, continue, and go back to do better.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// The seed of the optimizer: the same seed gives the same results.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl CliCommand for DemoArgs {
    const EXAMPLES: Examples = &[("demo --seed 7", "watch another run of it")];
    const RUN: Run<Self> = Run::Alone(run);
}

/// The child process of `demo`.
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct DemoWorkerArgs {
    #[arg(long)]
    pub task: String,
    #[arg(long)]
    pub seed: u64,
    #[arg(long)]
    pub pause_at: u64,
    #[arg(long)]
    pub until: u64,
}

impl CliCommand for DemoWorkerArgs {
    const EXAMPLES: Examples = &[];
    const RUN: Run<Self> = Run::Alone(|store, args, _| worker(store, args));
}

fn run(choice: &StoreArgs, args: &DemoArgs, out: &mut Out) -> Result<()> {
    let dir = place(choice)?;
    let name = free_name(choice, &dir)?;
    let mut report = Report::new(dir.clone(), args.seed, choice.dir.is_none(), out)?;
    let order = DemoWorkerArgs { task: name, seed: args.seed, pause_at: PAUSE_AT, until: UNTIL };
    let worker = Worker::start(&dir, choice.key_file.as_deref(), &order)?;
    let acknowledged = first_half(worker, &mut report)?;
    let name = order.task;

    let mut clock = Stopwatch::start();
    let engine = open_at(&dir, choice.options(Options::default().create(false))?)?;
    let reopened = clock.lap();
    let task = engine.task(&name)?;
    let lost = count_lost(&task, &engine, &acknowledged)?;
    report.reopened(reopened, &acknowledged, lost, clock.lap())?;

    let stuck = pick_up(&engine, &task, &mut report)?;
    let better = roll_back(&engine, &name, &mut report)?;
    let checked = engine.integrity().verify(Some(&name), &mut |_, _| {})?;
    report.verified(checked.events, checked.faults.len(), clock.lap())?;
    let lineages = scores(&engine, &name)?;
    engine.close()?;
    report.end(&name, &lineages, (stuck, better), lost)?;
    if lost > 0 || !checked.faults.is_empty() {
        let (lost, faults) = (count(lost, "event"), checked.faults.len() as u64);
        let message = format!("{lost} lost, {}", count(faults, "fault"));
        return Err(Failure::new(message).code_of(crate::error::CORRUPT));
    }
    Ok(())
}

/// Returns the store that was named, or a new temporary folder.
fn place(choice: &StoreArgs) -> Result<PathBuf> {
    if let Some(dir) = &choice.dir {
        choice.check_owner(dir)?;
        return Ok(dir.clone());
    }
    let name = format!("milepost-demo-{}-{}", std::process::id(), SystemClock.now_us());
    Ok(std::env::temp_dir().join(name))
}

/// Returns a name that no task of the store has.
fn free_name(choice: &StoreArgs, dir: &Path) -> Result<String> {
    let engine = made_at(dir, choice.options(Options::default())?)?;
    let mut name = "demo".to_owned();
    let mut number = 1;
    loop {
        match engine.task(&name) {
            Err(error) if error.kind() == ErrorKind::NotFound => break,
            task => drop(task?),
        }
        number += 1;
        name = format!("demo-{number}");
    }
    engine.close()?;
    Ok(name)
}

/// Runs the child process until it is killed. Returns the appends that it reported as durable.
fn first_half(mut worker: Worker, report: &mut Report<'_>) -> Result<Vec<Acknowledged>> {
    let mut clock = Stopwatch::start();
    let paused = worker.wait_for_pause()?;
    report.paused(paused, clock.lap())?;
    worker.guide(FIRST_GUIDANCE.0, FIRST_GUIDANCE.1)?;
    report.guided(FIRST_GUIDANCE)?;
    worker.wait_for_iteration(KILL_AT)?;
    worker.kill()?;
    report.killed(KILL_AT, clock.lap())?;
    Ok(std::mem::take(&mut worker.acknowledged))
}

/// Counts acknowledged events that the log does not have in the acknowledged form. The chain hash
/// after an event commits to it and to every event before it.
fn count_lost(task: &Task, engine: &Engine, acknowledged: &[Acknowledged]) -> Result<u64> {
    let head = task.head()?.next;
    let mut lost = 0;
    for one in acknowledged {
        let next = one.offset + 1;
        if next > head || engine.hash_at(&task.point(next)?)? != one.hash {
            lost += one.events;
        }
    }
    Ok(lost)
}

/// Resumes from the last checkpoint, and runs to the end of the first attempt. Returns the score.
fn pick_up(engine: &Engine, task: &Task, report: &mut Report<'_>) -> Result<f64> {
    let mut clock = Stopwatch::start();
    let checkpoint = task
        .last_successful()?
        .ok_or_else(|| Failure::new("the killed run has no checkpoint to go on from"))?;
    let point = task.point(checkpoint.at)?;
    let task = engine.restore(&point).description("picked up after the kill").run()?;
    let mut run = DemoRun::take_up(engine, task.lineage().clone(), &point)?;
    report.picked_up(run.optimizer.iteration, clock.lap())?;
    run.until(UNTIL, |_| Ok(()))?;
    run.end()?;
    report.ended(UNTIL, run.optimizer.score(), clock.lap())?;
    Ok(run.optimizer.score())
}

/// Restores an earlier checkpoint, takes other guidance, and runs from there. Returns the score.
fn roll_back(engine: &Engine, name: &str, report: &mut Report<'_>) -> Result<f64> {
    let mut clock = Stopwatch::start();
    let point = engine.point(&format!("{name}@{}", label(BACK_TO)))?;
    let task = engine.restore(&point).description("with larger steps").run()?;
    let mut run = DemoRun::take_up(engine, task.lineage().clone(), &point)?;
    report.rolled_back(BACK_TO, clock.lap())?;
    run.guide(SECOND_GUIDANCE.0, SECOND_GUIDANCE.1)?;
    report.guided(SECOND_GUIDANCE)?;
    run.until(SECOND_UNTIL, |_| Ok(()))?;
    run.end()?;
    report.ended(SECOND_UNTIL, run.optimizer.score(), clock.lap())?;
    Ok(run.optimizer.score())
}

/// Returns the lineages, each with the score of the state at its head.
fn scores(engine: &Engine, name: &str) -> Result<Vec<Scored>> {
    let task = engine.task(name)?;
    let scored = task.lineages()?.into_iter().map(|info| {
        let point: Point = task.lineage_named(info.id)?.point(info.head.next)?;
        let optimizer = optimizer_at(engine, &point)?;
        Ok(Scored { info, score: optimizer.score(), iteration: optimizer.iteration })
    });
    scored.collect()
}

/// Returns `true` for the lineage that was killed.
fn is_first(lineage: LineageId) -> bool {
    lineage == LineageId(0)
}

/// Measures elapsed time in microseconds.
struct Stopwatch(u64);

impl Stopwatch {
    fn start() -> Self {
        Self(SystemClock.now_us())
    }

    /// Returns the time since the start or the last lap.
    fn lap(&mut self) -> u64 {
        let now = SystemClock.now_us();
        let lap = now.saturating_sub(self.0);
        self.0 = now;
        lap
    }
}
