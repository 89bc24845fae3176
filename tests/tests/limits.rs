//! Limits: I12 (memory is bounded whatever the size of the log), and requests that are refused
//! before anything is written.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "tests"
)]

use milepost::{Append, Engine, ErrorKind, Json, Mark, Message, Options};
use milepost_tests::bodies;

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_backlog_of_one_mib_takes_fifty_mib_and_reading_them_holds_no_more_than_a_block() {
    // A backlog smaller than what made the applier begin a round kept writers waiting for ever.
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().backlog_bytes(1 << 20).cache_bytes(1 << 20);
    let engine = Engine::open(dir.path().join("store"), options.snapshots(false)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..50_u64 {
        let batch: Vec<_> = (0..64).map(|i| bodies::bytes(n * 64 + i, 16 << 10)).collect();
        task.append(batch).unwrap();
    }
    assert!(engine.stats().unwrap().event_bytes > 50 << 20);
    engine.drain().unwrap();
    let before = resident_kib();
    let mut most = 0;
    let mut next = 0;
    for event in task.read(..).unwrap() {
        assert_eq!(event.unwrap().offset, next);
        next += 1;
        if next % 200 == 0 {
            most = most.max(resident_kib());
        }
    }
    assert_eq!(next, 50 * 64 + 1);
    // Other threads of this test binary do little: what is held is sled's cache and some blocks.
    assert!(
        most < before + (24 << 10),
        "I12: from {before} KiB to {most} KiB while 50 MiB were read"
    );
}

#[test]
fn one_event_larger_than_the_backlog_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().backlog_bytes(1 << 20);
    let engine = Engine::open(dir.path().join("store"), options).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..3_u64 {
        let batch: Vec<_> = (0..16).map(|i| bodies::bytes(n * 16 + i, 250 << 10)).collect();
        task.append(batch).unwrap();
    }
    assert_eq!(task.head().unwrap().next, 49);
}

#[test]
fn what_is_too_large_or_empty_is_refused_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let head = task.head().unwrap();
    let invalid = |result: milepost::Result<()>, what: &str| {
        let error = result.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{what}: {error}");
    };
    let hello = || Append::from(Message::text("user", "hello"));
    let append = |append: Append| task.append(append).map(drop);
    let mark = |mark: Mark| task.checkpoint(mark).map(drop);
    invalid(append(Append::default()), "no events");
    invalid(append(hello().key("")), "an empty key");
    invalid(append(hello().actor("a".repeat(1025))), "a long actor");
    let many: Vec<_> = (0..80).map(|n| bodies::bytes(n, 250 << 10)).collect();
    invalid(append(many.into()), "20 MiB inline in one append");
    invalid(mark(Mark::new().label("17")), "a label of digits");
    invalid(mark(Mark::new().label("a\nb")), "a control character");
    invalid(mark(Mark::new().at(2)), "a mark past the head");
    let metadata = serde_json::json!({ "text": "x".repeat(65 << 10) });
    let metadata = Json::from_value(&metadata).unwrap();
    invalid(mark(Mark::new().metadata(metadata)), "long metadata");
    invalid(engine.start_task("", "ana").map(drop), "no task id");
    let long = "d".repeat(5000);
    let point = task.point(1).unwrap();
    invalid(engine.branch(&point, Some(&long)).map(drop), "a long description");
    invalid(engine.restore(&point, Some(&long)).map(drop), "a long description");
    assert_eq!(task.head().unwrap(), head);
    assert_eq!(task.lineages().unwrap().len(), 1);
    // The longest that is taken goes all the way to where it stays.
    engine.branch(&point, Some(&"d".repeat(1024))).unwrap();
    task.append(hello().key("k".repeat(1024)).actor("a".repeat(1024))).unwrap();
    let metadata = serde_json::json!({ "text": "x".repeat(60 << 10) });
    let metadata = Json::from_value(&metadata).unwrap();
    let (label, alias) = ("l".repeat(200), "a".repeat(200));
    let largest = Mark::new().label(label).alias(alias).metadata(metadata);
    task.checkpoint(largest).unwrap();
    engine.drain().unwrap();
    let report = engine.verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
}
