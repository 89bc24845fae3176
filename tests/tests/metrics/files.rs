//! Metrics of files: segments, archive, packs, and the lag of the applier.

use std::path::Path;

use milepost::{Append, Engine, Options};
use milepost_tests::bodies;

use super::{check, message, store};

/// The bytes of each file of a folder whose name ends so.
fn files(dir: &Path, ending: &str) -> Vec<u64> {
    let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
    let named = entries.filter(|entry| {
        let name = entry.file_name().into_string().unwrap();
        name.ends_with(ending) && !name.starts_with("spare")
    });
    named.map(|entry| entry.metadata().unwrap().len()).collect()
}

#[test]
fn what_waits_for_the_applier_is_the_lag_and_after_a_drain_there_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let engine = store(dir.path());
    let task = engine.task("t").unwrap();
    for n in 0..20 {
        task.append(message(n)).unwrap();
    }
    // So little waits for more.
    let now = engine.store().metrics();
    assert_eq!(now.lag_commits, now.commits);
    assert!(now.lag_bytes >= now.journal_bytes, "{now:?}");
    assert_eq!(now.apply_us.count(), 0);
    engine.store().drain().unwrap();
    let now = engine.store().metrics();
    assert_eq!((now.lag_commits, now.lag_bytes), (0, 0));
    assert_eq!(now.apply_us.count(), 1);
    engine.close().unwrap();
}

#[test]
fn segments_and_archive_are_counted_as_the_files_are() {
    let dir = tempfile::tempdir().unwrap();
    let engine = store(dir.path());
    let root = dir.path().join("store");
    let task = engine.task("t").unwrap();
    // Enough that a segment of the largest size comes back, and is begun again: each drain begins
    // when what the one before had finished is archived. On a busy machine that takes more of them.
    for n in 0..400 {
        let many = (0..5).map(|m| bodies::bytes(n * 5 + m, 200_000));
        task.append(Append::batch(many)).unwrap();
        engine.store().drain().unwrap();
        if n >= 50 && engine.store().metrics().segments_recycled > 0 {
            break;
        }
    }
    let rest = engine.clone();
    engine.close().unwrap();
    let now = rest.store().metrics();
    check(&now);
    let archived = files(&root.join("archive"), ".mpa");
    assert!(archived.len() > 3);
    assert_eq!(now.archive_files, archived.len() as u64);
    assert_eq!(now.archive_bytes, archived.iter().sum::<u64>());
    let segments = files(&root.join("journal"), ".seg");
    assert_eq!(now.segments, (segments.len() + archived.len()) as u64);
    assert!(now.segments_recycled > 0, "{now:?}");
    assert!(now.apply_us.count() > 1, "{now:?}");
    assert!(now.journal_bytes > 50_000_000, "{now:?}");
}

#[test]
fn under_a_load_segments_are_used_again_and_behind_it_one_is_free() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    // Writers wait for the applier soon, so there are never many segments at once.
    let engine = Engine::open(&root, Options::default().backlog_bytes(8 << 20)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..150 {
        let many = (0..5).map(|m| bodies::bytes(n * 5 + m, 200_000));
        task.append(Append::batch(many)).unwrap();
    }
    let rest = engine.clone();
    engine.close().unwrap();
    let now = rest.store().metrics();
    assert!(now.segments > 16, "{now:?}");
    assert!(now.segments_recycled * 3 > now.segments, "{now:?}");
    // One is written on, one is free.
    let left = std::fs::read_dir(root.join("journal")).unwrap().count();
    assert!(left <= 2, "{left} files");
}

#[test]
fn a_chunk_is_counted_when_it_is_stored_and_not_when_it_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let engine = store(dir.path());
    let task = engine.task("t").unwrap();
    let large = bodies::bytes(1, 1_000_000);
    task.append(large.clone()).unwrap();
    let now = engine.store().metrics();
    let packs = files(&dir.path().join("store/packs"), ".pack");
    assert_eq!(now.chunks, 4, "of 256 KiB each");
    assert_eq!(now.chunk_bytes, packs.iter().sum::<u64>());
    assert_eq!(now.pack_syncs, 1);
    task.append(large).unwrap();
    let again = engine.store().metrics();
    assert_eq!(again.appends, now.appends + 1);
    assert_eq!((again.chunks, again.chunk_bytes), (4, now.chunk_bytes));
    assert_eq!(again.pack_syncs, 1, "nothing to sync");
    engine.close().unwrap();
}

#[test]
fn commits_that_opening_takes_back_are_not_counted_again() {
    let dir = tempfile::tempdir().unwrap();
    let engine = store(dir.path());
    let task = engine.task("t").unwrap();
    for n in 0..20 {
        task.append(message(n)).unwrap();
    }
    drop(task);
    engine.close().unwrap();
    std::fs::remove_dir_all(dir.path().join("store/sled")).unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let now = engine.store().metrics();
    check(&now);
    assert_eq!((now.appends, now.commits, now.journal_syncs), (0, 0, 0));
    assert_eq!(engine.store().stats().unwrap().events, 21);
    engine.close().unwrap();
}
