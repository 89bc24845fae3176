//! Checks of every row.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use milepost::query::{CheckpointQuery, LineageInfo, TaskInfo, TaskQuery};
use milepost::store::{Finding, Outcome};
use milepost::{Checkpoint, Detail, Engine, ErrorKind, Event, Mark};
use milepost_tests::{bodies, folder};

use crate::recovery::stores::options;

/// Everything that a store answers: tasks, lineages with their heads, events, checkpoints.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    tasks: Vec<TaskInfo>,
    lineages: Vec<LineageInfo>,
    events: Vec<Vec<Event>>,
    checkpoints: Vec<Checkpoint>,
}

impl Whole {
    pub fn of(engine: &Engine) -> Self {
        let tasks = engine.query().tasks(&TaskQuery::default()).unwrap().items;
        let query = CheckpointQuery { limit: Some(1000), ..CheckpointQuery::default() };
        let mut whole = Self {
            tasks,
            lineages: Vec::new(),
            events: Vec::new(),
            checkpoints: engine.query().checkpoints(&query).unwrap().items,
        };
        for info in &whole.tasks {
            let task = engine.task(&info.id).unwrap();
            for info in task.lineages().unwrap() {
                let lineage = task.lineage_named(info.id).unwrap();
                let events = lineage.read(..).unwrap().map(Result::unwrap);
                let events: Vec<_> = events.collect();
                let offsets = events.iter().map(|event| event.offset);
                assert!(offsets.eq(0..info.head.next), "I2: dense and ascending");
                whole.events.push(events);
                whole.lineages.push(info);
            }
        }
        whole
    }

    /// Returns the answers of an undamaged store, from a copy of it.
    pub fn of_store(root: &Path) -> Self {
        let beside = beside(root);
        let engine = Engine::open(&beside, options()).unwrap();
        let whole = Self::of(&engine);
        engine.close().unwrap();
        fs::remove_dir_all(beside).unwrap();
        whole
    }

    pub fn events(&self) -> usize {
        self.events.iter().map(Vec::len).sum()
    }
}

/// A copy of a store.
pub fn beside(root: &Path) -> PathBuf {
    let beside = root.with_extension("beside");
    if beside.exists() {
        fs::remove_dir_all(&beside).unwrap();
    }
    folder::copy(root, &beside).unwrap();
    beside
}

/// Not `assert_eq`: what differs would be printed with all events.
pub fn same(now: &Whole, before: &Whole, how: &str) {
    assert_eq!(now.tasks, before.tasks, "{how}");
    assert_eq!(now.lineages, before.lineages, "I1: {how}");
    assert!(now.events == before.events, "I1: {how}: other events");
    assert_eq!(now.checkpoints, before.checkpoints, "{how}");
}

pub fn clean(engine: &Engine, how: &str) {
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{how}: {:?}", report.faults);
}

/// An expected finding: its outcome, and what its place names.
pub type Found<'a> = (Outcome, &'a str);

fn assert_findings(findings: &[Finding], expected: &[Found<'_>], how: &str) {
    let fits = findings.len() == expected.len()
        && findings.iter().zip(expected).all(|(found, (outcome, place))| {
            found.outcome == *outcome && found.place.contains(place)
        });
    assert!(fits, "{how}: expected {expected:?}, found {findings:#?}");
}

/// Opens a store: it has the expected findings, answers as before, verifies, takes appends, and at
/// the second opening after that has no findings.
pub fn opens(root: &Path, before: &Whole, expected: &[Found<'_>], how: &str) {
    let engine = Engine::open(root, options()).unwrap_or_else(|error| panic!("{how}: {error}"));
    assert_findings(&engine.store().report().findings, expected, how);
    same(&Whole::of(&engine), before, how);
    clean(&engine, how);
    goes_on(engine, root, how);
}

/// Appends go on, and last.
pub fn goes_on(engine: Engine, root: &Path, how: &str) {
    for name in ["essay", "tuning"] {
        let task = engine.task(name).unwrap();
        task.append(bodies::text_message(77)).unwrap();
        task.append(bodies::bytes(78, 3000)).unwrap();
        task.checkpoint(Mark::new().label("after")).unwrap();
    }
    let before = Whole::of(&engine);
    // As a kill leaves it: what was repaired is durable without a close.
    let killed = root.with_extension("killed");
    let _ = fs::remove_dir_all(&killed);
    folder::copy_store(root, &killed).unwrap();
    engine.close().unwrap();
    for (root, how) in [(root, how), (&killed, &*format!("{how}, killed after that"))] {
        let engine = Engine::open(root, options()).unwrap_or_else(|e| panic!("{how}: again: {e}"));
        let findings = &engine.store().report().findings;
        assert!(findings.is_empty(), "{how}: again: {findings:#?}");
        same(&Whole::of(&engine), &before, &format!("{how}: again"));
        clean(&engine, &format!("{how}: again"));
        engine.close().unwrap();
    }
    fs::remove_dir_all(killed).unwrap();
}

/// Opens as [`opens`], and both copies are there afterwards: with sled gone, everything comes back.
/// `aside` are files that were replaced: `damaged/` has them as they were.
pub fn repairs(root: &Path, before: &Whole, expected: &[Found<'_>], aside: &[&Path], how: &str) {
    let kept: Vec<_> = aside.iter().map(|path| fs::read(path).unwrap()).collect();
    let both = beside(root);
    opens(root, before, expected, how);
    for (path, bytes) in aside.iter().zip(kept) {
        let moved = root.join("damaged").join(path.file_name().unwrap());
        let moved = fs::read(&moved).unwrap_or_else(|e| panic!("{how}: {}: {e}", moved.display()));
        assert!(moved == bytes, "{how}: {} is kept", path.display());
    }
    // Without an append or a close between, and without sled.
    let engine = Engine::open(&both, options()).unwrap();
    let killed = both.with_extension("nosled");
    let _ = fs::remove_dir_all(&killed);
    folder::copy_store(&both, &killed).unwrap();
    drop(engine);
    fs::remove_dir_all(both).unwrap();
    fs::remove_dir_all(killed.join("sled")).unwrap();
    let how = format!("{how}: and sled lost after that");
    opens(&killed, before, &[(Outcome::Repaired, "sled")], &how);
    fs::remove_dir_all(killed).unwrap();
}

/// The files of a store with their bytes.
pub fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_owned();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

/// All entries of sled, read from a copy; nothing where it cannot be opened.
fn entries(root: &Path) -> Option<BTreeMap<Vec<u8>, Vec<u8>>> {
    let copy = root.with_extension("sled");
    folder::copy(&root.join("sled"), &copy).unwrap();
    let entries = crate::recovery::stores::open_sled(&copy).ok().map(|db| {
        let pairs = db.iter().map(|pair| pair.unwrap());
        pairs.map(|(k, v)| (k.to_vec(), v.to_vec())).collect()
    });
    fs::remove_dir_all(copy).unwrap();
    entries
}

/// Cases that are all tried, though some fail.
#[derive(Default)]
pub struct Cases(Vec<String>);

impl Cases {
    pub fn case(&mut self, how: &str, case: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(case)) {
            let text = panic.downcast_ref::<String>().cloned();
            self.0.push(format!("{how}: {}", text.unwrap_or_default()));
        }
    }

    pub fn finish(self) {
        assert!(self.0.is_empty(), "{} failed: {:#?}", self.0.len(), self.0);
    }
}

/// The names of files that are not the same.
pub fn changes(
    now: &BTreeMap<PathBuf, Vec<u8>>,
    before: &BTreeMap<PathBuf, Vec<u8>>,
) -> BTreeSet<String> {
    let names = now.keys().chain(before.keys());
    let changed = names.filter(|name| now.get(*name) != before.get(*name));
    changed.map(|name| name.display().to_string()).collect()
}

/// Asserts that opening refuses with the place, changes nothing but the lock, and that everything
/// is there once the damage is undone. sled settles its own files when it is opened: its entries
/// stay the same. `damage` is done to a copy of `whole`.
pub fn refuses(whole: &Path, before: &Whole, damage: impl FnOnce(&Path), place: &str, how: &str) {
    let root = beside(whole);
    damage(&root);
    let (found, sled) = (files(&root), entries(&root));
    for _ in 0..2 {
        let error = Engine::open(&root, options()).expect_err(how);
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{how}: {error}");
        let Some(Detail::Corruption { place: named, expected, found }) = error.detail() else {
            panic!("I4: {how}: no place in {error}");
        };
        assert!(named.contains(place), "I4: {how}: {named} names no {place}");
        assert!(!expected.is_empty() && !found.is_empty(), "{how}");
    }
    let mut changed = changes(&files(&root), &found);
    changed.remove("lock");
    // sled was opened: its files are not those that it was closed with any more.
    changed.remove("sled-closed");
    // Damage of sled that was found is on record, also where it cannot be built anew.
    changed.remove("repairs");
    if sled.is_some() {
        changed.retain(|name| !name.starts_with("sled/"));
        assert!(entries(&root) == sled, "{how}: looking changed sled");
    }
    // Damaged files get their old content again; changes of the opening stay.
    for (name, bytes) in files(whole) {
        if found.get(&name) != Some(&bytes) {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }
    for name in found.keys() {
        if !whole.join(name).exists() {
            fs::remove_file(root.join(name)).unwrap();
        }
    }
    opens(&root, before, &[], &format!("{how}: and taken back"));
    fs::remove_dir_all(root).unwrap();
    assert!(changed.is_empty(), "{how}: looking changed {changed:?}");
}
