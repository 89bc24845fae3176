//! A storm: random programs over the public API, faults in between, against a plain model.
//!
//! `MILEPOST_STORM_SECONDS` sets the time, `MILEPOST_SEED` the first seed. A program that fails is printed
//! with its seed, and shrunk.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "tests"
)]

use std::time::{Duration, Instant};

use milepost_tests::seed::{number, seed};
use milepost_tests::storm::fault;
use milepost_tests::storm::life::run;
use milepost_tests::storm::program::Program;
use milepost_tests::storm::report::Counts;
use milepost_tests::storm::shrink::shrink;

/// Runs of a program that is shrunk, at most.
const TRIES: usize = 200;

/// The process that faults are done to: does nothing unless it is told.
#[test]
fn child_that_lives_under_faults() {
    fault::child();
}

#[test]
fn what_was_acknowledged_is_there_whatever_happens() {
    let seconds = number("MILEPOST_STORM_SECONDS").unwrap_or(10);
    let first = seed();
    // Failures to look for before the storm ends.
    let most = number("MILEPOST_STORM_FAILURES").unwrap_or(1);
    #[expect(clippy::disallowed_methods, reason = "a budget of time")]
    let begun = Instant::now();
    let (mut counts, mut failures) = (Counts::default(), Vec::new());
    for n in 0.. {
        if begun.elapsed() >= Duration::from_secs(seconds) || failures.len() as u64 >= most {
            break;
        }
        let program = Program::generate(first.wrapping_add(n));
        let (done, result) = run(&program);
        counts += done;
        if let Err(error) = result {
            let seed = program.seed;
            println!("seed {seed} after {:?}: {error}", begun.elapsed());
            failures.push((program, error));
        }
    }
    println!("storm: {counts}");
    let Some((program, error)) = failures.first() else {
        return;
    };
    let (shorter, error) = shrink(program, error, TRIES);
    panic!(
        "seed {}: {error}\n{} of {} steps are enough:\n{shorter:#?}",
        program.seed,
        shorter.len(),
        program.len()
    );
}
