//! A run that was killed, or restored, ends like an uninterrupted one: bit for bit.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "tests")]

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use argmin::core::State;
use argmin::core::checkpointing::{Checkpoint, CheckpointingFrequency};
use milepost::events::Message;
use milepost::events::{Application, Data, MarkCause};
use milepost::query::CheckpointQuery;
use milepost::{Engine, Error, ErrorKind, Mark};
use milepost::{LineageId, Options, Task};
use milepost_example_argmin::rosenbrock::{self, ITERATIONS, Progress, Simplex};
use milepost_example_argmin::{EVENT_NAME, LogCheckpoint};

/// The signal of `std::process::abort`.
const SIGABRT: i32 = 6;

/// The checkpoint of a task, every ten iterations.
fn checkpoint(task: &Task) -> LogCheckpoint {
    LogCheckpoint::new(task.lineage(), CheckpointingFrequency::Every(10))
}

fn load(task: &Task) -> Result<Option<(Simplex, Progress)>, argmin::core::Error> {
    checkpoint(task).load()
}

/// Runs a task from where it is to its end.
fn run(task: &Task) -> Progress {
    let executor = rosenbrock::executor().checkpointing(checkpoint(task));
    executor.run().unwrap().state
}

/// The end of a run that knows nothing of checkpoints.
fn uninterrupted() -> Progress {
    let state = rosenbrock::executor().run().unwrap().state;
    assert_eq!(state.get_iter(), ITERATIONS, "it does not converge before");
    state
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// Asserts that two runs ended with the same result, bit for bit.
fn assert_same_end(one: &Progress, other: &Progress) {
    assert_eq!(one.iter, other.iter);
    assert_eq!(one.best_cost.to_bits(), other.best_cost.to_bits());
    let best = |state: &Progress| bits(state.best_param.as_ref().unwrap());
    assert_eq!(best(one), best(other));
}

/// The labels of a lineage's own checkpoints, the oldest first.
fn labels(engine: &Engine, lineage: LineageId) -> Vec<String> {
    let query = CheckpointQuery {
        task: Some("rosenbrock".to_owned()),
        lineage: Some(lineage),
        limit: Some(1000),
        ..CheckpointQuery::default()
    };
    let found = engine.query().checkpoints(&query).unwrap().items;
    assert!(found.iter().all(|mark| mark.cause == MarkCause::Step));
    found.into_iter().rev().filter_map(|m| m.label).collect()
}

/// The labels of the checkpoints of these iterations.
fn every_ten(iterations: std::ops::RangeInclusive<u64>) -> Vec<String> {
    let saved = iterations.step_by(10);
    saved.map(|at| format!("iteration-{at}")).collect()
}

/// Starts the example's program.
fn program(store: &Path, stop_after: Option<u64>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_milepost-example-argmin"));
    command.arg(store);
    if let Some(wanted) = stop_after {
        command.args(["--stop-after", &wanted.to_string()]);
    }
    command.output().unwrap()
}

/// Runs the program to its end through kills after a number of iterations, and returns the number
/// of kills.
fn run_with_kills(store: &Path, stop_after: u64) -> u64 {
    for kills in 0..20 {
        let output = program(store, Some(stop_after));
        if output.status.success() {
            return kills;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(SIGABRT), "{said}");
    }
    panic!("it does not get on")
}

#[test]
fn a_run_that_is_killed_at_half_and_resumed_ends_as_one_that_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let killed = program(&store, Some(105));
    assert_eq!(killed.status.signal(), Some(SIGABRT), "{killed:?}");
    let resumed = program(&store, None);
    assert!(resumed.status.success(), "{resumed:?}");
    let said = String::from_utf8(resumed.stdout).unwrap();
    assert!(said.contains("going on from iteration-100"), "{said}");

    let engine = Engine::open(&store, Options::default()).unwrap();
    let task = engine.task("rosenbrock").unwrap();
    let (_, state) = load(&task).unwrap().unwrap();
    assert_same_end(&state, &uninterrupted());
    // Each was saved once: what was saved before the kill was not done again.
    let lineage = task.lineage().id();
    assert_eq!(labels(&engine, lineage), every_ten(10..=ITERATIONS));
}

#[test]
fn a_run_that_is_killed_again_and_again_ends_as_one_that_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    // Each process gets from 37 iterations 30 that are saved, the last one the 20 that are left.
    assert_eq!(run_with_kills(&store, 37), 6);
    let engine = Engine::open(&store, Options::default()).unwrap();
    let (_, state) = load(&engine.task("rosenbrock").unwrap()).unwrap().unwrap();
    assert_same_end(&state, &uninterrupted());
}

#[test]
fn infinities_and_nan_come_back_bit_for_bit() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("rosenbrock", "ana").unwrap();
    let odd = vec![
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::from_bits(0x7ff8_0000_dead_beef), // NaN with a payload
        f64::from_bits(0xfff0_0000_0000_0001), // a negative signalling NaN
        -0.0,
        f64::from_bits(1), // the smallest number
    ];
    let mut state = Progress::new().param(odd.clone());
    state.cost = odd[2];
    state.prev_cost = odd[3];
    // The solver before its first iteration has NaN costs: those come back through its own form.
    let solver = rosenbrock::simplex();
    checkpoint(&task).save(&solver, &state).unwrap();

    let (loaded_solver, loaded) = load(&task).unwrap().unwrap();
    assert_eq!(bits(loaded.param.as_ref().unwrap()), bits(&odd));
    let costs = |s: &Progress| {
        let best = [s.best_cost, s.prev_best_cost, s.target_cost];
        bits(&[[s.cost, s.prev_cost, 0.0], best].concat())
    };
    assert_eq!(costs(&loaded), costs(&state));
    assert_eq!(loaded.best_cost, f64::INFINITY);
    let saved = |solver: &Simplex| postcard::to_stdvec(solver).unwrap();
    assert_eq!(saved(&loaded_solver), saved(&solver));
    // JSON has no infinite number: the mark's metadata does without the cost.
    let mark = task.last_successful().unwrap().unwrap();
    assert_eq!(mark.metadata.unwrap().text(), r#"{"iteration":0}"#);
}

#[test]
fn a_restored_run_goes_on_in_a_new_lineage_and_the_old_one_keeps_its_end() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let old = engine.start_task("rosenbrock", "ana").unwrap();
    let end = run(&old);
    let head = old.head().unwrap();

    let point = engine.point("rosenbrock@iteration-100").unwrap();
    let new = engine.restore(&point).description("the same again").run().unwrap();
    assert_eq!(load(&new).unwrap().unwrap().1.iter, 100);
    let again = run(&new);
    assert_same_end(&again, &end);
    assert_same_end(&again, &uninterrupted());
    assert_eq!(labels(&engine, new.lineage().id()), every_ten(110..=200));

    let lineage = old.lineage().id();
    assert_ne!(lineage, new.lineage().id());
    assert_eq!(old.head().unwrap(), head);
    assert_eq!(labels(&engine, lineage), every_ten(10..=200));
    assert_same_end(&load(&old).unwrap().unwrap().1, &end);
    // A handle with the old activation cannot append.
    let refused = checkpoint(&old).save(&rosenbrock::simplex(), &end);
    let refused = refused.unwrap_err().downcast::<Error>().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
}

#[test]
fn a_mark_made_by_hand_stands_for_the_last_state_before_it() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("rosenbrock", "ana").unwrap();
    task.checkpoint(Mark::new().label("nothing-yet")).unwrap();
    assert!(load(&task).unwrap().is_none());

    let end = run(&task);
    task.append(Message::text("user", "well done")).unwrap();
    task.checkpoint(Mark::new().label("good")).unwrap();
    assert_same_end(&load(&task).unwrap().unwrap().1, &end);
    let point = engine.point("rosenbrock@good").unwrap();
    let restored = engine.restore(&point).run().unwrap();
    assert_same_end(&load(&restored).unwrap().unwrap().1, &end);
}

/// Appends an event as a save does, with other data in it, and gives the error of a load.
fn error_of(task: &Task, data: Data) -> Error {
    let name = EVENT_NAME.to_owned();
    task.append(Application { name, data }).unwrap();
    task.checkpoint(Mark::new()).unwrap();
    let error = load(task).err().unwrap();
    error.downcast::<Error>().unwrap()
}

#[test]
fn a_damaged_state_is_an_error_that_says_what_to_do() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let mut task = engine.start_task("rosenbrock", "ana").unwrap();
    let end = run(&task);
    let saved = task.last_successful().unwrap().unwrap().at - 1;
    let event = task.read(saved..=saved).unwrap().next().unwrap().unwrap();
    let Some(milepost::Body::Application(Application { data, .. })) = event.body else {
        panic!("the state is right before its mark");
    };
    let Data::Bytes(bytes) = data else {
        panic!("the state is bytes");
    };

    let cut = bytes[..bytes.len() / 2].to_vec();
    let longer = [bytes.as_slice(), &[0]].concat();
    let newer = [&[9], &bytes[1..]].concat();
    let json = Data::Json(milepost::Json::null());
    let (corrupt, unsupported) = (ErrorKind::Corrupt, ErrorKind::Unsupported);
    for (data, kind, what) in [
        (Data::Bytes(cut), corrupt, "damaged bytes"),
        (Data::Bytes(longer), corrupt, "damaged bytes: 1 more"),
        (Data::Bytes(Vec::new()), corrupt, "it is empty"),
        (json, corrupt, "it is JSON"),
        (Data::Bytes(newer), unsupported, "it has form 9"),
    ] {
        let error = error_of(&task, data);
        let text = error.to_string();
        assert_eq!(error.kind(), kind, "{text}");
        assert!(text.contains(what), "{text}");
        assert!(text.contains("`milepost restore rosenbrock~2`"), "{text}");
        // And doing what it says helps.
        let point = engine.point("rosenbrock~2").unwrap();
        task = engine.restore(&point).run().unwrap();
        assert_same_end(&load(&task).unwrap().unwrap().1, &end);
    }
}

#[test]
fn no_damage_to_the_bytes_of_a_state_is_a_panic() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("rosenbrock", "ana").unwrap();
    let state = Progress::new().param(vec![1.0; 4]);
    checkpoint(&task).save(&rosenbrock::simplex(), &state).unwrap();
    let event = task.read(1..).unwrap().next().unwrap().unwrap();
    let Some(milepost::Body::Application(Application { name, data })) = event.body else {
        panic!("the state is the first event after the one that opens the lineage");
    };
    let Data::Bytes(bytes) = data else {
        panic!("the state is bytes");
    };
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] = !flipped[at];
        for damaged in [flipped, bytes[..at].to_vec()] {
            let (name, shorter) = (name.clone(), damaged.len() < bytes.len());
            let data = Data::Bytes(damaged);
            task.append(Application { name, data }).unwrap();
            task.checkpoint(Mark::new()).unwrap();
            // Another byte may make another number. Fewer never make a state.
            assert!(load(&task).is_err() || !shorter, "cut to {at} bytes");
        }
    }
}
