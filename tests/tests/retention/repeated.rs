//! Bodies that come again: what they have in common is stored once, and stays while an event names it.

use std::path::Path;

use milepost::events::{Application, Data};
use milepost::{Body, Engine, Options};
use milepost_tests::folder;
use milepost_tests::seed::Random;

use super::assert_clean;
use super::compacts::{marker, places};

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
