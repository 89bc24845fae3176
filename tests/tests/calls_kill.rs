//! I1, I2: a process may be killed just before any of its calls that change files, and again during
//! the following opening: the next opening finds everything that was acknowledged.
//!
//! The test starts its own binary, with the library of `tests/faults` preloaded.

use milepost_tests::faulted::{self, Case, Fail, folder, report};
use milepost_tests::faults::{self, counts, nightly, spread, temp_dir};
use milepost_tests::folder::copy;
use milepost_tests::seed::{Random, seed};

const CHILD: &str = "calls_kill::child_that_is_killed_before_a_call";

/// The process that is killed: does nothing without its environment.
#[test]
fn child_that_is_killed_before_a_call() {
    faulted::child();
}

#[test]
fn a_kill_before_any_call_loses_nothing_nor_does_one_while_that_is_recovered_from() {
    let Some(faults) = faults::built() else {
        return;
    };
    let seed = seed();
    let mut random = Random::new(seed);
    let dir = temp_dir();
    let make = |name: &str| Case { child: CHILD, dir: folder(dir.path(), name), seed };
    let count = dir.path().join("count");
    let base = make("base");
    base.run(faults, "Work", None, Some(&count)).unwrap();
    base.check().unwrap();
    let calls = counts(&count).of("any");
    println!("{calls} calls to be killed before");
    let (first, again) = if nightly() { (None, Some(20)) } else { (Some(30), Some(1)) };
    let (mut cases, mut failures) = (0, Vec::new());
    for n in spread(calls, first, &mut random) {
        let kill = Fail::once("any", n, "kill");
        let case = make(&format!("kill-{n}"));
        let killed = case.run(faults, "Work", Some(kill), None);
        let left = make(&format!("left-{n}"));
        std::fs::remove_dir(&left.dir).unwrap();
        copy(&case.dir, &left.dir).unwrap();
        if let Err(error) = killed.and_then(|_| case.check()) {
            failures.push(format!("{kill}: {error}"));
        }
        cases += 1;
        // The number of calls that an opening and a few appends make.
        let whole = make(&format!("whole-{n}"));
        std::fs::remove_dir(&whole.dir).unwrap();
        copy(&left.dir, &whole.dir).unwrap();
        let _ = std::fs::remove_file(&count);
        let went_on = whole.run(faults, "Recover", None, Some(&count));
        if let Err(error) = went_on.and_then(|_| whole.check()) {
            failures.push(format!("{kill}, then opened: {error}"));
        }
        let calls = counts(&count).of("any");
        for m in spread(calls, again, &mut random) {
            let twice = make(&format!("again-{n}-{m}"));
            std::fs::remove_dir(&twice.dir).unwrap();
            copy(&left.dir, &twice.dir).unwrap();
            let second = Fail::once("any", m, "kill");
            let killed = twice.run(faults, "Recover", Some(second), None);
            if let Err(error) = killed.and_then(|_| twice.check()) {
                failures.push(format!("{kill}, then {second}: {error}"));
            }
            cases += 1;
            std::fs::remove_dir_all(&twice.dir).unwrap();
        }
        for gone in [case, left, whole] {
            std::fs::remove_dir_all(&gone.dir).unwrap();
        }
    }
    report("kills before a call", seed, cases, &failures);
}

#[test]
fn a_kill_before_any_call_of_a_compaction_loses_nothing_that_is_kept() {
    let Some(faults) = faults::built() else {
        return;
    };
    let seed = seed();
    let mut random = Random::new(seed);
    let dir = temp_dir();
    let make = |name: &str| Case { child: CHILD, dir: folder(dir.path(), name), seed };
    let count = dir.path().join("count");
    let base = make("base");
    base.run(faults, "Compact", None, Some(&count)).unwrap();
    base.check().unwrap();
    let calls = counts(&count).of("any");
    println!("{calls} calls to be killed before");
    let (mut cases, mut failures) = (0, Vec::new());
    for n in spread(calls, (!nightly()).then_some(12), &mut random) {
        let kill = Fail::once("any", n, "kill");
        let case = make(&format!("kill-{n}"));
        let killed = case.run(faults, "Compact", Some(kill), None);
        if let Err(error) = killed.and_then(|_| case.check()) {
            failures.push(format!("{kill}: {error}"));
        }
        cases += 1;
        std::fs::remove_dir_all(&case.dir).unwrap();
    }
    report("kills in a compaction", seed, cases, &failures);
}
