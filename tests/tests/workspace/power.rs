//! I8, I9 through a power cut at any moment of a restore: a process's changes to store and folder
//! are traced, and a disk is simulated that loses, keeps and mixes unstored content
//! (`docs/RECOVERY.md`). Once the folder is recovered, the restore is wholly done or wholly undone,
//! and the log has its outcome.
//!
//! The test starts its own binary, with the library of `tests/faults` preloaded.

mod base;

use std::path::Path;

use milepost::Scope;
use milepost_tests::disk::{Disk, Op, VARIANTS};
use milepost_tests::faults::{self, nightly, spread};
use milepost_tests::seed::{Random, seed};

use self::base::{Base, open};
use super::none;

const CHILD: &str = "workspace::power::child_that_goes_back";
const DIR: &str = "MILEPOST_TEST_POWER_DIR";
/// Only interrupted restores are undone, and none is begun.
const ONLY: &str = "MILEPOST_TEST_POWER_ONLY";

/// The process that is traced: does nothing without its environment.
#[test]
fn child_that_goes_back() {
    let Ok(dir) = std::env::var(DIR) else {
        return;
    };
    let (engine, workspace) = open(Path::new(&dir)).unwrap();
    workspace.recover(&engine, "t", &none()).unwrap();
    let only = std::env::var_os(ONLY).is_some();
    if !only && engine.task("t").unwrap().lineage().id().0 == 0 {
        let to = engine.point("t@first").unwrap();
        let done = workspace.restore(&engine, &to, Scope::All, None, &none());
        done.unwrap();
    }
    engine.close().unwrap();
}

/// Selection of the images to build.
#[derive(Clone, Copy)]
struct Sampling {
    /// Nothing before this operation.
    from: usize,
    /// Number of moments next to a sync to test; `None` for all.
    syncs: Option<u64>,
    /// The number of other moments.
    others: Option<u64>,
    /// Variants at each.
    variants: usize,
}

impl Sampling {
    /// A few for the plain run, all for the nightly one.
    fn new(syncs: u64, others: u64, variants: usize) -> Self {
        let all = nightly();
        Self {
            from: 1,
            syncs: Some(syncs).filter(|_| !all),
            others: Some(others).filter(|_| !all),
            variants: if all { VARIANTS.len() } else { variants },
        }
    }
}

/// Results of images.
#[derive(Default)]
struct Seen {
    images: usize,
    done: usize,
    failures: Vec<String>,
}

impl Seen {
    fn check(&mut self, base: &Base, place: &str) {
        self.images += 1;
        match base.check() {
            Ok(done) => self.done += usize::from(done),
            Err(error) => self.failures.push(format!("{place}: {error}")),
        }
    }

    fn report(&self, what: &str) {
        let (images, done, wrong) = (self.images, self.done, self.failures.len());
        let undone = images - done - wrong;
        println!("{what}: {images} images, {done} done, {undone} taken back, {wrong} wrong");
    }

    fn passes(&self, what: &str) {
        self.report(what);
        assert!(self.failures.is_empty(), "{what}: {:#?}", self.failures);
    }
}

/// Builds images at moments of a trace, and passes each to a check.
fn cut(
    base: &Base,
    mut disk: Disk,
    ops: &[Op],
    sampling: Sampling,
    random: &mut Random,
    look: &mut dyn FnMut(&mut Random, &str),
) {
    let at_sync = |at: usize| ops.get(at).is_some_and(Op::is_sync);
    let beside = |at: &usize| at_sync(*at) || at.checked_sub(1).is_some_and(at_sync);
    let (syncs, others): (Vec<_>, Vec<_>) = (sampling.from..=ops.len()).partition(beside);
    let mut moments = Vec::new();
    for (list, some) in [(syncs, sampling.syncs), (others, sampling.others)] {
        let chosen = spread(list.len() as u64, some, random);
        moments.extend(chosen.into_iter().map(|n| list[n as usize - 1]));
    }
    moments.sort_unstable();
    let mut moments = moments.into_iter().peekable();
    for at in 0..=ops.len() {
        if moments.next_if_eq(&at).is_some() {
            let mut variants = VARIANTS.to_vec();
            if !disk.is_pending() {
                variants.truncate(1);
            }
            while variants.len() > sampling.variants {
                variants.remove(random.below(variants.len() as u64) as usize);
            }
            for variant in variants {
                base.put(&disk, variant, random);
                let of = ops.len();
                look(random, &format!("{variant:?} before operation {at} of {of}"));
            }
        }
        if let Some(op) = ops.get(at) {
            disk.apply(op);
        }
    }
}

#[test]
fn a_power_cut_at_any_moment_leaves_a_restore_that_is_done_or_taken_back() {
    let Some(faults) = faults::built() else {
        return;
    };
    let mut random = Random::new(seed());
    let few = Base::new(faults, 0);
    let many = Base::new(faults, 70);
    let large = Sampling { others: Some(if nightly() { 60 } else { 4 }), ..Sampling::new(5, 0, 1) };
    // A file system without exchanges, or without moves that refuse to overwrite, needs other
    // calls.
    for (base, moves, sampling) in [
        (&few, "all", Sampling::new(20, 24, 1)),
        (&few, "no-exchange", Sampling::new(3, 9, 1)),
        (&few, "plain", Sampling::new(3, 9, 1)),
        (&many, "all", large),
    ] {
        let mut seen = Seen::default();
        let disk = base.begin();
        let ops = base.go(&[(faults::MOVES, moves)]);
        cut(base, disk, &ops, sampling, &mut random, &mut |_, place| {
            seen.check(base, place);
        });
        let syncs = ops.iter().filter(|op| op.is_sync()).count();
        let what = format!("{moves} moves, {} operations, {syncs} syncs", ops.len());
        seen.passes(&what);
        assert!(seen.done > 0 && seen.done < seen.images, "{what}");
    }
}

#[test]
fn a_power_cut_after_kills_of_a_restore_and_its_recovery_leaves_it_done_or_taken_back() {
    // Content that a process finds may be in memory only: the previous one was killed before its
    // sync.
    let Some(faults) = faults::built() else {
        return;
    };
    let mut random = Random::new(seed());
    let base = Base::new(faults, 0);
    base.begin();
    let calls = base.calls(&[]);
    let rounds = if nightly() { 100 } else { 3 };
    let mut seen = Seen::default();
    for round in 0..rounds {
        // In the moves, mostly; then while they are undone.
        let first = calls / 2 + random.below(calls / 2);
        let kill = |n: u64| format!("any:{n}:kill:once");
        base.begin();
        base.go(&[(faults::FAIL, &kill(first))]);
        let again = 1 + random.below(base.calls(&[(ONLY, "1")]));
        let disk = base.begin();
        let mut ops = base.go(&[(faults::FAIL, &kill(first))]);
        ops.extend(base.go(&[(faults::FAIL, &kill(again)), (ONLY, "1")]));
        let from = ops.len();
        let more = [(ONLY, "1")];
        ops.extend(base.go(&more[random.below(2) as usize..]));
        let sampling = Sampling {
            from,
            syncs: Some(if nightly() { 20 } else { 4 }),
            others: Some(2),
            variants: 1,
        };
        cut(&base, disk, &ops, sampling, &mut random, &mut |_, place| {
            let place = format!("round {round}, killed before {first} and {again}, {place}");
            seen.check(&base, &place);
        });
    }
    seen.passes("kills, then a power cut");
}

#[test]
fn what_a_killed_recovery_took_back_and_did_not_sync_is_synced_by_the_next_one() {
    // All moves are done and none is synced when the first process is killed; the second takes all
    // back and is killed before it syncs. The third finds everything as it was, has nothing to do,
    // and ends the restore: what it found was in memory only, and a power cut left parts of the
    // moves under a log that said undone.
    let Some(faults) = faults::built() else {
        return;
    };
    let mut random = Random::new(seed());
    let base = Base::new(faults, 0);
    // Kills a process before the first sync of this kind.
    let before = |ops: &[Op], is: &dyn Fn(&str) -> bool| {
        let is = |op: &&Op| match op {
            Op::SyncDir { path } => is(path),
            op => matches!(op, Op::SyncAll),
        };
        let mut syncs = ops.iter().filter(|op| op.is_sync());
        let nth = syncs.position(|op| is(&op)).unwrap() + 1;
        format!("sync:{nth}:kill:once")
    };
    base.begin();
    let moved = before(&base.go(&[]), &|path| path.ends_with("/new"));
    base.begin();
    base.go(&[(faults::FAIL, &moved)]);
    let taken_back = before(&base.go(&[(ONLY, "1")]), &|path| path.starts_with("work"));
    let disk = base.begin();
    let mut ops = base.go(&[(faults::FAIL, &moved)]);
    ops.extend(base.go(&[(faults::FAIL, &taken_back), (ONLY, "1")]));
    let from = ops.len();
    ops.extend(base.go(&[(ONLY, "1")]));
    let mut seen = Seen::default();
    let sampling = Sampling { from, ..Sampling::new(5, 5, 1) };
    cut(&base, disk, &ops, sampling, &mut random, &mut |_, place| {
        seen.check(&base, place);
    });
    seen.passes("taken back twice");
    assert_eq!(seen.done, 0);
}

#[test]
fn a_power_cut_while_one_is_recovered_from_leaves_a_restore_that_is_done_or_taken_back() {
    let Some(faults) = faults::built() else {
        return;
    };
    let mut random = Random::new(seed());
    let base = Base::new(faults, 0);
    let disk = base.begin();
    let ops = base.go(&[]);
    let firsts = Sampling {
        syncs: Some(if nightly() { 40 } else { 2 }),
        others: Some(if nightly() { 60 } else { 3 }),
        variants: 1,
        from: 1,
    };
    let seconds = Sampling {
        syncs: Some(if nightly() { 25 } else { 3 }),
        others: Some(if nightly() { 15 } else { 1 }),
        ..firsts
    };
    let mut seen = Seen::default();
    cut(&base, disk, &ops, firsts, &mut random, &mut |random, first| {
        let disk = Disk::load(&base.dir).unwrap();
        let ops = base.go(&[]);
        cut(&base, disk, &ops, seconds, random, &mut |_, second| {
            seen.check(&base, &format!("{first}, then {second}"));
        });
    });
    seen.passes("two power cuts");
}

#[test]
fn without_syncs_the_simulated_power_cuts_find_restores_that_are_neither_done_nor_taken_back() {
    let Some(faults) = faults::built() else {
        return;
    };
    let mut random = Random::new(seed());
    let base = Base::new(faults, 0);
    let disk = base.begin();
    let ops = base.go(&[(faults::NOSYNC, "1")]);
    // The later, the more is missing.
    let sampling = Sampling { from: ops.len() / 2, syncs: Some(0), others: Some(10), variants: 2 };
    let mut seen = Seen::default();
    cut(&base, disk, &ops, sampling, &mut random, &mut |_, place| {
        seen.check(&base, place);
    });
    seen.report("without syncs");
    assert!(!seen.failures.is_empty(), "nothing was found");
}
