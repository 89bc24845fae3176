//! Packs and their copies: either one restores the lost part of the other.

use std::fs;
use std::path::{Path, PathBuf};

use milepost::repair::repair;
use milepost::store::Outcome;
use milepost::{Body, Engine, Options};
use milepost_tests::{bodies, folder};

use crate::recovery::stores::{cut, name};

const EVENTS: u64 = 4;

fn options() -> Options {
    Options::default().snapshots(false)
}

fn body(n: u64) -> Body {
    bodies::bytes(n, 300 << 10)
}

/// A closed store with large bodies in a pack.
fn large(root: &Path) -> PathBuf {
    let engine = Engine::open(root, options()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..EVENTS {
        task.append(body(n)).unwrap();
    }
    drop(task);
    engine.close().unwrap();
    folder::files(&root.join("packs"), ".pack").unwrap().remove(0)
}

fn reads_all(engine: &Engine) {
    let task = engine.task("t").unwrap();
    let read: Vec<_> = task.read(1..).unwrap().map(|event| event.unwrap().body).collect();
    assert!(read == (0..EVENTS).map(|n| Some(body(n))).collect::<Vec<_>>(), "I1");
}

fn is_equal(pack: &Path) -> bool {
    fs::read(pack).unwrap() == fs::read(folder::copy_of(pack)).unwrap()
}

/// A loss of a file or of its end, with its name.
type Loss = (&'static str, fn(&Path));

fn losses() -> [Loss; 3] {
    [
        ("missing", |path| fs::remove_file(path).unwrap()),
        ("empty", |path| cut(path, 0)),
        ("cut", |path| cut(path, 400_000)),
    ]
}

#[test]
fn a_pack_or_a_copy_that_is_missing_or_cut_is_written_from_the_other_one() {
    for (how, lose) in losses() {
        for of_copy in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().join("store");
            let pack = large(&root);
            let file = if of_copy { folder::copy_of(&pack) } else { pack.clone() };
            lose(&file);
            let engine = Engine::open(&root, options()).unwrap();
            let findings = &engine.store().report().findings;
            assert_eq!(findings.len(), 1, "{how}: {findings:?}");
            assert_eq!(findings[0].outcome, Outcome::Repaired, "{how}");
            assert!(findings[0].place.ends_with(&name(&file)), "{how}: {findings:?}");
            assert!(is_equal(&pack), "{how}: {}", name(&file));
            reads_all(&engine);
            let repairs = engine.integrity().repairs().unwrap();
            assert_eq!(repairs.len(), 1, "the repair leaves a record");
            assert!(repairs[0].complete, "{repairs:?}");
            let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
            assert!(report.faults.is_empty(), "{how}: {:?}", report.faults);
            engine.close().unwrap();
        }
    }
}

#[test]
fn damage_within_a_pack_or_a_copy_loses_nothing_and_a_repair_mends_it() {
    for of_copy in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("store");
        let pack = large(&root);
        let file = if of_copy { folder::copy_of(&pack) } else { pack.clone() };
        // The first entry's header, and the content of the third.
        folder::flip(&file, 3).unwrap();
        folder::flip(&file, 700_000).unwrap();
        let engine = Engine::open(&root, options()).unwrap();
        assert!(engine.store().report().findings.is_empty());
        reads_all(&engine);
        let faults = engine.integrity().verify(None, &mut |_, _| {}).unwrap().faults;
        assert_eq!(faults.len(), 2, "verify reports both: {faults:?}");
        assert!(faults.iter().all(|fault| fault.message.contains(&name(&file))), "{faults:?}");
        engine.close().unwrap();
        let report = repair(&root, &options(), false).unwrap();
        assert!(report.is_whole(), "{report:?}");
        let mended: Vec<_> =
            report.mended.iter().map(|found| name(Path::new(&found.place))).collect();
        assert_eq!(mended, [name(&file)]);
        assert!(is_equal(&pack));
        let engine = Engine::open(&root, options()).unwrap();
        reads_all(&engine);
        engine.close().unwrap();
    }
}

#[test]
fn a_rebuild_of_sled_finds_the_chunks_that_only_a_copy_has() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let pack = large(&root);
    folder::flip(&pack, 3).unwrap();
    folder::flip(&pack, 700_000).unwrap();
    folder::remove_sled(&root).unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    reads_all(&engine);
    engine.close().unwrap();
    let report = repair(&root, &options(), false).unwrap();
    assert!(report.is_whole() && is_equal(&pack), "{report:?}");
    // A store that is opened for reading finds them, too.
    fs::remove_file(&pack).unwrap();
    let engine = Engine::open(&root, options().only_reads(true)).unwrap();
    reads_all(&engine);
    engine.close().unwrap();
    assert!(!pack.exists(), "opened for reading, nothing is written");
}

#[test]
fn a_pack_that_was_replaced_by_another_one_does_not_reach_the_copy() {
    let dir = tempfile::tempdir().unwrap();
    let (root, other) = (dir.path().join("store"), dir.path().join("other"));
    let pack = large(&root);
    let engine = Engine::open(&other, options()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 100..100 + EVENTS {
        task.append(body(n)).unwrap();
    }
    drop(task);
    engine.close().unwrap();
    let copied = fs::read(folder::copy_of(&pack)).unwrap();
    let mut bytes = fs::read(other.join("packs").join(name(&pack))).unwrap();
    bytes.resize(copied.len(), 0);
    fs::write(&pack, bytes).unwrap();

    let engine = Engine::open(&root, options()).unwrap();
    reads_all(&engine);
    let faults = engine.integrity().verify(None, &mut |_, _| {}).unwrap().faults;
    assert!(faults.len() >= EVENTS as usize, "{faults:?}");
    engine.close().unwrap();
    let report = repair(&root, &options(), false).unwrap();
    assert!(report.is_whole(), "{report:?}");
    assert!(fs::read(&pack).unwrap() == copied && is_equal(&pack));
}

#[test]
fn a_compaction_moves_what_the_copy_has_where_the_pack_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let pack = large(&root);
    folder::flip(&pack, 700_000).unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    // The body of this event leaves the pack, so the others are moved.
    let other = engine.start_task("other", "ana").unwrap();
    other.append(body(99)).unwrap();
    drop(other);
    engine.store().drain().unwrap();
    engine.retention().delete_task("other").unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
    assert_eq!(fs::metadata(&pack).unwrap().len(), 0, "the pack was emptied");
    assert_eq!(fs::metadata(folder::copy_of(&pack)).unwrap().len(), 0, "and its copy");
    reads_all(&engine);
    let faults = engine.integrity().verify(None, &mut |_, _| {}).unwrap().faults;
    assert!(faults.is_empty(), "{faults:?}");
    engine.close().unwrap();
    let packs = folder::files(&root.join("packs"), ".pack").unwrap();
    assert!(packs.iter().all(|pack| fs::metadata(pack).unwrap().len() == 0 || is_equal(pack)));
}

#[test]
fn a_body_that_was_captured_as_a_file_before_has_two_copies() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, options()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let body = bodies::result(7, 300 << 10);
    let chunks = engine.store().chunks();
    let held = chunks.hold();
    for content in bodies::chunks(&body) {
        chunks.put(&[content.as_slice()]).unwrap();
    }
    task.append(body.clone()).unwrap();
    drop((held, chunks, task));
    engine.close().unwrap();
    let pack = folder::files(&root.join("packs"), ".pack").unwrap().remove(0);
    fs::remove_file(&pack).unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    let task = engine.task("t").unwrap();
    let event = task.read(1..).unwrap().next().unwrap().unwrap();
    assert_eq!(event.body, Some(body), "I1");
}

#[test]
fn captured_files_take_room_once() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, options()).unwrap();
    engine.start_task("t", "ana").unwrap();
    let chunks = engine.store().chunks();
    let held = chunks.hold();
    for n in 0..20 {
        let content = bodies::text(n, 100_000);
        chunks.put(&[content.as_bytes()]).unwrap();
    }
    drop((held, chunks));
    engine.close().unwrap();
    let on_disk = |path: &Path| {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).unwrap().blocks() * 512
    };
    let pack = folder::files(&root.join("packs"), ".pack").unwrap().remove(0);
    assert!(on_disk(&pack) > 200_000, "{}", on_disk(&pack));
    assert!(on_disk(&folder::copy_of(&pack)) < 10_000, "groups are holes in the copy");
    // They have one copy, and their loss is told.
    fs::remove_file(&pack).unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    let findings = &engine.store().report().findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].outcome, Outcome::Left);
}
