//! Long reads: a thread reads ahead, with no visible effect except on time.

use std::path::Path;

use milepost::events::Message;
use milepost::{Append, Engine, Event, Options, Result, Task};

/// Events of about 1 kB, each of which says which it is.
const EVENTS: u64 = 4000;

fn message(n: u64) -> Message {
    // It does not pack, so that blocks are full soon.
    let noise: String =
        (0..30).map(|m| blake3::hash(&(n * 64 + m).to_le_bytes()).to_hex().to_string()).collect();
    Message::text("user", &format!("{n} {}", &noise[..1000]))
}

fn fill(task: &Task, events: std::ops::Range<u64>) {
    for n in events.clone().step_by(100) {
        let batch = n..(n + 100).min(events.end);
        task.append(Append::batch(batch.map(message))).unwrap();
    }
}

fn store(dir: &Path) -> (Engine, Task) {
    let engine = Engine::open(dir.join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    fill(&task, 0..EVENTS);
    engine.store().drain().unwrap();
    (engine, task)
}

/// All events of a range, each read by itself.
fn one_by_one(task: &Task, offsets: std::ops::Range<u64>) -> Vec<Event> {
    let one = |at| task.read(at..at + 1).unwrap().next().unwrap().unwrap();
    offsets.map(one).collect()
}

fn all(events: impl Iterator<Item = Result<Event>>) -> Vec<Event> {
    events.map(Result::unwrap).collect()
}

#[test]
fn a_long_read_gives_what_short_ones_give() {
    let dir = tempfile::tempdir().unwrap();
    let (_engine, task) = store(dir.path());
    let expected = one_by_one(&task, 0..EVENTS + 1);
    assert_eq!(all(task.read(..).unwrap()), expected);
    for from in [1, 999, 2500, EVENTS - 3, EVENTS, EVENTS + 1] {
        let read = all(task.read(from..).unwrap());
        assert_eq!(read, expected[from as usize..], "from {from}");
    }
    for to in [1, 1000, EVENTS - 1] {
        let read = all(task.read(..to).unwrap());
        assert_eq!(read, expected[..to as usize], "to {to}");
    }
}

#[test]
fn a_long_read_goes_through_what_a_lineage_inherits() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, task) = store(dir.path());
    let task = engine.restore(&task.point(3000).unwrap()).run().unwrap();
    fill(&task, 10_000..12_000);
    // The last of it is in no block yet.
    let head = task.head().unwrap().next;
    let expected = one_by_one(&task, 0..head);
    assert_eq!(all(task.read(..).unwrap()), expected);
}

#[test]
fn whoever_stops_in_the_middle_of_a_long_read_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, task) = store(dir.path());
    for stop in [1, 600, 1500, 3999] {
        let read = task.read(..).unwrap().take(stop).map(Result::unwrap);
        assert_eq!(read.count(), stop);
    }
    let mut events = task.read(..).unwrap();
    assert!(events.by_ref().take(2000).all(|event| event.is_ok()));
    // It reads from a store that has been closed: events read ahead may still come, then an error,
    // then the end.
    engine.close().unwrap();
    let (come, rest): (Vec<_>, Vec<_>) = events.partition(Result::is_ok);
    assert!(come.len() < 2000, "{}", come.len());
    assert_eq!(rest.len(), 1, "{rest:?}");
    drop(task);
    // The lock is free.
    let again = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    assert_eq!(again.task("t").unwrap().read(..).unwrap().count(), 4001);
}

#[test]
fn more_long_reads_at_once_than_there_are_threads_for_all_come_to_their_end() {
    let dir = tempfile::tempdir().unwrap();
    let (_engine, task) = store(dir.path());
    // In one thread, so that each holds what it has while the others go on.
    let mut readers: Vec<_> = (0..12).map(|_| task.read(..).unwrap()).collect();
    for n in 0..=EVENTS {
        for events in &mut readers {
            assert_eq!(events.next().unwrap().unwrap().offset, n);
        }
    }
    assert!(readers.iter_mut().all(|events| events.next().is_none()));
}

#[test]
fn a_long_read_beside_appends_ends_where_the_lineage_ended_when_it_began() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, task) = store(dir.path());
    std::thread::scope(|scope| {
        scope.spawn(|| fill(&task, EVENTS..EVENTS + 3000));
        for _ in 0..5 {
            let end = task.head().unwrap().next;
            let offsets: Vec<u64> =
                all(task.read(..end).unwrap()).iter().map(|event| event.offset).collect();
            assert!(offsets.iter().copied().eq(0..end));
        }
    });
    engine.store().drain().unwrap();
    let whole = all(task.read(..).unwrap());
    assert_eq!(whole.len() as u64, EVENTS + 3001);
}
