//! Nothing of an import is there before all of it is.

use milepost::events::Message;
use milepost::{Append, Engine, Options};
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
