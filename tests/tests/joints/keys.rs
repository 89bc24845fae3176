//! Idempotency keys beside cleanup, compaction and damage: the same request is never taken twice
//! (I14).

use std::cell::Cell;
use std::fs;
use std::path::Path;

use milepost::{
    Append, CompactionStep, Engine, ErrorKind, Mark, Message, Options, Retention, Task,
};
use milepost_tests::folder;

fn keyed(n: u32) -> Append {
    Append::from(Message::text("user", &format!("pay {n} to bob"))).key(format!("payment-{n}"))
}

/// A task whose keys are on a lineage that a cleanup lets go.
fn paid(engine: &Engine, payments: u32) -> Task {
    let task = engine.start_task("essay", "ana").unwrap();
    for n in 0..payments {
        task.append(keyed(n)).unwrap();
    }
    let end = task.head().unwrap().next;
    let task = engine.restore(&task.point(end).unwrap(), None).unwrap();
    task.append(Message::text("user", "m")).unwrap();
    for _ in 0..3 {
        task.checkpoint(Mark::new()).unwrap();
    }
    assert!(task.append(keyed(17)).unwrap().repeated);
    task
}

#[test]
fn keys_stay_used_where_a_cleanup_runs_during_a_compaction() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = paid(&engine, 300);
    let done = Cell::new(false);
    let compacted = engine.compact(&mut |step| {
        if let (CompactionStep::Sled(..), false) = (step, done.get()) {
            done.set(true);
            let policy = Retention::new().keep(1).undo(0);
            let report = engine.retain(&policy).unwrap();
            assert!(
                report.tasks.iter().any(|task| !task.trimmed.is_empty()),
                "{report:?}"
            );
        }
    });
    compacted.unwrap();
    assert!(done.get());
    let report = engine.verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.faults.first());
    assert!(task.append(keyed(17)).unwrap().repeated);
}

/// A store that was trimmed, closed, and whose packs were damaged then.
fn trimmed_and_damaged(root: &Path) {
    let engine = Engine::open(root, Options::default()).unwrap();
    paid(&engine, 20);
    engine.retain(&Retention::new().keep(1).undo(0)).unwrap();
    let task = engine.task("essay").unwrap();
    assert!(
        task.append(keyed(17)).unwrap().repeated,
        "the base keeps the key"
    );
    drop(task);
    engine.close().unwrap();
    for path in folder::files(&root.join("packs"), ".pack").unwrap() {
        let mut bytes = fs::read(&path).unwrap();
        for byte in bytes.iter_mut().skip(60).step_by(40) {
            *byte ^= 1;
        }
        fs::write(&path, bytes).unwrap();
    }
}

#[test]
fn a_compaction_frees_no_key_where_a_base_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    trimmed_and_damaged(&root);
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.task("essay").unwrap();
    assert!(task.append(keyed(17)).unwrap().repeated);
    let compacted = engine.compact(&mut |_| {});
    assert_eq!(compacted.unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(task.append(keyed(17)).unwrap().repeated);
}

#[test]
fn a_rebuild_of_the_index_frees_no_key_where_a_base_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    trimmed_and_damaged(&root);
    fs::write(root.join("sled-suspect"), b"").unwrap();
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.task("essay").unwrap();
    for n in [17, 1000] {
        let error = task.append(keyed(n)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("packs"), "{error}");
    }
    // Appends without a key, and tasks that were not trimmed, are as before.
    task.append(Message::text("user", "on")).unwrap();
    let other = engine.start_task("other", "ana").unwrap();
    assert!(!other.append(keyed(17)).unwrap().repeated);
}

#[test]
fn an_append_with_a_checkpoint_is_repeated_also_once_the_checkpoint_was_removed() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    let step = || keyed(1).mark(Mark::new().label("step-1"));
    let done = task.append(step()).unwrap();
    assert_eq!(task.append(step()).unwrap().checkpoint, done.checkpoint);
    engine
        .remove_checkpoints(&[done.checkpoint.unwrap()])
        .unwrap();
    let again = task.append(step()).unwrap();
    assert!(again.repeated);
    assert_eq!(
        (again.first, again.head, again.checkpoint),
        (done.first, done.head, None)
    );
    for other in [Mark::new().label("step-2"), Mark::new()] {
        let error = task.append(keyed(1).mark(other)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }
}
