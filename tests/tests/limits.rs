//! Limits: requests that are refused before anything is written (I2, I12), and the largest that are
//! taken.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "tests")]

use milepost::events::{Attachment, Data, Message};
use milepost::query::{CheckpointOrder, CheckpointQuery, TaskQuery};
use milepost::transfer::ExportItem;
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
    let (label, alias) = ("l".repeat(200), "a".repeat(1024));
    let largest = Mark::new().label(label).alias(&alias).alias("b".repeat(1024));
    task.checkpoint(largest.metadata(metadata.clone())).unwrap();
    invalid(mark(Mark::new().label("l".repeat(201))), "a long label");
    invalid(mark(Mark::new().alias("a".repeat(1025))), "a long alias");
    invalid(mark(Mark::new().alias(&alias).alias(&alias).alias("b")), "long aliases");
    let attachment = || Attachment::new("w", 0, Data::Bytes(vec![1]));
    let attach = |alias: &str| task.attach(alias, vec![attachment()]);
    invalid(attach(&"a".repeat(1025)).map(drop), "a long alias of attached data");
    attach(&alias).unwrap();
    invalid(engine.start_task(&"t".repeat(1025), "ana").map(drop), "a long task id");
    invalid(engine.start_task("u", &"u".repeat(201)).map(drop), "a long user");
    let largest = Mark::new().alias(&alias).metadata(metadata);
    task.checkpoint(largest).unwrap();
    engine.store().drain().unwrap();
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

/// Returns a name of 1,024 bytes, most of them of two bytes each, that ends in `end`.
fn long(end: char) -> String {
    format!("{}:{end}", "é".repeat(511))
}

/// Checks a task with long names: its marks by alias, and what is attached to them.
fn check_long(engine: &Engine, id: &str, aliases: &[String]) {
    let query = CheckpointQuery {
        task: Some(id.to_owned()),
        order: CheckpointOrder::Alias,
        limit: Some(1),
        ..CheckpointQuery::default()
    };
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = engine.query().checkpoints(&CheckpointQuery { cursor, ..query.clone() });
        let page = page.unwrap();
        found.extend(page.items.into_iter().flat_map(|checkpoint| checkpoint.aliases));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, aliases.iter().rev().cloned().collect::<Vec<_>>());
    let task = engine.task(id).unwrap();
    for alias in aliases {
        let only = CheckpointQuery { alias: Some(alias.clone()), limit: None, ..query.clone() };
        assert_eq!(engine.query().checkpoints(&only).unwrap().items.len(), 1);
        assert_eq!(task.attached(alias).unwrap().len(), 1, "{alias}");
    }
    let tasks = TaskQuery { prefix: Some(id.to_owned()), ..TaskQuery::default() };
    assert_eq!(engine.query().tasks(&tasks).unwrap().items.len(), 1);
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
}

#[test]
fn ids_and_aliases_of_1024_bytes_are_found_after_reopens_rebuilds_restores_and_imports() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let (id, aliases) = (long('t'), ['a', 'b', 'c', 'd'].map(long));
    assert!(aliases.iter().chain([&id]).all(|name| name.len() == 1024));
    let engine = Engine::open(&path, Options::default()).unwrap();
    let task = engine.start_task(&id, "ana").unwrap();
    for alias in &aliases {
        let said = Append::from(Message::text("user", "hello"));
        task.append(said.mark(Mark::new().alias(alias))).unwrap();
        task.attach(alias, vec![Attachment::new("w", 0, Data::Bytes(vec![1]))]).unwrap();
    }
    let point = engine.point(&format!("{id}@{}", aliases[1])).unwrap();
    engine.restore(&point).run().unwrap();
    check_long(&engine, &id, &aliases);
    engine.close().unwrap();
    let engine = Engine::open(&path, Options::default()).unwrap();
    check_long(&engine, &id, &aliases);
    engine.close().unwrap();
    // The index is made again from the archive.
    std::fs::remove_dir_all(path.join("sled")).unwrap();
    let engine = Engine::open(&path, Options::default()).unwrap();
    check_long(&engine, &id, &aliases);
    let other = Engine::open(dir.path().join("other"), Options::default()).unwrap();
    let mut import = other.transfer().import();
    let mut take = |item: ExportItem<'_>| match item {
        ExportItem::Task(task) => import.task(task),
        ExportItem::Chunk(chunk) => import.chunk(chunk),
        ExportItem::Event(event) => import.event(event),
        _ => Ok(()),
    };
    engine.transfer().export(false).unwrap().task(&id, &mut take).unwrap();
    import.finish().unwrap();
    check_long(&other, &id, &aliases);
}
