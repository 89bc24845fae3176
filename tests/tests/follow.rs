//! A follower that keeps the events it receives has the history of the active lineage: without a
//! gap and without a repetition, across restores, undos, branches, and reconnects.

use std::time::Duration;

use milepost::subscribe::{Followed, Follower};
use milepost::{Engine, ErrorKind, Event, LineageId, Options, Task};
use milepost_tests::bodies;
use proptest::prelude::*;

/// A follower with the events that a client would keep.
struct Reader {
    follower: Follower,
    kept: Vec<Event>,
}

impl Reader {
    fn new(task: &Task) -> Self {
        Self { follower: task.follow(0).unwrap(), kept: Vec::new() }
    }

    /// Takes one thing, and says whether there was one.
    fn take(&mut self) -> bool {
        match self.follower.try_next().unwrap() {
            None => return false,
            Some(Followed::Event(event)) => {
                assert_eq!(event.offset, self.kept.len() as u64, "no gap, nothing twice");
                self.kept.push(event);
            }
            Some(Followed::LineageChanged(moved)) => {
                assert_ne!(moved.from, moved.to);
                assert!(moved.at <= self.kept.len() as u64);
                self.kept.truncate(moved.at as usize);
            }
        }
        let (_, next) = self.follower.position();
        assert_eq!(next, self.kept.len() as u64);
        true
    }
}

#[derive(Debug, Clone)]
enum Step {
    Append(u8),
    Restore(u8),
    Undo,
    Redo,
    Switch(u8),
    Aside(u8),
    Take(u8),
    Reconnect,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_u8..5).prop_map(Step::Append),
        2 => any::<u8>().prop_map(Step::Restore),
        1 => Just(Step::Undo),
        1 => Just(Step::Redo),
        1 => any::<u8>().prop_map(Step::Switch),
        1 => any::<u8>().prop_map(Step::Aside),
        4 => (1_u8..8).prop_map(Step::Take),
        2 => Just(Step::Reconnect),
    ]
}

fn events_of(engine: &Engine) -> Vec<Event> {
    let task = engine.task("t").unwrap();
    task.read(..).unwrap().map(Result::unwrap).collect()
}

proptest! {
    #[test]
    fn what_a_follower_gives_is_the_history_of_the_active_lineage(
        steps in prop::collection::vec(step(), 1..60)
    ) {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        let mut reader = Reader::new(&task);
        let mut number = 0;
        for step in steps {
            let task = engine.task("t").unwrap();
            let head = task.head().unwrap().next;
            match step {
                Step::Append(count) => {
                    for _ in 0..count {
                        number += 1;
                        task.append(bodies::text_message(number)).unwrap();
                    }
                }
                Step::Restore(to) => {
                    let point = task.point(1 + u64::from(to) % head).unwrap();
                    engine.restore(&point).run().unwrap();
                }
                Step::Undo => {
                    if let Err(error) = engine.undo("t").run() {
                        prop_assert_eq!(error.kind(), ErrorKind::Invalid);
                    }
                }
                Step::Redo => {
                    if let Err(error) = engine.redo("t").run() {
                        prop_assert_eq!(error.kind(), ErrorKind::Invalid);
                    }
                }
                Step::Switch(to) => {
                    let lineages = task.lineages().unwrap();
                    let to = lineages[usize::from(to) % lineages.len()].id;
                    engine.switch(&task.lineage_named(to).unwrap()).run().unwrap();
                }
                Step::Aside(at) => {
                    let point = task.point(1 + u64::from(at) % head).unwrap();
                    number += 1;
                    let aside = engine.branch(&point).run().unwrap();
                    aside.append(bodies::text_message(number)).unwrap();
                }
                Step::Take(count) => {
                    for _ in 0..count {
                        if !reader.take() {
                            prop_assert_eq!(&reader.kept, &events_of(&engine));
                            break;
                        }
                    }
                }
                Step::Reconnect => {
                    reader.follower = task.follow(reader.follower.position()).unwrap();
                }
            }
        }
        while reader.take() {}
        prop_assert_eq!(reader.kept, events_of(&engine));
    }
}

#[test]
fn who_waits_is_woken_by_an_append_by_a_restore_and_by_the_end_of_the_store() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(bodies::text_message(1)).unwrap();
    let head = task.head().unwrap().next;
    let (tell, told) = std::sync::mpsc::channel();
    let mut follower = task.follow(head).unwrap();
    let follows = std::thread::spawn(move || {
        let long = Duration::from_secs(600);
        loop {
            match follower.next_timeout(long) {
                Ok(Some(found)) => tell.send(found).unwrap(),
                // Something happened that it does not tell of.
                Ok(None) => {}
                Err(error) => return error.kind(),
            }
        }
    });
    task.append(bodies::text_message(2)).unwrap();
    assert!(matches!(told.recv().unwrap(), Followed::Event(event) if event.offset == head));
    engine.restore(&task.point(1).unwrap()).run().unwrap();
    let Followed::LineageChanged(moved) = told.recv().unwrap() else {
        panic!("an event came first");
    };
    assert_eq!((moved.from, moved.to, moved.at), (LineageId(0), LineageId(1), 1));
    assert!(matches!(told.recv().unwrap(), Followed::Event(event) if event.offset == 1));
    engine.close().unwrap();
    assert_eq!(follows.join().unwrap(), ErrorKind::Unavailable);
}

#[test]
fn a_follower_of_a_deleted_task_ends_and_one_past_the_head_is_refused() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let head = task.head().unwrap().next;
    assert_eq!(task.follow(head + 1).unwrap_err().kind(), ErrorKind::Invalid);
    let mut follower = task.follow(head).unwrap();
    assert_eq!(follower.try_next().unwrap(), None);
    engine.retention().delete_task("t").unwrap();
    assert_eq!(follower.try_next().unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn who_followed_a_lineage_that_nobody_knows_begins_anew_and_is_told_so() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(bodies::text_message(1)).unwrap();
    let mut follower = task.follow((LineageId(77), 5)).unwrap();
    let Some(Followed::LineageChanged(moved)) = follower.try_next().unwrap() else {
        panic!("it has to say that it begins anew");
    };
    assert_eq!((moved.to, moved.at), (LineageId(0), 0));
    assert!(
        matches!(follower.try_next().unwrap(), Some(Followed::Event(event)) if event.offset == 0)
    );
}
