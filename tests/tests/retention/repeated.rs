//! Repeated bodies: their common content is stored once, and stays while an event names it.

use std::path::Path;

use milepost::events::{Application, Data};
use milepost::retention::Policy;
use milepost::{Append, Body, Engine, ErrorKind, Offset, Options};
use milepost_tests::folder;
use milepost_tests::seed::Random;

use super::compacts::{marker, places};
use super::{assert_clean, step};

const TASKS: usize = 100;

/// The result of a call: its beginning differs from those of other calls.
fn result(call: usize, data: &[u8]) -> Body {
    Application { name: format!("test.call-{call:03}"), data: Data::Bytes(data.into()) }.into()
}

/// Bytes that do not compress, with a marker in their middle.
fn data(n: u64, len: usize) -> Vec<u8> {
    let mut data = Random::new(n).bytes(len);
    data.splice(len / 2..len / 2, marker(n));
    data
}

fn append(engine: &Engine, call: usize, data: &[u8]) {
    let task = engine.start_task(&format!("t-{call}"), "ana").unwrap();
    task.append(result(call, data)).unwrap();
}

fn check(engine: &Engine, call: usize, data: &[u8]) {
    let task = engine.task(&format!("t-{call}")).unwrap();
    let event = task.read(1..).unwrap().next().unwrap().unwrap();
    assert_eq!(event.body, Some(result(call, data)), "{call}");
}

/// The bytes of packs, block files and archive.
fn bytes(root: &Path) -> u64 {
    let files = ["packs", "sled/blocks", "archive"];
    let files = files.map(|name| folder::files(&root.join(name), "").unwrap());
    files.iter().flatten().map(|path| path.metadata().unwrap().len()).sum()
}

#[test]
fn a_result_that_comes_again_in_other_tasks_takes_its_room_once() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let data = data(1, 100_000);
    let checked = |engine: &Engine| {
        (0..TASKS).for_each(|call| check(engine, call, &data));
        assert_clean(engine);
    };
    let engine = Engine::open(&root, Options::default()).unwrap();
    (0..TASKS).for_each(|call| append(&engine, call, &data));
    checked(&engine);
    engine.close().unwrap();
    let stored = bytes(&root);
    // Both copies of the first one, the chunk of the second, and of those whose middle is another.
    assert!((200_000..1_000_000).contains(&stored), "{stored}");
    folder::remove_sled(&root).unwrap();
    let engine = Engine::open(&root, Options::default()).unwrap();
    checked(&engine);
    engine.retention().compact(&mut |_| ()).unwrap();
    checked(&engine);
}

#[test]
fn what_bodies_have_in_common_leaves_the_disk_with_the_last_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let data = data(3, 20_000);
    (0..4).for_each(|call| append(&engine, call, &data));
    let erase = |call: usize| {
        let task = engine.task(&format!("t-{call}")).unwrap();
        engine.retention().erase(&task.point(1).unwrap(), None).unwrap();
        engine.retention().compact(&mut |_| ()).unwrap();
        assert_clean(&engine);
    };
    for call in 0..3 {
        erase(call);
        assert_ne!(places(&root, 3), Vec::<String>::new());
        (call + 1..4).for_each(|call| check(&engine, call, &data));
    }
    erase(3);
    assert_eq!(places(&root, 3), Vec::<String>::new());
}

#[test]
fn an_append_that_is_tried_again_is_known_however_its_body_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let (one, two) = (data(1, 20_000), data(2, 300_000));
    let append = |call: usize| {
        let data = if call < 3 { &one } else { &two };
        Append::from(result(call, data)).key(format!("key-{call}"))
    };
    // The first is inline, the others are in chunks.
    let firsts: Vec<Offset> = (0..5).map(|call| task.append(append(call)).unwrap().first).collect();
    let again = || {
        for (call, first) in firsts.iter().enumerate() {
            let again = task.append(append(call)).unwrap();
            assert!(again.repeated && again.first == *first, "{call}");
            let other = Append::from(result(call, &two[1000..])).key(format!("key-{call}"));
            assert_eq!(task.append(other).unwrap_err().kind(), ErrorKind::Conflict);
        }
    };
    again();
    for n in 0..3 {
        step(&task, n);
    }
    engine.retention().retain(&Policy::new().keep(1)).unwrap();
    assert!(task.read(..).unwrap().next().unwrap().unwrap().offset > firsts[4], "trimmed");
    again();
    engine.retention().compact(&mut |_| ()).unwrap();
    again();
}
