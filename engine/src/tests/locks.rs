//! Tests: work on large events happens without the lock of the structure.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use milepost_store::INLINE_MAX;

use crate::events::Message;
use crate::retention::Policy;
use crate::{Append, Engine, Mark};

use super::refusals::World;

fn large() -> Message {
    Message::text("user", &"x".repeat(INLINE_MAX + 1))
}

/// Returns an engine that calls `check` before it stores a chunk, and the number of calls. The
/// check gets the engine.
fn watched(check: fn(&Engine)) -> (Engine, Arc<AtomicU64>) {
    let World { log, engine } = World::new();
    let (inner, calls) = (Arc::downgrade(&engine.inner), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&calls);
    let on_chunk = move || {
        let Some(inner) = inner.upgrade() else { return };
        assert!(!inner.structure.is_locked(), "a chunk is stored, and the structure is locked");
        counted.fetch_add(1, Ordering::Relaxed);
        check(&Engine::on(inner));
    };
    assert!(log.on_chunk.set(Box::new(on_chunk)).is_ok());
    (engine, calls)
}

#[test]
fn other_tasks_are_started_and_appended_to_while_the_first_events_of_a_branch_are_stored() {
    let (engine, calls) = watched(|engine| {
        let another = || {
            let name = format!("other-{}", engine.query().tasks(&Default::default())?.items.len());
            let task = engine.start_task(&name, "ana")?;
            task.append(Append::from(Message::text("user", "hello")).mark(Mark::new()))
        };
        thread::scope(|scope| scope.spawn(another).join().unwrap()).unwrap();
    });
    let task = engine.start_task("thread", "ana").unwrap();
    task.append(Message::text("user", "one")).unwrap();
    let from = task.point(2).unwrap();
    let first = Append::batch([large(), large()]).key("k").mark(Mark::new().alias("first"));
    let (branch, appended) = engine.branch(&from).append(first.clone()).unwrap();
    assert!(calls.load(Ordering::Relaxed) > 0);
    assert_eq!(branch.head().unwrap().next, appended.first + 3);
    let (same, again) = engine.branch(&from).append(first).unwrap();
    assert_eq!((same.id(), again.first, again.repeated), (branch.id(), appended.first, true));
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.faults.is_empty(), "{:#?}", report.faults);
}

#[test]
fn no_chunk_is_stored_while_the_structure_is_locked() {
    let (engine, calls) = watched(|_| {});
    let stored = |what: &str| assert_ne!(calls.swap(0, Ordering::Relaxed), 0, "{what}");
    let task = engine.start_task("thread", "ana").unwrap();
    for n in 0..4 {
        let mark = Mark::new().alias(format!("step-{n}"));
        task.append(Append::batch([large(), large()]).mark(mark)).unwrap();
        stored("append");
    }
    let point = engine.point("@step-1").unwrap();
    engine.branch(&point).append(large()).unwrap();
    stored("branch");
    engine.branch(&point).activate(true).run().unwrap();
    let task = engine.restore(&point).run().unwrap();
    task.append(Append::from(large()).mark(Mark::new())).unwrap();
    stored("append");
    engine.retention().retain(&Policy::new().keep(1)).unwrap();
    stored("cleanup");
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.faults.is_empty(), "{:#?}", report.faults);
}
