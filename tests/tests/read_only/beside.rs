//! Stores that are read while another engine writes them, or that a kill left so.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use milepost::events::Message;
use milepost::{Body, Engine, ErrorKind, Mark, Options};
use milepost_tests::{bodies, folder};

use super::{answers, assert_same, filled, to_read, tree};

fn message(n: u64) -> Message {
    Message::text("user", &format!("{n} {}", bodies::text(n, 2000)))
}

/// The messages of the task `t`: those from 0 on, in order.
fn messages(engine: &Engine) -> u64 {
    let mut next = 0;
    for event in engine.task("t").unwrap().read(1..).unwrap() {
        let body = event.unwrap().body.unwrap();
        if let Body::Message(_) = body {
            assert_eq!(body, Body::from(message(next)), "in order, and once");
            next += 1;
        }
    }
    next
}

#[test]
fn beside_a_writer_a_look_shows_all_that_was_acknowledged_before_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let writer = Engine::open(&root, Options::default().backlog_bytes(1 << 20)).unwrap();
    let task = writer.start_task("t", "ana").unwrap();
    let (acked, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    // The writer is faster than a look: it stays ahead by so many messages.
    let allowed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0;
            while !stop.load(Ordering::Acquire) {
                if n >= allowed.load(Ordering::Acquire) {
                    std::thread::yield_now();
                    continue;
                }
                task.append(message(n)).unwrap();
                if n % 100 == 0 {
                    task.append(bodies::bytes(n, 300_000)).unwrap();
                    task.checkpoint(Mark::new()).unwrap();
                }
                n += 1;
                acked.store(n, Ordering::Release);
            }
        });
        let mut seen = 0;
        for look in 0..12 {
            allowed.fetch_add(500, Ordering::Release);
            while acked.load(Ordering::Acquire) < look * 500 + 20 {
                std::thread::yield_now();
            }
            let before = acked.load(Ordering::Acquire);
            let engine = Engine::open(&root, to_read()).unwrap();
            let after = acked.load(Ordering::Acquire);
            seen = messages(&engine);
            assert!(before <= seen, "look {look}: {before} were acknowledged, {seen} are seen");
            assert!(seen <= after + 1, "look {look}");
            // It does not follow the writer.
            assert_eq!(messages(&engine), seen);
            let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
            assert!(report.is_clean(), "look {look}: {report:?}");
            engine.close().unwrap();
        }
        stop.store(true, Ordering::Release);
        assert!(seen > 0);
    });
    writer.close().unwrap();
}

#[test]
fn what_a_kill_left_is_looked_at_and_a_torn_end_is_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let (root, copy) = (dir.path().join("store"), dir.path().join("copy"));
    let writer = Engine::open(&root, Options::default()).unwrap();
    let task = writer.start_task("t", "ana").unwrap();
    (0..500).for_each(|n| {
        task.append(message(n)).unwrap();
    });
    folder::copy_store(&root, &copy).unwrap();
    writer.close().unwrap();
    // Half of a frame behind the last one, as a write that was cut short leaves it.
    let segment = folder::files(&copy.join("journal"), ".seg").unwrap().pop().unwrap();
    let bytes = std::fs::read(&segment).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let file = OpenOptions::new().write(true).open(&segment).unwrap();
    file.write_all_at(b"half of a frame", (end as u64).next_multiple_of(8)).unwrap();
    let files = tree(&copy);
    let engine = Engine::open(&copy, to_read()).unwrap();
    assert_eq!(messages(&engine), 500);
    let said = answers(&engine);
    engine.close().unwrap();
    assert!(tree(&copy) == files, "something in the store changed");
    let engine = Engine::open(&copy, Options::default()).unwrap();
    assert_same(&answers(&engine), &said);
}

#[test]
fn a_compaction_during_a_look_gives_right_events_or_an_error_that_says_to_open_again() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    filled(&root, Options::default());
    let writer = Engine::open(&root, Options::default()).unwrap();
    let task = writer.task("tuning").unwrap();
    let last = task.append(bodies::bytes(77, 900_000)).unwrap().first;
    let look = Engine::open(&root, to_read()).unwrap();
    let seen = |engine: &Engine| -> Vec<_> {
        let task = engine.task("tuning").unwrap();
        let begin = task.lineage().info().unwrap().begin;
        task.read(begin..).unwrap().collect()
    };
    let before: Vec<_> = seen(&look).into_iter().map(Result::unwrap).collect();
    for at in [3, 9, 11] {
        let point = writer.point(&format!("essay@{at}")).unwrap();
        writer.retention().erase(&point, None).unwrap();
    }
    writer.retention().delete_task("tuning").unwrap();
    writer.retention().compact(&mut |_| {}).unwrap();
    let mut refused = 0;
    for (event, before) in seen(&look).into_iter().zip(&before) {
        match event {
            Ok(event) => assert_eq!(&event, before),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                assert!(error.to_string().contains("open the store again"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "the chunks of offset {last} are gone");
    let error = look.integrity().verify(None, &mut |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("open the store again"), "{error}");
    look.close().unwrap();
    let look = Engine::open(&root, to_read()).unwrap();
    assert_same(&answers(&look), &answers(&writer));
    writer.close().unwrap();
}

#[test]
fn looks_beside_compactions_are_right_or_say_to_open_again() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    filled(&root, Options::default());
    let writer = Engine::open(&root, Options::default()).unwrap();
    let (stop, last) = (AtomicBool::new(false), AtomicU64::new(20));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for at in 20..100 {
                if stop.load(Ordering::Acquire) {
                    break;
                }
                let point = writer.point(&format!("essay@{at}")).unwrap();
                if writer.retention().erase(&point, None).is_ok() {
                    writer.retention().compact(&mut |_| {}).unwrap();
                }
                last.store(at, Ordering::Release);
            }
            stop.store(true, Ordering::Release);
        });
        let mut right = 0;
        for _ in 0..20 {
            let erased = last.load(Ordering::Acquire);
            match Engine::open(&root, to_read()) {
                Ok(engine) => {
                    let task = engine.task("essay").unwrap();
                    for event in task.read(12..erased).unwrap() {
                        let event = event.unwrap();
                        let gone = matches!(event.body, Some(Body::Message(_)));
                        assert!(!gone || event.offset < 20, "erased before the look");
                    }
                    right += 1;
                    engine.close().unwrap();
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                    assert!(error.to_string().contains("open the store again"), "{error}");
                }
            }
            if stop.load(Ordering::Acquire) && right > 0 {
                break;
            }
        }
        stop.store(true, Ordering::Release);
        assert!(right > 0, "no look went through");
    });
    writer.close().unwrap();
}
