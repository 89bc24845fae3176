//! Limits: requests that are refused before anything is written (I2, I12), and the largest that are
//! taken.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "tests")]

use milepost::events::Message;
use milepost::{Append, Engine, ErrorKind, Json, Mark, Options};
use milepost_tests::bodies;

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
    invalid(engine.restore(&point).description(&long).run().map(drop), "a long description");
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
    engine.store().drain().unwrap();
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
}
