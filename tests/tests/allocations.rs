//! Allocations on the appending thread. The test is a process of its own, since all of them count.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use milepost::events::Message;
use milepost::{Append, Engine, Mark, Options, Task};

/// The number of counted operations of each kind.
const MANY: u64 = 1000;

/// Allocations of one. What grows now and then, as a map does, is less than one of each.
fn counted(what: &str, mut once: impl FnMut()) -> u64 {
    // Growth that happens once does not count.
    for _ in 0..100 {
        once();
    }
    let counted = allocation_counter::measure(|| (0..MANY).for_each(|_| once()));
    let (count, bytes) = (counted.count_total, counted.bytes_total);
    println!("{what}: {}.{:03}, {} bytes", count / MANY, count % MANY, bytes / MANY);
    count / MANY
}

fn task(engine: &Engine) -> Task {
    engine.start_task("t", "ana").unwrap()
}

#[test]
fn appends_and_checkpoints_allocate_no_more_than_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = task(&engine);
    let text = "x".repeat(1000);
    let making = counted("making an event", || drop(Message::text("user", &text)));
    let append = counted("an append", || {
        task.append(Message::text("user", &text)).unwrap();
    });
    let batch = counted("an append of 16", || {
        let events = (0..16).map(|_| Message::text("user", &text));
        task.append(Append::batch(events)).unwrap();
    });
    let checkpoint = counted("a checkpoint", || {
        task.checkpoint(Mark::new()).unwrap();
    });
    // The numbers of docs/PERFORMANCE.md. A change that needs more says so here, and there.
    assert!(append <= making + 4, "{append} of an append, {making} of its event");
    assert!(batch <= 16 * making + 8, "{batch} of 16, {making} of each");
    assert!(making <= 2, "{making} of a message");
    assert!(checkpoint <= 43, "{checkpoint} of a checkpoint");
    engine.close().unwrap();
}
