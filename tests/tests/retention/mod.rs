//! Retention: kept content can be restored and verified, removed content is gone (I10, I14).
//!
//! ```text
//! marks.rs   which checkpoints go, pins, removal by id
//! trims.rs   which events go, and what is left in their place
//! deletes.rs tasks that are deleted
//! erases.rs  bodies that are erased
//! chosen.rs  cleanups that keep a set of checkpoints, or what is behind a point
//! compacts.rs what leaves the disk
//! steps.rs   removed checkpoints whose steps are erased with them
//! states.rs  states of all checkpoints, in one pass
//! repeated.rs what bodies have in common
//! pieces.rs  messages of states, which are made again of events
//! model.rs   random runs against a plain model
//! ```

mod chosen;
mod compacts;
mod deletes;
mod erases;
mod marks;
mod model;
mod pieces;
mod repeated;
mod states;
mod steps;
mod trims;

use milepost::events::Message;
use milepost::query::CheckpointQuery;
use milepost::state::RunReducer;
use milepost::{Checkpoint, Engine, Mark, Reducer, Task};
use milepost_tests::bodies;

fn message(n: u64) -> Message {
    Message::text("user", &bodies::text(n, 40))
}

/// Appends a few messages and marks a checkpoint behind them.
fn step(task: &Task, n: u64) -> Checkpoint {
    for k in 0..3 {
        task.append(message(n * 10 + k)).unwrap();
    }
    task.checkpoint(Mark::new().label(format!("c-{n}"))).unwrap()
}

/// The labels of a task's checkpoints, newest first.
fn labels(engine: &Engine, task: &str) -> Vec<String> {
    let query = CheckpointQuery {
        task: Some(task.into()),
        limit: Some(10_000),
        ..CheckpointQuery::default()
    };
    let page = engine.query().checkpoints(&query).unwrap();
    page.items.into_iter().map(|c| c.label.unwrap()).collect()
}

/// The state of a point as bytes.
fn state(engine: &Engine, address: &str) -> Vec<u8> {
    let state = engine.run_state(&engine.point(address).unwrap()).unwrap();
    RunReducer.encode(&state).unwrap()
}

fn assert_clean(engine: &Engine) {
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert_eq!(report.faults, []);
}
