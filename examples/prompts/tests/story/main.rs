//! Promises of the optimizer.
//!
//! ```text
//! criteria.rs  the acceptance criteria of checkpoints that save themselves, by their numbers
//! people.rs    pauses, guidance, edits, going back
//! killed.rs    kills, and what is asked twice
//! ```
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "tests")]

mod criteria;
mod killed;
mod people;

use std::sync::Arc;

use milepost::clock::ManualClock;
use milepost::query::CheckpointQuery;
use milepost::state::StepStatus;
use milepost::{Body, Checkpoint, Engine, Options, RunState, Task};
use milepost_example_prompts::{Brief, End, Optimizer, Place, Told, View, options, start};
use milepost_runtime::run::Run;

const ROUNDS: u64 = 3;
const LAYERS: u64 = 4;

/// As the program has it.
fn brief() -> Brief {
    Brief { prompt: "Help the customer.".into(), rounds: ROUNDS, seed: 7 }
}

/// An engine in memory whose clock the test moves.
fn engine() -> (Engine, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(1_700_000_000_000_000));
    let options = Options::default().clock(clock.clone());
    (Engine::in_memory(options).unwrap(), clock)
}

/// Begins a run of a new task without autosave.
fn new_run(engine: &Engine) -> Run {
    let task = start(engine, "prompts", "ana", &brief()).unwrap();
    let options = options().correlation("req-7").autosave_after(None);
    Run::of(task, options).unwrap()
}

/// A run of the task that is there.
fn run_again(engine: &Engine) -> Run {
    let task = engine.task("prompts").unwrap();
    Run::of(task, options().autosave_after(None)).unwrap()
}

/// Lets a run go to its end; the checkpoints of its layers.
fn go(engine: &Engine, run: &Run) -> Vec<(Place, Checkpoint)> {
    let mut ends = Vec::new();
    let mut optimizer = Optimizer::take_up(engine, run).unwrap().tell(|told| {
        if let Told::Finished { place, checkpoint, .. } = told {
            ends.push((*place, checkpoint.unwrap().clone()));
        }
        Ok(())
    });
    assert_eq!(optimizer.go().unwrap(), End::Done);
    drop(optimizer);
    ends
}

/// Prompt and score at the end.
fn end(engine: &Engine) -> (String, Option<u64>) {
    let view = View::of(engine, &run_again(engine)).unwrap();
    assert_eq!(view.next(), None, "all rounds are done");
    (view.prompt.clone(), view.score())
}

/// Returns the end of an uninterrupted run, and its number of answers.
fn uninterrupted() -> ((String, Option<u64>), u64) {
    let (engine, _) = engine();
    let run = new_run(&engine);
    go(&engine, &run);
    (end(&engine), answers(&run.task()))
}

/// Counts the answers of the model in the lineage.
fn answers(task: &Task) -> u64 {
    let events = task.read(0..).unwrap().map(|event| event.unwrap().body);
    let once = |body: &Option<Body>| match body {
        Some(Body::Application(event)) => event.name == "milepost.once",
        _ => false,
    };
    events.filter(once).count() as u64
}

/// Returns the newest checkpoints, at most `limit`.
fn checkpoints(engine: &Engine, limit: usize) -> Vec<Checkpoint> {
    let query = CheckpointQuery {
        task: Some("prompts".into()),
        limit: Some(limit),
        ..CheckpointQuery::default()
    };
    engine.query().checkpoints(&query).unwrap().items
}

fn at(engine: &Engine, checkpoint: &Checkpoint) -> RunState {
    let point = engine.point(&format!("@{}", checkpoint.id)).unwrap();
    engine.run_state(&point).unwrap()
}

/// Returns the checkpoint at the end of a step, and the state there.
fn at_the_end_of(engine: &Engine, step: u64) -> (Checkpoint, View) {
    let is_end = |mark: &&Checkpoint| {
        let at = at(engine, mark).step;
        at.is_some_and(|at| (at.number, at.status) == (step, StepStatus::Finished))
    };
    // The change to the next phase is a checkpoint too: the end is the older one.
    let mark = checkpoints(engine, 1000);
    let mark = mark.iter().rfind(is_end).unwrap().clone();
    let view = View::at(engine, at(engine, &mark)).unwrap();
    (mark, view)
}
