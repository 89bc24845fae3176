//! Minimizes Rosenbrock's function, and continues a run that was stopped.

use std::process::ExitCode;

use argmin::core::checkpointing::CheckpointingFrequency;
use argmin::core::observers::{Observe, ObserverMode};
use argmin::core::{Error, KV, State};
use milepost::{Engine, ErrorKind, Options};
use milepost_example_argmin::LogCheckpoint;
use milepost_example_argmin::rosenbrock::{self, Progress};

const USAGE: &str = "usage: milepost-example-argmin STORE [--stop-after N]";

/// The task that holds the run.
const TASK: &str = "rosenbrock";

/// A checkpoint is saved every `EVERY` iterations.
const EVERY: u64 = 10;

/// The command line arguments.
struct Args {
    store: String,
    stop_after: Option<u64>,
}

impl Args {
    fn parse(mut given: impl Iterator<Item = String>) -> Option<Self> {
        let (mut store, mut stop_after) = (None, None);
        while let Some(word) = given.next() {
            if word == "--stop-after" {
                stop_after = Some(given.next()?.parse().ok()?);
            } else if word.starts_with('-') || store.replace(word).is_some() {
                return None;
            }
        }
        let store = store?;
        Some(Self { store, stop_after })
    }
}

/// Reports progress, and aborts the process if requested.
struct Reporter {
    done: u64,
    stop_after: Option<u64>,
}

impl Observe<Progress> for Reporter {
    fn observe_iter(&mut self, state: &Progress, _: &KV) -> Result<(), Error> {
        // argmin calls this before it counts the iteration and saves. The process thus ends within
        // the iteration after the last requested one, like a crash.
        if self.stop_after.is_some_and(|wanted| self.done >= wanted) {
            println!("stopped hard");
            std::process::abort();
        }
        self.done += 1;
        let iteration = state.get_iter() + 1;
        if iteration.is_multiple_of(2 * EVERY) {
            println!("iteration {iteration:>3}   cost {:e}", state.get_best_cost());
        }
        Ok(())
    }
}

fn run(args: &Args) -> Result<(), Error> {
    let engine = Engine::open(&args.store, Options::default())?;
    let task = match engine.task(TASK) {
        Err(error) if error.kind() == ErrorKind::NotFound => engine.start_task(TASK, "ana")?,
        found => found?,
    };
    let lineage = task.lineage();
    match task.last_successful()?.and_then(|found| found.label) {
        Some(label) => println!("going on from {label}, in lineage {}", lineage.id()),
        None => println!("a new run"),
    }
    let checkpoint = LogCheckpoint::new(lineage, CheckpointingFrequency::Every(EVERY));
    let reporter = Reporter { done: 0, stop_after: args.stop_after };
    let result = rosenbrock::executor()
        .checkpointing(checkpoint)
        .add_observer(reporter, ObserverMode::Always)
        .run()?;
    let state = result.state;
    println!(
        "done: {} iterations, best cost {:e} at {:?}",
        state.get_iter(),
        state.get_best_cost(),
        state.get_best_param().map_or(&[][..], Vec::as_slice)
    );
    engine.close()?;
    let store = &args.store;
    println!("look at it:  milepost --store {store} checkpoints {TASK}");
    println!("             milepost --store {store} log {TASK}");
    println!("go back:     milepost --store {store} restore {TASK}@iteration-100");
    Ok(())
}

fn main() -> ExitCode {
    let Some(args) = Args::parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
