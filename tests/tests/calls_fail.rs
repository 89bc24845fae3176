//! I11, I1: every call to the system may fail, once or for ever. Then an append is an error, later
//! ones are too, reads continue, dropping the engine ends, and the next opening finds everything
//! that was acknowledged.
//!
//! The test starts its own binary, with the library of `tests/faults` preloaded.

use std::path::Path;
use std::sync::OnceLock;

use milepost_tests::acked::Acked;
use milepost_tests::faulted::{self, Case, Fail, folder, report};
use milepost_tests::faults::{self, Faults, counts, nightly, spread, temp_dir};
use milepost_tests::folder::copy;
use milepost_tests::seed::{Random, seed};

const CHILD: &str = "calls_fail::child_whose_calls_fail";

/// The process whose calls fail: does nothing without its environment.
#[test]
fn child_whose_calls_fail() {
    faulted::child();
}

/// Returns the ways in which calls of a class fail: once, and for ever.
fn ways(class: &'static str) -> Vec<(&'static str, bool)> {
    let mut ways = vec![("EIO", false), ("EIO", true)];
    match class {
        "write" => ways.extend([
            ("ENOSPC", false),
            ("ENOSPC", true),
            ("short", false),
            ("short", true),
            ("torn", false),
            ("torn", true),
            ("EINTR", false),
            ("EDQUOT", true),
        ]),
        "sync" => ways.extend([("ENOSPC", false), ("ENOSPC", true), ("EINTR", false)]),
        "range" => ways.extend([("ENOSPC", false)]),
        "open" => ways.extend([("EMFILE", false), ("EMFILE", true), ("EINTR", false)]),
        "read" => ways.extend([("short", false), ("short", true), ("EINTR", false)]),
        _ => ways.extend([("ENOSPC", true), ("EROFS", true)]),
    }
    ways
}

/// Results of all cases, by promise.
#[derive(Debug)]
struct Tried {
    seed: u64,
    cases: usize,
    /// Cases with a panic, a hang, or a loss.
    lost: Vec<String>,
    /// An append went well after one that failed.
    revived: Vec<String>,
    /// Something could not be read after a write that failed.
    unreadable: Vec<String>,
    /// Reads with wrong content and without an error.
    wrong: Vec<String>,
}

fn try_all(
    faults: &Faults,
    what: &str,
    classes: &[&'static str],
    each: u64,
    from: Option<&Path>,
    seed: u64,
) -> Tried {
    let mut random = Random::new(seed);
    let dir = temp_dir();
    let make = |name: &str| {
        let place = folder(dir.path(), name);
        if let Some(from) = from {
            copy(from, &place).unwrap();
        }
        Case { child: CHILD, dir: place, seed }
    };
    let count = dir.path().join("count");
    let base = make("base");
    base.run(faults, what, None, Some(&count)).unwrap();
    base.check().unwrap();
    let totals = counts(&count);
    println!("{what}: {totals}");
    let mut tried = Tried {
        seed,
        cases: 0,
        lost: Vec::new(),
        revived: Vec::new(),
        unreadable: Vec::new(),
        wrong: Vec::new(),
    };
    let mut fired = 0;
    for class in classes.iter().copied() {
        let total = totals.of(class);
        for (how, forever) in ways(class) {
            let sample = (!nightly()).then_some(each);
            for n in spread(total, sample, &mut random) {
                let fail = Fail { class, n, how, forever };
                let case = make(&format!("case-{}", tried.cases));
                let _ = std::fs::remove_file(&count);
                let told = case.run(faults, what, Some(fail), Some(&count));
                one(&case, fail, told, &mut tried);
                fired += u64::from(counts(&count).failed() > 0);
                std::fs::remove_dir_all(&case.dir).unwrap();
            }
        }
    }
    let cases = tried.cases;
    println!("{what}: in {fired} of {cases} cases a call was made to fail");
    tried
}

fn one(case: &Case<'_>, fail: Fail, told: Result<Acked, String>, tried: &mut Tried) {
    tried.cases += 1;
    if let Ok(acked) = &told {
        let said = acked.said.join("; ");
        if acked.has_said("revived") {
            tried.revived.push(format!("{fail}: {said}"));
        }
        if acked.has_said("wrong") {
            tried.wrong.push(format!("{fail}: {said}"));
        }
        if acked.has_said("unreadable") {
            tried.unreadable.push(format!("{fail}: {said}"));
        }
    }
    let damaged: &[&str] = match fail {
        // The marker is written in place, so a torn write that fails is damage of the disk.
        Fail { how: "torn", .. } => &["acked"],
        // Sled tells of a read that fails as of damage, and does not read again.
        Fail { class: "read", .. } => &["sled"],
        _ => &[],
    };
    let checked = told.and_then(|_| match case.check_damaged(damaged) {
        // If a read fails while sled is opened after a clean stop, sled may lose blocks: a read
        // reports the missing one, and the next opening repairs it.
        Err(error) if fail.class == "read" && error.contains("a block with offset") => case.check(),
        checked => checked,
    });
    if let Err(error) = checked {
        tried.lost.push(format!("{fail}: {error}"));
    }
}

/// The cases of a process that works, tried once for the tests that look at them.
fn working() -> Option<&'static Tried> {
    static TRIED: OnceLock<Option<Tried>> = OnceLock::new();
    let tried = TRIED.get_or_init(|| {
        let faults = faults::built()?;
        let classes = ["write", "sync", "range", "open", "rename", "unlink", "mkdir", "truncate"];
        Some(try_all(faults, "Work", &classes, 2, None, seed()))
    });
    tried.as_ref()
}

/// Runs the cases of a process that opens the remains of a killed one, likewise.
fn recovering() -> Option<&'static Tried> {
    static TRIED: OnceLock<Option<Tried>> = OnceLock::new();
    let tried = TRIED.get_or_init(|| {
        let faults = faults::built()?;
        let seed = seed();
        let dir = temp_dir();
        let case = |name| Case { child: CHILD, dir: folder(dir.path(), name), seed };
        let (whole, killed) = (case("whole"), case("killed"));
        let count = dir.path().join("count");
        whole.run(faults, "Work", None, Some(&count)).unwrap();
        let any = counts(&count).of("any");
        let kill = Fail::once("any", any * 9 / 10, "kill");
        killed.run(faults, "Work", Some(kill), None).unwrap();
        let classes = ["write", "sync", "range", "open", "rename", "truncate", "read"];
        Some(try_all(faults, "Recover", &classes, 3, Some(&killed.dir), seed))
    });
    tried.as_ref()
}

#[test]
fn a_call_that_fails_while_working_takes_nothing_that_was_acknowledged() {
    let Some(tried) = working() else { return };
    report("I1, working", tried.seed, tried.cases, &tried.lost);
}

#[test]
fn after_a_write_that_failed_every_later_append_fails() {
    let Some(tried) = working() else { return };
    report("I11, working", tried.seed, tried.cases, &tried.revived);
}

#[test]
fn reading_goes_on_after_a_write_that_failed() {
    let Some(tried) = working() else { return };
    report("reads, working", tried.seed, tried.cases, &tried.unreadable);
}

#[test]
fn a_call_that_fails_while_a_killed_store_is_opened_takes_nothing_that_was_acknowledged() {
    let Some(tried) = recovering() else { return };
    report("I1, opening", tried.seed, tried.cases, &tried.lost);
}

#[test]
fn after_a_write_that_failed_behind_a_recovery_every_later_append_fails() {
    let Some(tried) = recovering() else { return };
    report("I11, opening", tried.seed, tried.cases, &tried.revived);
}

#[test]
fn reading_goes_on_after_a_write_that_failed_behind_a_recovery() {
    let Some(tried) = recovering() else { return };
    report("reads, opening", tried.seed, tried.cases, &tried.unreadable);
}

#[test]
fn while_a_sync_takes_long_readers_are_served_and_the_append_waits_for_it() {
    let Some(faults) = faults::built() else {
        return;
    };
    let dir = temp_dir();
    let case = Case { child: CHILD, dir: folder(dir.path(), "held"), seed: seed() };
    let told = case.run(faults, "Held", None, None).unwrap();
    assert!(told.has_said("served"), "{:?}", told.said);
    case.check().unwrap();
}

#[test]
fn a_call_that_fails_while_a_store_is_compacted_takes_nothing_that_is_kept_and_reading_goes_on() {
    let Some(faults) = faults::built() else {
        return;
    };
    let classes: &[&'static str] = match nightly() {
        true => {
            &["write", "sync", "range", "open", "rename", "unlink", "mkdir", "truncate", "read"]
        }
        false => &["write", "sync", "rename", "unlink"],
    };
    let tried = try_all(faults, "Compact", classes, 1, None, seed());
    report("I1, compacting", tried.seed, tried.cases, &tried.lost);
    report("reads, compacting", tried.seed, tried.cases, &tried.unreadable);
}

#[test]
fn a_read_that_fails_while_working_takes_nothing_that_was_acknowledged() {
    let Some(faults) = faults::built() else {
        return;
    };
    let tried = try_all(faults, "Work", &["read"], 2, None, seed());
    report("reads that fail", tried.seed, tried.cases, &tried.lost);
}

#[test]
fn a_read_that_fails_is_an_error_and_never_a_wrong_answer() {
    let Some(faults) = faults::built() else {
        return;
    };
    let seed = seed();
    let dir = temp_dir();
    // One that was closed, so that everything is read from where it stays.
    let whole = Case { child: CHILD, dir: folder(dir.path(), "whole"), seed };
    whole.run(faults, "Work", None, None).unwrap();
    let tried = try_all(faults, "Read", &["read"], 5, Some(&whole.dir), seed);
    report("wrong answers", seed, tried.cases, &tried.wrong);
    report("stores that were read", seed, tried.cases, &tried.lost);
}

#[test]
fn a_store_whose_write_failed_can_be_opened_again_by_the_same_process() {
    let Some(faults) = faults::built() else {
        return;
    };
    let seed = seed();
    let dir = temp_dir();
    let case = |name: String| Case { child: CHILD, dir: folder(dir.path(), &name), seed };
    let count = dir.path().join("count");
    case("base".into()).run(faults, "Work", None, Some(&count)).unwrap();
    let totals = counts(&count);
    let mut random = Random::new(seed);
    let sample = (!nightly()).then_some(3);
    let (mut cases, mut aside, mut failures) = (0, 0, Vec::new());
    for class in ["write", "sync", "range"] {
        for n in spread(totals.of(class), sample, &mut random) {
            let fail = Fail::once(class, n, "EIO");
            let case = case(format!("{class}-{n}"));
            let told = case.run(faults, "Reopen", Some(fail), None);
            if let Ok(acked) = &told
                && acked.has_said("failed")
                && (!acked.has_said("reopened") || acked.has_said("unreadable"))
                && !acked.has_said("failed open")
            {
                let said = acked.said.join("; ");
                failures.push(format!("{fail}: {said}"));
            }
            aside += usize::from(told.as_ref().is_ok_and(|acked| acked.has_said("set aside")));
            if let Err(error) = told.and_then(|_| case.check()) {
                failures.push(format!("{fail}: {error}"));
            }
            cases += 1;
            std::fs::remove_dir_all(&case.dir).unwrap();
        }
    }
    println!("reopened: in {aside} of {cases} cases sled was set aside and built anew");
    report("I11, reopened", seed, cases, &failures);
}
