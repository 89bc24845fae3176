//! Small groups of chunks: a compaction gathers them into large ones, once, and loses none.

use std::fs;
use std::ops::Range;
use std::path::Path;

use milepost::retention::CompactionStep;
use milepost::{Body, Engine, Options, Task};
use milepost_tests::seed::Random;
use milepost_tests::{bodies, folder};

fn open(root: &Path) -> Engine {
    Engine::open(root, Options::default().snapshots(false)).unwrap()
}

/// The bytes that only one version has.
fn own(n: u64) -> Vec<u8> {
    Random::new(n).bytes(300)
}

/// Returns the capture of a version of a file that does not compress by itself; versions differ in
/// a few bytes. The chunks are the file and the nodes of the tree.
fn version(n: u64) -> (Body, [Vec<u8>; 3]) {
    let mut file = Random::new(0xf11e).bytes(10_000);
    file.extend(own(n));
    file.extend(Random::new(0xf11f).bytes(10_000));
    let (body, [directory, root]) = bodies::capture(&file);
    (body, [file, directory, root])
}

/// Stores versions as captures do: each in a group of its own, and an event that names it.
fn store(engine: &Engine, task: &Task, versions: Range<u64>) {
    let (chunks, held) = (engine.store().chunks(), engine.store().chunks().hold());
    for n in versions {
        let (body, contents) = version(n);
        chunks.put(&contents.each_ref().map(Vec::as_slice)).unwrap();
        task.append(body).unwrap();
    }
    chunks.sync().unwrap();
    drop(held);
}

fn assert_holds(engine: &Engine, first: u64, versions: Range<u64>) {
    let events = engine.task("t").unwrap().read(first..).unwrap();
    let found: Vec<_> = events.map(|event| event.unwrap().body.unwrap()).collect();
    let expected: Vec<_> = versions.map(|n| version(n).0).collect();
    assert!(found == expected, "{} of {}", found.len(), expected.len());
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

/// Returns the length of each pack.
fn packs(root: &Path) -> Vec<u64> {
    let mut packs = folder::files(&root.join("packs"), ".pack").unwrap();
    packs.sort();
    let len = |path| fs::metadata(path).unwrap().len();
    packs.iter().map(len).collect()
}

#[test]
fn small_groups_are_gathered_once_and_all_is_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = open(&root);
    let task = engine.start_task("t", "ana").unwrap();
    // A full group, and three that are left over: those stay a small one.
    store(&engine, &task, 0..54);
    let before: u64 = packs(&root).iter().sum();
    engine.retention().compact(&mut |_| {}).unwrap();
    let after = packs(&root);
    assert_eq!(after[0], 0, "what was gathered left its pack");
    assert!(after.iter().sum::<u64>() * 10 < before, "{before}, {after:?}");
    assert_holds(&engine, 1, 0..54);
    for _ in 0..2 {
        engine.retention().compact(&mut |_| {}).unwrap();
        let all = packs(&root);
        assert_eq!(all[..after.len()], after, "there is nothing more to gather");
        assert_eq!(all[after.len()..].iter().sum::<u64>(), 0);
    }
    engine.close().unwrap();
    folder::remove_sled(&root).unwrap();
    let engine = open(&root);
    assert_holds(&engine, 1, 0..54);
}

#[test]
fn a_few_small_groups_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = open(&root);
    let task = engine.start_task("t", "ana").unwrap();
    store(&engine, &task, 0..15);
    let before = packs(&root);
    engine.retention().compact(&mut |_| {}).unwrap();
    assert_eq!(packs(&root)[..before.len()], before);
    assert_holds(&engine, 1, 0..15);
}

#[test]
fn a_store_that_is_killed_while_groups_are_gathered_has_all_that_was_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = open(&root);
    let task = engine.start_task("t", "ana").unwrap();
    task.append(bodies::bytes(1, 300 << 10)).unwrap();
    store(&engine, &task, 0..20);
    // Too few to be gathered: the next chunks are in another pack.
    engine.retention().compact(&mut |_| {}).unwrap();
    store(&engine, &task, 20..60);
    let before = packs(&root);
    assert!(before.iter().filter(|len| **len > 300_000).count() == 2, "{before:?}");
    // Something of the first goes, so that both are written again.
    engine.retention().erase(&task.point(1).unwrap(), None).unwrap();
    let mut copies = Vec::new();
    let mut copy = |name: String| {
        let copy = dir.path().join(name);
        folder::copy_store(&root, &copy).unwrap();
        copies.push(copy);
    };
    let mut waits = false;
    engine
        .retention()
        .compact(&mut |step| {
            if let CompactionStep::Packs(done, _) = step {
                // Chunks gathered from the first wait for the second, and so does the pack.
                waits = waits || (done == 1 && packs(&root)[0] > 0);
                copy(format!("at-{done}"));
            }
        })
        .unwrap();
    assert!(waits);
    copy("after".to_owned());
    assert_eq!(packs(&root)[..2], [0, 0]);
    let kept = |engine: &Engine| {
        let events = engine.task("t").unwrap().read(2..).unwrap();
        let found: Vec<_> = events.map(|event| event.unwrap().body.unwrap()).collect();
        let expected: Vec<_> = (0..60).map(|n| version(n).0).collect();
        assert!(found == expected);
        let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        assert!(report.is_clean(), "{report:?}");
    };
    kept(&engine);
    for copy in copies {
        let engine = open(&copy);
        kept(&engine);
        engine.retention().compact(&mut |_| {}).unwrap();
        kept(&engine);
        assert_eq!(packs(&copy)[..2], [0, 0], "the next one does the rest");
        engine.close().unwrap();
    }
}

#[test]
fn a_small_group_that_is_damaged_is_moved_as_it_is_and_hides_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = open(&root);
    let task = engine.start_task("t", "ana").unwrap();
    store(&engine, &task, 0..60);
    let pack = folder::files(&root.join("packs"), ".pack").unwrap().remove(0);
    let hit = own(7);
    let bytes = fs::read(&pack).unwrap();
    let at = bytes.windows(50).position(|part| part == &hit[100..150]);
    folder::flip(&pack, at.unwrap() as u64).unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
    let after = packs(&root);
    assert_eq!(after[0], 0);
    let chunks = engine.store().chunks();
    for n in 0..60 {
        let (_, [file, ..]) = version(n);
        let found = chunks.get(&milepost_codec::ChunkEntry::id_of(&file));
        assert_eq!(found.is_ok_and(|found| *found == *file), n != 7);
    }
    engine.retention().compact(&mut |_| {}).unwrap();
    assert_eq!(packs(&root)[..after.len()], after);
}
