//! Tests: the handles of a store in a forked child process.

use crate::events::Message;
use crate::subscribe::SubscribeOptions;
use crate::{Engine, ErrorKind, Mark, Options};

#[test]
fn every_handle_in_a_forked_child_says_so_and_dropping_them_touches_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    task.append(Message::text("user", "one")).unwrap();
    let point = task.point(1).unwrap();
    let mut events = task.read(..).unwrap();
    let mut subscribed = task.subscribe(0, SubscribeOptions::default()).unwrap();
    let mut follower = task.follow(0).unwrap();
    let log = std::sync::Arc::clone(engine.inner.catalog.log());
    log.owner().pretend_fork(true);
    let refused = [
        engine.start_task("other", "ana").unwrap_err(),
        engine.task("essay").unwrap_err(),
        engine.restore(&point).run().unwrap_err(),
        engine.run_state(&point).unwrap_err(),
        engine.store().drain().unwrap_err(),
        engine.retention().compact(&mut |_| {}).unwrap_err(),
        engine.retention().delete_task("essay").unwrap_err(),
        engine.integrity().verify(None, &mut |_, _| {}).unwrap_err(),
        task.append(Message::text("user", "two")).unwrap_err(),
        task.submit(Message::text("user", "two")).unwrap_err(),
        task.checkpoint(Mark::new()).unwrap_err(),
        task.head().unwrap_err(),
        events.next().unwrap().unwrap_err(),
        subscribed.try_next().unwrap_err(),
        follower.try_next().unwrap_err(),
        engine.clone().close().unwrap_err(),
    ];
    for (n, error) in refused.iter().enumerate() {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{n}: {error}");
        assert!(error.to_string().contains("forked"), "{n}: {error}");
    }
    drop((log, engine, task, events, subscribed, follower));
    // The parent still has the store.
    let error = Engine::open(&root, Options::default()).unwrap_err();
    assert!(error.to_string().contains("is open in process"), "{error}");
}
