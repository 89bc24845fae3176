//! A storm: random programs over the public API, faults in between, against a plain model.
//!
//! `MILEPOST_STORM_SECONDS` sets the time, `MILEPOST_SEED` the first seed. A program that fails is
//! printed with its seed, and shrunk.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use milepost_tests::seed::{number, seed};
use milepost_tests::storm::fault;
use milepost_tests::storm::life::run;
use milepost_tests::storm::program::Program;
use milepost_tests::storm::report::Counts;
use milepost_tests::storm::shrink::{kind, shrink};

/// Runs of a program that is shrunk, at most.
const TRIES: usize = 200;

/// The process under faults: does nothing without its environment.
#[test]
fn child_that_lives_under_faults() {
    fault::child();
}

#[test]
fn what_was_acknowledged_is_there_whatever_happens() {
    let seconds = number("MILEPOST_STORM_SECONDS").unwrap_or(10);
    // Kinds of failures to look for before the storm ends.
    let most = number("MILEPOST_STORM_FAILURES").unwrap_or(1) as usize;
    let first = seed();
    #[expect(clippy::disallowed_methods, reason = "a budget of time")]
    let begun = Instant::now();
    let mut counts = Counts::default();
    let mut failures: BTreeMap<String, (Program, String)> = BTreeMap::new();
    for n in 0.. {
        if begun.elapsed() >= Duration::from_secs(seconds) || failures.len() >= most {
            break;
        }
        let program = Program::generate(first.wrapping_add(n));
        let (done, result) = run(&program);
        counts += done;
        if let Err(error) = result {
            let (seed, after) = (program.seed, begun.elapsed());
            println!("seed {seed} after {:.1} s: {error}", after.as_secs_f64());
            failures.entry(kind(&error)).or_insert((program, error));
        }
    }
    println!("storm: {counts}");
    for (program, error) in failures.values() {
        let (shorter, said) = shrink(program, error, TRIES);
        let (seed, all, enough) = (program.seed, program.len(), shorter.len());
        println!("\nseed {seed}: {error}\n{enough} of {all} steps: {said}\n{shorter:#?}");
    }
    let kinds: Vec<_> = failures.iter().collect();
    let told = kinds.iter().map(|(kind, (program, _))| format!("seed {}: {kind}", program.seed));
    let told = told.collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "MILEPOST_SEED of each kind of failure:\n{told}");
}
