//! The damage sweep (I4): every file of a store is damaged in every way, and opening either brings
//! everything back, or names the damage if there was one copy only. It never panics, hangs, loses
//! something silently, or answers wrongly.
//!
//! A plain run takes a sample, `MILEPOST_SWEEP_TIMES=n` one n times as large, `MILEPOST_NIGHTLY=1`
//! all cases. `MILEPOST_SWEEP_STORES` names a folder that the stores are kept in from run to run,
//! and `MILEPOST_SWEEP_CASE` a case to do again, with output: its name is in the list of examples.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use milepost_tests::seed::{number, seed};
use milepost_tests::sweep::cases::{Case, Damage};
use milepost_tests::sweep::children::{self, Children};
use milepost_tests::sweep::judge::{Judge, Outcome};
use milepost_tests::sweep::list;
use milepost_tests::sweep::stores::{Left, Stores};
use milepost_tests::sweep::table::Table;
use tempfile::TempDir;

/// The process that opens damaged stores: not a test of its own, it does nothing without its
/// environment.
#[test]
fn child_that_opens_damaged_stores() {
    children::work();
}

/// A folder in memory where there is one: a sweep copies many stores.
fn temporary() -> TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

fn stores_in(root: &Path) -> Stores {
    let made = Left::ALL.iter().all(|left| root.join(left.name()).exists());
    if made { Stores::at(root) } else { Stores::make(root) }
}

#[test]
fn damage_is_repaired_or_told_and_never_believed() {
    let temporary = temporary();
    let kept = std::env::var("MILEPOST_SWEEP_STORES").ok();
    let root = kept.map_or_else(|| temporary.path().join("stores"), PathBuf::from);
    std::fs::create_dir_all(&root).unwrap();
    let stores = stores_in(&root);
    if let Ok(name) = std::env::var("MILEPOST_SWEEP_CASE") {
        let case = Case::named(&name).expect("the name of a case");
        let verdict = Judge::new(stores, &temporary.path().join("work"), true).judge(&case);
        println!("{case}: {verdict:?}");
        return;
    }
    let (seed, nightly) = (seed(), std::env::var("MILEPOST_NIGHTLY").is_ok());
    let times = number("MILEPOST_SWEEP_TIMES").unwrap_or(1) as usize;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let new = |number| Children::new(&root, number, "damage::child_that_opens_damaged_stores");
    let mut children: Vec<Children> = (0..processors).map(new).collect();
    let table = Mutex::new(Table::default());
    for left in Left::ALL {
        let whole = Case { left, file: "store".into(), damage: Damage::Nothing };
        let verdict = children[0].judge(&whole);
        assert_eq!(verdict.outcome, Outcome::Whole, "{}", verdict.reason);
        let all = list::all(&stores, left, seed);
        println!("{} store: {} cases", left.name(), all.len());
        let cases = if nightly { all } else { list::sample(all, seed, times) };
        println!("{} of them are done", cases.len());
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for children in &mut children {
                let (next, cases, table) = (&next, &cases, &table);
                scope.spawn(move || {
                    loop {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        let Some(case) = cases.get(n) else { return };
                        let verdict = children.judge(case);
                        table.lock().unwrap().add(case, verdict);
                        if n > 0 && n.is_multiple_of(1000) {
                            println!("{n} cases");
                        }
                    }
                });
            }
        });
    }
    drop(children);
    let table = table.into_inner().unwrap();
    println!("{table}");
    if table.is_bad() {
        if root.starts_with(temporary.path()) {
            let _kept = temporary.keep();
        }
        panic!(
            "see the table; a case is done again by MILEPOST_SWEEP_STORES={} \
             MILEPOST_SWEEP_CASE=name",
            root.display()
        );
    }
}
