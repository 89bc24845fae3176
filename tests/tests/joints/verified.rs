//! Verification raises no alarm over a store that is whole.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use milepost::events::{Application, Data, Message};
use milepost::retention::CompactionStep;
use milepost::{Append, Body, Engine, Options};
use milepost_tests::bodies;
use milepost_tests::folder;
use milepost_tests::seed::Random;

/// The first bytes of the names of snapshots and chunks in sled.
const NOTES: [u8; 2] = [50, 4];

fn sled_of(root: &Path) -> sled::Db {
    let config = sled::Config::new().path(root.join("sled"));
    let config = config.mode(sled::Mode::HighThroughput);
    let config = config.flush_every_ms(None).segment_size(256 << 10);
    // A process that another test is just starting holds the lock of sled's file for a moment.
    for _ in 0..100 {
        match config.open() {
            Err(sled::Error::Io(_)) => thread::sleep(Duration::from_millis(20)),
            opened => return opened.unwrap(),
        }
    }
    panic!("sled is locked")
}

fn assert_clean(engine: &Engine) {
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.faults);
}

#[test]
fn snapshots_of_a_deleted_task_that_a_kill_left_are_no_fault() {
    let dir = tempfile::tempdir().unwrap();
    let (root, before) = (dir.path().join("store"), dir.path().join("before"));
    let open = || Engine::open(&root, Options::default()).unwrap();
    let engine = open();
    engine.start_task("essay", "ana").unwrap();
    engine.close().unwrap();
    folder::copy(&root.join("sled"), &before.join("sled")).unwrap();
    let engine = open();
    let task = engine.task("essay").unwrap();
    while engine.store().stats().unwrap().snapshots < 2 {
        let text = bodies::text(1, 900);
        task.append(Message::text("user", &text)).unwrap();
    }
    drop(task);
    engine.close().unwrap();
    let db = sled_of(&root);
    let of_kind = |kind| db.scan_prefix([kind]).map(Result::unwrap);
    let notes: Vec<_> = NOTES.into_iter().flat_map(of_kind).collect();
    assert!(notes.len() > 1);
    drop(db);
    folder::copy(&root.join("packs"), &before.join("packs")).unwrap();
    let engine = open();
    engine.retention().delete_task("essay").unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
    engine.close().unwrap();
    // The next opening gives the folder of the compaction its name.
    open().close().unwrap();
    for name in ["sled", "packs"] {
        fs::remove_dir_all(root.join(name)).unwrap();
        folder::copy(&before.join(name), &root.join(name)).unwrap();
    }
    // This opening writes a journal segment without the task: no file has the task any more.
    open().close().unwrap();
    // A snapshot is written independently of the commits: a kill may leave one that is ahead of its
    // lineage.
    let db = sled_of(&root);
    for (name, value) in notes {
        db.insert(name, value).unwrap();
    }
    drop(db);
    let engine = open();
    assert!(engine.store().report().findings.is_empty(), "{:?}", engine.store().report());
    assert_clean(&engine);
}

/// Bodies in chunks, some of which are erased, so that each compaction writes packs anew.
fn churn(engine: &Engine, task: &str, random: &mut Random) {
    let task = engine.task(task).unwrap();
    let mut body = || {
        Body::from(Application {
            name: "test.bytes".into(),
            data: Data::Bytes(random.bytes(300_000)),
        })
    };
    let batch: Vec<Body> = (0..6).map(|_| body()).collect();
    let first = task.append(Append::batch(batch)).unwrap().first;
    for offset in [first, first + 2, first + 4] {
        engine.retention().erase(&task.point(offset).unwrap(), None).unwrap();
    }
}

#[test]
fn verification_within_a_compaction_finds_no_fault() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    engine.start_task("essay", "ana").unwrap();
    let mut random = Random::new(3);
    for _ in 0..3 {
        churn(&engine, "essay", &mut random);
        let mut packs = 0;
        let mut tell = |step| {
            packs += u64::from(matches!(step, CompactionStep::Packs(..)));
            assert_clean(&engine);
        };
        engine.retention().compact(&mut tell).unwrap();
        assert!(packs > 0);
    }
}

#[test]
fn verification_beside_compactions_finds_no_fault() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    engine.start_task("essay", "ana").unwrap();
    let mut random = Random::new(4);
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let verifies = scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                assert_clean(&engine);
            }
        });
        for _ in 0..12 {
            if verifies.is_finished() {
                break;
            }
            churn(&engine, "essay", &mut random);
            engine.retention().compact(&mut |_| {}).unwrap();
        }
        ended.store(true, Ordering::Relaxed);
    });
}
