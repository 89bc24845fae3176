//! A first walk through everything.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "tests"
)]

use milepost::{Append, CheckpointQuery, Engine, ErrorKind, Mark, Message, Options, TaskQuery};

fn walk(engine: &Engine) {
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..500 {
        let done = task
            .append(Message::text("user", &format!("message {n}")))
            .unwrap();
        assert_eq!(done.first, n + 1 + n / 100);
        if n % 100 == 99 {
            task.checkpoint(Mark::new().label(format!("m{n}"))).unwrap();
        }
    }
    let back = engine
        .restore(&engine.point("t@m199").unwrap(), Some("back"))
        .unwrap();
    assert_eq!(
        task.append(Message::text("user", "late"))
            .unwrap_err()
            .kind(),
        ErrorKind::Conflict
    );
    back.append(Message::text("user", "new")).unwrap();
    let state = engine.run_state(&engine.point("t").unwrap()).unwrap();
    assert_eq!(state.messages.len(), 201);
    let undone = engine.undo("t").unwrap();
    assert_eq!(undone.lineage().id(), task.lineage().id());
    undone
        .append(Append::from(Message::text("user", "k")).key("a"))
        .unwrap();
    let again = undone
        .append(Append::from(Message::text("user", "k")).key("a"))
        .unwrap();
    assert!(again.repeated);
}

fn check(engine: &Engine) {
    let report = engine.verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let page = engine.checkpoints(&CheckpointQuery::default()).unwrap();
    assert_eq!(page.items.len(), 5);
    assert_eq!(page.items[0].label.as_deref(), Some("m499"));
    assert_eq!(engine.tasks(&TaskQuery::default()).unwrap().items.len(), 1);
    let state = engine.run_state(&engine.point("t/1").unwrap()).unwrap();
    assert_eq!(state.messages.len(), 201);
    let task = engine.task("t").unwrap();
    assert_eq!(
        task.read(..).unwrap().map(|e| e.unwrap()).count() as u64,
        task.head().unwrap().next
    );
}

#[test]
fn in_memory() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    walk(&engine);
    check(&engine);
}

#[test]
fn in_a_folder_through_close_and_reopen() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join(".milepost");
    let engine = Engine::open(&root, Options::default()).unwrap();
    walk(&engine);
    check(&engine);
    engine.drain().unwrap();
    check(&engine);
    engine.close().unwrap();
    for _ in 0..3 {
        let engine = Engine::open(&root, Options::default()).unwrap();
        check(&engine);
        println!("{:?}", engine.stats().unwrap());
        engine.close().unwrap();
    }
    std::fs::remove_dir_all(root.join("sled")).unwrap();
    let engine = Engine::open(&root, Options::default()).unwrap();
    check(&engine);
}
