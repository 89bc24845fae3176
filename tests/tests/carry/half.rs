//! Nothing of an import is there before all of it is.

use milepost::events::Message;
use milepost::retention::{CompactionStep, Policy};
use milepost::{Append, Engine, Mark, Options};
use milepost_tests::{bodies, folder};

use super::{assert_clean, assert_same, given, import, take};

/// A store with two tasks, of which the second takes several commits.
fn two() -> Engine {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("short", "ana").unwrap();
    task.append(Message::text("user", "hello")).unwrap();
    let task = engine.start_task("long", "ana").unwrap();
    for _ in 0..6 {
        let said = (0..2000).map(|n| Message::text("user", &format!("{n}")));
        task.append(Append::batch(said)).unwrap();
    }
    engine
}

fn assert_nothing(engine: &Engine) {
    assert_eq!(engine.transfer().export(true).unwrap().tasks().unwrap(), [""; 0]);
    assert_eq!(engine.query().tasks(&Default::default()).unwrap().items, []);
    assert!(engine.task("short").is_err());
    assert!(engine.task("long").is_err());
    assert_eq!(engine.store().stats().unwrap().tasks, 0);
}

#[test]
fn nobody_sees_a_task_that_is_on_its_way() {
    let (from, to) = (two(), Engine::in_memory(Options::default()).unwrap());
    let all = given(&from, false);
    let mut on_its_way = to.transfer().import();
    take(&mut on_its_way, &all).unwrap();
    assert_nothing(&to);
    on_its_way.finish().unwrap();
    assert_same(&from, &to);
}

#[test]
fn an_import_that_is_dropped_in_the_middle_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let from = two();
    let to = Engine::open(dir.path().join("to"), Options::default()).unwrap();
    let all = given(&from, false);
    let mut dropped = to.transfer().import();
    take(&mut dropped, &all[..all.len() - 10]).unwrap();
    drop(dropped);
    assert_nothing(&to);
    assert_clean(&to);
    import(&to, &all).unwrap();
    assert_same(&from, &to);
    assert_clean(&to);
    to.retention().compact(&mut |_| {}).unwrap();
    assert_same(&from, &to);
    assert_clean(&to);
}

#[test]
fn an_import_that_is_killed_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let from = two();
    let all = given(&from, false);
    for (n, part) in [1, 10, all.len() / 2, all.len()].into_iter().enumerate() {
        let to = Engine::open(path(&format!("to-{n}")), Options::default()).unwrap();
        let mut killed = to.transfer().import();
        take(&mut killed, &all[..part]).unwrap();
        let copy = path(&format!("killed-{n}"));
        folder::copy_store(&path(&format!("to-{n}")), &copy).unwrap();
        let to = Engine::open(&copy, Options::default()).unwrap();
        assert_nothing(&to);
        assert_clean(&to);
        import(&to, &all).unwrap();
        assert_same(&from, &to);
        to.close().unwrap();
        let to = Engine::open(&copy, Options::default()).unwrap();
        assert_same(&from, &to);
        assert_clean(&to);
    }
}

#[test]
fn what_was_cut_short_leaves_the_disk_when_the_store_is_compacted() {
    let dir = tempfile::tempdir().unwrap();
    let to = Engine::open(dir.path().join("to"), Options::default()).unwrap();
    let from = Engine::in_memory(Options::default()).unwrap();
    let task = from.start_task("short", "ana").unwrap();
    let said = (0..4000).map(|n| bodies::bytes(n, 1000));
    task.append(Append::batch(said)).unwrap();
    let mut cut = to.transfer().import();
    take(&mut cut, &given(&from, false)).unwrap();
    drop(cut);
    to.store().drain().unwrap();
    let held = |engine: &Engine| {
        let disk = engine.store().stats().unwrap().disk;
        disk.sled + disk.archive
    };
    let before = held(&to);
    to.retention().compact(&mut |_| {}).unwrap();
    let after = held(&to);
    assert_clean(&to);
    assert!(before > 3_000_000 && after < 1_000_000, "{before} {after}");
}

/// A store with a task whose first events were trimmed.
fn trimmed() -> Engine {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("trimmed", "ana").unwrap();
    for n in 0..3 {
        task.append(Message::text("user", &format!("hello {n}"))).unwrap();
        task.checkpoint(Mark::new().alias(format!("a{n}"))).unwrap();
    }
    engine.retention().retain(&Policy::new().keep(1)).unwrap();
    assert!(task.lineage().info().unwrap().begin > 0);
    engine
}

#[test]
fn a_trimmed_task_has_its_hashes_after_a_kill_although_its_preparation_alone_was_applied() {
    let dir = tempfile::tempdir().unwrap();
    let (root, killed) = (dir.path().join("to"), dir.path().join("killed"));
    let (from, to) = (trimmed(), Engine::open(&root, Options::default()).unwrap());
    let all = given(&from, false);
    let mut on_its_way = to.transfer().import();
    take(&mut on_its_way, &all[..1]).unwrap();
    to.store().drain().unwrap();
    take(&mut on_its_way, &all[1..]).unwrap();
    on_its_way.finish().unwrap();
    let copy = to.copy_task("trimmed", "copy").unwrap().head().unwrap();
    folder::copy_store(&root, &killed).unwrap();
    let to = Engine::open(&killed, Options::default()).unwrap();
    assert_clean(&to);
    assert_eq!(to.task("copy").unwrap().head().unwrap(), copy);
    to.retention().delete_task("copy").unwrap();
    assert_same(&from, &to);
}

#[test]
fn a_trimmed_task_has_its_hashes_although_it_came_while_the_store_was_compacted() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (trimmed(), Engine::open(dir.path().join("to"), Options::default()).unwrap());
    let other = to.start_task("other", "ana").unwrap();
    let append_many = || {
        for n in 0..300 {
            other.append(Message::text("user", &format!("{n}"))).unwrap();
        }
    };
    append_many();
    let all = given(&from, false);
    let (mut on_its_way, mut reports) = (None, 0);
    // The second folder of sled takes the commits in two rounds, with a report in each.
    let mut report = |step| {
        if !matches!(step, CompactionStep::Sled(..)) {
            return;
        }
        reports += 1;
        if reports == 1 {
            take(on_its_way.insert(to.transfer().import()), &all[..1]).unwrap();
            append_many();
        } else if reports == 2 {
            take(on_its_way.as_mut().unwrap(), &all[1..]).unwrap();
        }
    };
    to.retention().compact(&mut report).unwrap();
    assert!(reports >= 2);
    on_its_way.unwrap().finish().unwrap();
    assert_clean(&to);
    to.retention().delete_task("other").unwrap();
    assert_same(&from, &to);
}
