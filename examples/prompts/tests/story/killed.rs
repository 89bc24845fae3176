//! A run that ends in the middle continues as if uninterrupted, and asks no question twice.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use milepost::{Engine, Error, ErrorKind, Options};
use milepost_example_prompts::{End, Optimizer};

use crate::{
    LAYERS, ROUNDS, answers, at, at_the_end_of, end, engine, go, new_run, run_again, uninterrupted,
};

/// The signal of `std::process::abort`.
const SIGABRT: i32 = 6;

/// Starts the example's program.
fn program(store: &Path, stop_after: Option<u64>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_milepost-example-prompts"));
    command.arg(store).args(["--rounds", &ROUNDS.to_string()]);
    if let Some(wanted) = stop_after {
        command.args(["--stop-after", &wanted.to_string()]);
    }
    command.output().unwrap()
}

/// Starts it, and lets it be killed.
pub fn killed(store: &Path, stop_after: u64) -> String {
    let output = program(store, Some(stop_after));
    assert_eq!(output.status.signal(), Some(SIGABRT), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_process_that_is_killed_after_any_number_of_layers_ends_as_one_that_is_not() {
    let (expected, count) = uninterrupted();
    for layers in 0..ROUNDS * LAYERS {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store");
        let mut said = killed(&store, layers);
        let resumed = program(&store, None);
        assert!(resumed.status.success(), "{resumed:?}");
        said += &String::from_utf8(resumed.stdout).unwrap();
        let engine = Engine::open(&store, Options::default()).unwrap();
        assert_eq!(end(&engine), expected, "killed after {layers}");
        // The model was asked for each answer once, whichever process it was.
        let mut asked: Vec<_> = said.lines().filter(|line| line.contains("asks: ")).collect();
        assert_eq!(asked.len() as u64, count, "killed after {layers}");
        asked.sort_unstable();
        asked.dedup();
        assert_eq!(asked.len() as u64, count, "killed after {layers}");
        assert_eq!(answers(&engine.task("prompts").unwrap()), count);
    }
}

#[test]
fn one_that_ends_at_any_moment_of_any_layer_goes_on_as_if_nothing_had_been() {
    let (expected, count) = uninterrupted();
    for moment in 0.. {
        let (engine, _) = engine();
        let run = new_run(&engine);
        let mut left = moment;
        let mut optimizer = Optimizer::take_up(&engine, &run).unwrap().tell(|_| {
            left -= 1;
            match left {
                -1 => Err(Error::new(ErrorKind::Unavailable, "no power")),
                _ => Ok(()),
            }
        });
        let ended = optimizer.go();
        drop(optimizer);
        drop(run);
        go(&engine, &run_again(&engine));
        assert_eq!(end(&engine), expected, "ended at moment {moment}");
        let task = engine.task("prompts").unwrap();
        assert_eq!(answers(&task), count, "ended at moment {moment}");
        let (mark, view) = at_the_end_of(&engine, ROUNDS * LAYERS);
        assert_eq!(view.rules.learned.len() as u64, ROUNDS);
        let before = at(&engine, &mark).previous_phase;
        assert_eq!(before.as_deref(), Some("evaluating"), "{moment}");
        match ended {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable),
            Ok(_) => return assert!(moment > 30, "each moment had its turn"),
        }
    }
}

#[test]
fn what_is_done_stays_done_when_it_is_run_again() {
    let (engine, _) = engine();
    let run = new_run(&engine);
    go(&engine, &run);
    let head = run.task().head().unwrap();
    let mut again = Optimizer::take_up(&engine, &run).unwrap().tell(|told| panic!("{told:?}"));
    assert_eq!(again.go().unwrap(), End::Done);
    drop(again);
    assert_eq!(run.task().head().unwrap(), head);
}
