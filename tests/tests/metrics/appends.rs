//! Appends, commits, and those that fail.

use milepost::events::{ControlChanged, RunControl};
use milepost::{Append, Body, Engine, ErrorKind, Mark, Options, Ticket};
use milepost_runtime::failover::FailoverEngine;

use super::{check, message, store};

fn three(n: u64) -> Append {
    Append::batch([message(n), message(n), message(n)])
}

#[test]
fn every_append_is_counted_once_and_each_commit_is_one_sync() {
    let dir = tempfile::tempdir().unwrap();
    let engine = store(dir.path());
    let task = engine.task("t").unwrap();
    let before = engine.store().metrics();
    check(&before);
    for n in 0..50 {
        task.append(three(n)).unwrap();
        // An append is counted before it is acknowledged.
        let now = engine.store().metrics();
        assert_eq!(now.appends - before.appends, n + 1);
        check(&now);
    }
    let now = engine.store().metrics();
    assert_eq!(now.events - before.events, 150);
    assert_eq!(now.commits - before.commits, 50);
    assert_eq!(now.journal_syncs, now.commits);
    assert_eq!(now.events, engine.store().stats().unwrap().events);
    assert_eq!(now.commits, engine.store().stats().unwrap().seq, "a new store");
    assert_eq!((now.appends_per_commit.max(), now.events_per_commit.max()), (1, 3));
    let bytes = now.journal_bytes - before.journal_bytes;
    assert!(bytes > engine.store().stats().unwrap().event_bytes / 2, "{bytes}");
    assert_eq!((now.append_errors, now.repeated), (0, 0));
    assert_eq!(now.poisoned, 0);
    let rest = engine.clone();
    engine.close().unwrap();
    let syncs = rest.store().metrics().journal_syncs;
    assert_eq!(syncs, now.commits, "what says that it was closed is none");
}

#[test]
fn appends_of_several_threads_add_up_whatever_commits_they_share() {
    let dir = tempfile::tempdir().unwrap();
    let engine = store(dir.path());
    let before = engine.store().metrics();
    std::thread::scope(|threads| {
        for n in 0..8 {
            let task = engine.task("t").unwrap();
            threads.spawn(move || {
                for _ in 0..100 {
                    task.append(three(n)).unwrap();
                }
            });
        }
    });
    let now = engine.store().metrics();
    check(&now);
    assert_eq!(now.appends - before.appends, 800);
    assert_eq!(now.events - before.events, 2400);
    assert_eq!(now.journal_syncs, now.commits);
    assert_eq!(now.commits, engine.store().stats().unwrap().seq);
    engine.close().unwrap();
}

#[test]
fn tickets_are_timed_until_their_result_is_there_and_share_commits() {
    let dir = tempfile::tempdir().unwrap();
    let engine = store(dir.path());
    let task = engine.task("t").unwrap();
    let before = engine.store().metrics();
    let tickets: Vec<Ticket> = (0..2000).map(|n| task.submit(message(n)).unwrap()).collect();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    let now = engine.store().metrics();
    check(&now);
    assert_eq!(now.appends - before.appends, 2000);
    assert!(now.commits - before.commits < 2000);
    assert!(now.appends_per_commit.max() > 1);
    assert_eq!(now.appends_per_commit.quantile(0.0), Some(1));
    engine.close().unwrap();
}

#[test]
fn a_store_in_memory_counts_commits_and_syncs_nothing() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(message(1)).unwrap();
    let now = engine.store().metrics();
    check(&now);
    assert_eq!((now.appends, now.commits), (3, 3), "store, task, message");
    assert_eq!((now.journal_syncs, now.journal_bytes), (0, 0));
    assert_eq!((now.lag_commits, now.lag_bytes), (0, 0));
}

#[test]
fn an_append_that_was_there_is_repeated_and_each_that_is_refused_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let engine = store(dir.path());
    let task = engine.task("t").unwrap();
    let keyed = Append::from(message(1)).key("once");
    task.append(keyed.clone()).unwrap();
    let before = engine.store().metrics();
    assert!(task.append(keyed).unwrap().repeated);
    let mut errors = 0;
    let mut refused = |what: &str, kind: Option<ErrorKind>, expected: ErrorKind| {
        errors += 1;
        assert_eq!(kind, Some(expected), "{what}");
        assert_eq!(engine.store().metrics().append_errors, errors, "{what}");
    };
    let append = |append: Append| task.append(append).err().map(|e| e.kind());
    let other = Append::from(message(2)).key("once");
    refused("key", append(other), ErrorKind::Conflict);
    let behind = Append::from(message(2)).expect_head(1);
    refused("head", append(behind.clone()), ErrorKind::Conflict);
    let none = Append::batch(Vec::<Body>::new());
    refused("empty", append(none), ErrorKind::Invalid);
    let change = |from, to| Append::from(ControlChanged { from, to, reason: None });
    let illegal = change(RunControl::Idle, RunControl::Paused);
    refused("control", append(illegal.clone()), ErrorKind::Invalid);
    let queued = task.submit(illegal).err().map(|e| e.kind());
    refused("queued control", queued, ErrorKind::Invalid);
    let changed = task.control().change(RunControl::Paused, None).err();
    refused("change", changed.map(|e| e.kind()), ErrorKind::Invalid);
    let ticket = task.submit(behind).unwrap().wait().err();
    refused("ticket", ticket.map(|e| e.kind()), ErrorKind::Conflict);
    engine.clone().close().unwrap();
    refused("closed", append(message(3).into()), ErrorKind::Unavailable);
    let now = engine.store().metrics();
    check(&now);
    assert_eq!(now.repeated - before.repeated, 1);
    assert_eq!(now.appends, before.appends);
}

#[test]
fn checkpoints_and_restores_are_counted_where_they_come_about() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.checkpoint(Mark::new().label("alone")).unwrap();
    let behind = Append::from(message(1)).mark(Mark::new().label("behind"));
    task.append(behind).unwrap();
    let now = engine.store().metrics();
    assert_eq!((now.checkpoints, now.restores), (2, 0));
    assert_eq!(now.events, engine.store().stats().unwrap().events);
    let point = engine.point("t@alone").unwrap();
    engine.restore(&point).run().unwrap();
    engine.undo("t").run().unwrap();
    engine.branch(&point).run().unwrap();
    let now = engine.store().metrics();
    check(&now);
    assert_eq!((now.checkpoints, now.restores), (2, 1));
    assert_eq!(now.events, engine.store().stats().unwrap().events);
}

#[test]
fn a_store_whose_write_failed_says_so_and_every_append_is_an_error_from_then_on() {
    let dir = tempfile::tempdir().unwrap();
    let engine = store(dir.path());
    let task = engine.task("t").unwrap();
    let before = engine.store().metrics();
    assert_eq!(before.poisoned, 0);
    // The next file of the archive has no folder.
    std::fs::remove_dir_all(dir.path().join("store/archive")).unwrap();
    let appends = (0..1000).map(|n| task.append(milepost_tests::bodies::bytes(n, 100_000)));
    let appended = appends.take_while(Result::is_ok).count() as u64;
    assert!(appended < 1000);
    let error = task.append(message(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Poisoned);
    let now = engine.store().metrics();
    check(&now);
    assert_eq!(now.poisoned, 1);
    assert_eq!(now.append_errors - before.append_errors, 2);
    assert_eq!(now.appends, before.appends + appended);
    let _ = engine.close();
}

#[test]
fn each_engine_of_a_supervisor_counts_for_itself() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let store = FailoverEngine::open(&path, Options::default(), Default::default()).unwrap();
    let engine = store.engine().unwrap();
    engine.start_task("t", "ana").unwrap();
    store.append("t", message(1)).unwrap();
    assert_eq!(engine.store().metrics().appends, 3);
    drop(engine);
    store.close().unwrap();
    let engine = Engine::open(&path, Options::default()).unwrap();
    assert_eq!(engine.store().metrics().appends, 0);
    engine.close().unwrap();
}
