//! Features around the log for an iteration engine: control, automatic checkpoints, autosave,
//! durable steps, tools, hooks. The acceptance criteria of a checkpoint that saves itself are here
//! by their sentences.

mod audit;
mod autosave;
mod awaited;
mod control;
mod drive;
mod hooks;
mod kept;
mod once;
mod saves;
mod tools;

use std::sync::Arc;

use milepost::clock::ManualClock;
use milepost::{Engine, Options};
use milepost_runtime::run::{Run, RunOptions};

pub const MINUTE: u64 = 60 * 1_000_000;

/// An engine in memory whose clock the test moves.
pub fn engine() -> (Engine, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(1_700_000_000_000_000));
    let options = Options::default().clock(clock.clone());
    (Engine::in_memory(options).unwrap(), clock)
}

/// Begins a run of a new task `t` without autosave.
pub fn run(engine: &Engine, options: RunOptions) -> Run {
    let task = engine.start_task("t", "ana").unwrap();
    Run::of(task, options.autosave_after(None)).unwrap()
}
