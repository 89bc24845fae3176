//! Compactions with concurrent writers, and openings after them.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use milepost::events::{Application, Data};
use milepost::{Append, Body, Engine, Options};
use milepost_tests::folder;
use milepost_tests::seed::Random;

use crate::joints::holding;

fn blob(bytes: Vec<u8>) -> Body {
    let data = Data::Bytes(bytes);
    Body::from(Application { name: "s".into(), data })
}

/// A MiB of events that do not compress.
fn megabyte(seed: u64) -> Append {
    let mut random = Random::new(seed);
    Append::batch((0..10).map(|_| blob(random.bytes(100_000))))
}

fn options() -> Options {
    Options::default().snapshots(false)
}

#[test]
fn a_compaction_ends_beside_a_writer_that_never_pauses() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), options()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    let other = engine.start_task("other", "ana").unwrap();
    for n in 0..10 {
        task.append(megabyte(n)).unwrap();
    }
    engine.retention().erase(&engine.point("essay@1").unwrap(), None).unwrap();
    let ended = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let appends = (0..2000).map(|n| other.append(megabyte(n % 8)).unwrap());
            appends.take_while(|_| !ended.load(Ordering::Relaxed)).count()
        });
        engine.retention().compact(&mut |_| {}).unwrap();
        ended.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    assert!(written < 1000, "the compaction waited for {written} MiB of others");
}

#[test]
fn opening_reads_no_archive_because_an_event_was_erased_once() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, options()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    for n in 0..10 {
        task.append(megabyte(n)).unwrap();
    }
    engine.retention().erase(&engine.point("essay@1").unwrap(), None).unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
    drop(task);
    engine.close().unwrap();
    // A reader of this file would say that it is damaged.
    let archive = folder::files(&root.join("archive"), ".mpa").unwrap();
    let mut bytes = fs::read(&archive[0]).unwrap();
    let middle = usize::midpoint(4096, bytes.len());
    bytes[middle] ^= 1;
    fs::write(&archive[0], bytes).unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    assert!(engine.store().report().findings.is_empty(), "{:?}", engine.store().report());
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(!report.is_clean());
}

#[test]
fn what_was_set_aside_does_not_keep_what_was_erased() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let secret = Random::new(99).bytes(600);
    let needle = &secret[100..160];
    let engine = Engine::open(&root, options()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    task.append(blob(secret.clone())).unwrap();
    drop(task);
    engine.close().unwrap();
    // The next opening sets sled aside and builds it anew.
    fs::write(root.join("sled-suspect"), b"").unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    // Nothing was withdrawn: what was set aside stays.
    engine.retention().compact(&mut |_| {}).unwrap();
    let aside = root.join("damaged");
    assert!(holding(&root, needle).iter().any(|path| path.starts_with(&aside)));
    engine.retention().erase(&engine.point("essay@1").unwrap(), None).unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
    engine.close().unwrap();
    assert_eq!(holding(&root, needle), Vec::<PathBuf>::new());
}
