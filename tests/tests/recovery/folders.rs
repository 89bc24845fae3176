//! The folder of a store: its recognition, and its lock.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use milepost::clock::Clock;
use milepost::events::Message;
use milepost::query::CheckpointQuery;
use milepost::{Append, Body, Engine, ErrorKind, Mark, Options};
use milepost_tests::seed::{Random, seed};
use milepost_tests::{bodies, folder};

use crate::recovery::cuts::{clean, messages};

#[test]
fn a_folder_that_holds_something_else_is_no_store() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.txt"), "chapter one").unwrap();
    let error = Engine::open(dir.path(), Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("thesis.txt"), "{error}");
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing was made in it");
    let file = dir.path().join("thesis.txt");
    let error = Engine::open(&file, Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}

#[test]
fn a_store_that_is_not_there_is_made_only_where_that_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let error = Engine::open(&root, Options::default().create(false)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(!root.exists());
}

#[test]
fn a_store_that_was_closed_opens_again_while_old_handles_live() {
    // A handle that is left over kept sled's folder locked, and it was set aside and rebuilt.
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let (clone, mut old) = (engine.clone(), task.read(..).unwrap());
    engine.close().unwrap();
    let engine = Engine::open(&root, Options::default()).unwrap();
    assert_eq!(engine.store().stats().unwrap().recovered, 0, "closed is closed");
    assert!(!root.join("damaged/sled").exists());
    let late = task.append(Message::text("user", "late")).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Unavailable);
    assert_eq!(clone.task("t").unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(old.next().unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
    engine.task("t").unwrap().append(Message::text("user", "on time")).unwrap();
}

#[test]
fn a_copy_of_a_folder_that_is_written_to_is_refused_or_answers_with_what_was_there() {
    let (dir, mut random) = (tempfile::tempdir().unwrap(), Random::new(seed()));
    let root = dir.path().join("live");
    let options = || Options::default().backlog_bytes(1 << 20);
    let engine = Engine::open(&root, options()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let (stop, copying) = (AtomicBool::new(false), AtomicBool::new(false));
    let batches = AtomicU64::new(0);
    let (mut opened, mut refused) = (0, 0);
    let written = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut written = 0;
            while !stop.load(Ordering::Relaxed) {
                if !copying.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                    continue;
                }
                let messages = (written..written + 20)
                    .map(|n| Body::from(Message::text("user", &format!("message {n}"))));
                // Enough for new segments and blocks.
                let more = std::iter::once(bodies::bytes(written, 40_000));
                task.append(Append::batch(messages.chain(more))).unwrap();
                written += 20;
                batches.fetch_add(1, Ordering::Relaxed);
            }
            written
        });
        for n in 0..8 {
            let copy = dir.path().join(format!("copy {n}"));
            let before = batches.load(Ordering::Relaxed);
            copying.store(true, Ordering::Relaxed);
            while batches.load(Ordering::Relaxed) < before + 10 {
                std::thread::yield_now();
            }
            // In an order that keeps promises, or in whatever order the folder has.
            if random.below(3) == 0 {
                folder::copy_store(&root, &copy).unwrap();
            } else {
                folder::copy(&root, &copy).unwrap();
            }
            copying.store(false, Ordering::Relaxed);
            match Engine::open(&copy, options()) {
                Ok(engine) => {
                    clean(&engine);
                    if engine.task("t").is_ok() {
                        assert_eq!(messages(&engine) % 20, 0, "a batch is there whole");
                    }
                    opened += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
                    refused += 1;
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    println!("{opened} copies opened, {refused} were refused");
    assert_eq!(messages(&engine), written);
    clean(&engine);
}

/// A clock that shows a given time.
#[derive(Debug)]
struct Jumping(AtomicU64);

impl Clock for Jumping {
    fn now_us(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn a_clock_that_jumps_changes_no_order() {
    const DAY: u64 = 86_400_000_000;
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let clock = Arc::new(Jumping(AtomicU64::new(100 * DAY)));
    let options = || {
        let options = Options::default().clock(clock.clone());
        options.anchor_to(dir.path().join("anchor"))
    };
    let mut engine = Engine::open(&root, options()).unwrap();
    engine.start_task("t", "ana").unwrap();
    let mut marks = Vec::new();
    for (n, day) in [100, 99, 101, 0, 1 << 24, 50].into_iter().enumerate() {
        clock.0.store(day * DAY, Ordering::Relaxed);
        let task = engine.task("t").unwrap();
        let text = format!("message {n}");
        task.append(Message::text("user", &text)).unwrap();
        marks.push(task.checkpoint(Mark::new()).unwrap().id);
        if n == 3 {
            // A restore, and back again: each is behind what was before, whatever its time.
            let point = task.point(2).unwrap();
            let restored = engine.restore(&point).run().unwrap();
            assert_eq!(restored.epoch(), 2);
            let undone = engine.undo("t").run().unwrap();
            assert_eq!(undone.epoch(), 3);
        }
        engine.close().unwrap();
        engine = Engine::open(&root, options()).unwrap();
        assert!(engine.store().report().findings.is_empty());
    }
    assert_eq!(messages(&engine), 6);
    let listed = engine.query().checkpoints(&CheckpointQuery::default()).unwrap();
    let listed: Vec<_> = listed.items.iter().map(|mark| mark.id).collect();
    marks.reverse();
    assert_eq!(listed, marks, "newest first: the one that was made last");
    clean(&engine);
}
