//! Writes to a store that was opened for reading only.

use milepost::events::{Message, RunControl};
use milepost::query::CheckpointQuery;
use milepost::retention::Policy;
use milepost::{Detail, Engine, Error, ErrorKind, Mark, Options};
use milepost_runtime::failover::FailoverEngine;

use super::{answers, filled, to_read, tree};

#[test]
fn every_write_is_refused_says_why_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    filled(&root, Options::default());
    let engine = Engine::open(&root, to_read()).unwrap();
    let (files, before) = (tree(&root), answers(&engine));
    let task = engine.task("essay").unwrap();
    let point = engine.point("essay@5").unwrap();
    let lineage = task.lineage_named(task.lineage().id()).unwrap();
    let all = engine.query().checkpoints(&CheckpointQuery::default()).unwrap().items;
    let (one, pinned) = (all[1].id, all[0].id);
    let message = || Message::text("user", "more");
    let long = || milepost_tests::bodies::bytes(1, 600_000);
    let refused: Vec<(&str, Error)> = vec![
        ("check", engine.store().check_writable().unwrap_err()),
        ("start", engine.start_task("new", "ana").unwrap_err()),
        ("append", task.append(message()).unwrap_err()),
        ("long", task.append(long()).unwrap_err()),
        ("by name", lineage.append(message()).unwrap_err()),
        ("submit", task.submit(message()).unwrap_err()),
        ("try", task.try_submit(&message().into()).unwrap_err()),
        ("checkpoint", task.checkpoint(Mark::new()).unwrap_err()),
        ("pause", task.control().change(RunControl::Running, None).unwrap_err()),
        ("restore", engine.restore(&point).run().unwrap_err()),
        ("branch", engine.branch(&point).run().unwrap_err()),
        ("undo", engine.undo("tuning").run().unwrap_err()),
        ("pin", engine.retention().pin(&one, None).unwrap_err()),
        ("unpin", engine.retention().unpin(&pinned).unwrap_err()),
        ("erase", engine.retention().erase(&point, None).unwrap_err()),
        ("remove", engine.retention().unmark(&[one]).unwrap_err()),
        ("retain", engine.retention().retain(&Policy::new().keep(1)).unwrap_err()),
        ("delete", engine.retention().delete_task("essay").unwrap_err()),
        ("delete all", engine.retention().delete_user("ana", &mut |_, _| {}).unwrap_err()),
        ("compact", engine.retention().compact(&mut |_| {}).unwrap_err()),
        ("chunks", engine.store().chunks().put(&[b"content"]).unwrap_err()),
    ];
    for (what, error) in refused {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{what}: {error}");
        let detail = error.detail();
        let path = root.display().to_string();
        assert_eq!(detail, Some(&Detail::ReadOnly { path }), "{what}: {error}");
        let text = error.to_string();
        assert!(text.contains("opened for reading only"), "{what}: {text}");
        assert!(text.contains("open it without"), "{what}: {text}");
    }
    assert_eq!(answers(&engine), before);
    engine.close().unwrap();
    assert!(tree(&root) == files);
}

#[test]
fn a_supervisor_takes_no_store_that_it_cannot_write_to() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    filled(&root, Options::default());
    let error = FailoverEngine::open(
        &root,
        to_read(),
        milepost_runtime::failover::FailoverOptions::default(),
    )
    .unwrap_err();
    assert!(matches!(error.detail(), Some(Detail::ReadOnly { .. })), "{error}");
}
