//! Appends of which each event has its own key, and a model of them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::events::{ControlChanged, Message, RunControl};
use crate::retention::Policy;
use crate::{Append, Engine, ErrorKind, Mark, Options, Task};

/// An operation on the task. Keys are few, so that they meet.
#[derive(Debug, Clone)]
enum Op {
    /// Events by key; `true` for other content under it. `true` for a mark after them.
    Append(Vec<(u8, bool)>, bool),
    /// An append under one key.
    Single(u8, u8),
    /// A restore to a point in the history, by its share.
    Restore(f64),
    CleanUp,
    Reopen,
}

fn op() -> impl Strategy<Value = Op> {
    let event = (0..9_u8, prop::bool::weighted(0.02));
    prop_oneof![
        8 => (prop::collection::vec(event, 1..6), any::<bool>())
            .prop_map(|(events, mark)| Op::Append(events, mark)),
        1 => (0..9_u8, 1..3_u8).prop_map(|(key, count)| Op::Single(key, count)),
        1 => (0.0..1.0).prop_map(Op::Restore),
        1 => Just(Op::CleanUp),
        1 => Just(Op::Reopen),
    ]
}

fn said(key: u8, other: bool) -> Message {
    Message::text("user", &format!("{key} {other}"))
}

fn append(events: &[(u8, bool)]) -> Append {
    let keyed = |(key, other): &(u8, bool)| (format!("k{key}"), said(*key, *other));
    Append::each_keyed(events.iter().map(keyed))
}

/// The events of the active lineage that have a key: its offset, whether its content is another,
/// and the number of events under it.
#[derive(Debug, Default)]
struct Keyed(BTreeMap<u8, (u64, bool, u8)>);

impl Keyed {
    /// Returns the place of each event, and whether it is repeated, if they can be appended.
    fn places(&mut self, events: &[(u8, bool)], head: u64) -> Option<Vec<(u64, bool)>> {
        let (mut places, mut next, mut new) = (Vec::new(), head, BTreeMap::new());
        for (key, other) in events {
            match self.0.get(key).or(new.get(key)) {
                Some((at, same, 1)) if same == other => places.push((*at, true)),
                Some(_) => return None,
                None => {
                    new.insert(*key, (next, *other, 1));
                    places.push((next, false));
                    next += 1;
                }
            }
        }
        self.0.extend(new);
        Some(places)
    }
}

/// A task and its model.
struct Scene {
    dir: tempfile::TempDir,
    engine: Engine,
    keyed: Keyed,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
        engine.start_task("t", "ana").unwrap();
        Self { dir, engine, keyed: Keyed::default() }
    }

    fn task(&self) -> Task {
        self.engine.task("t").unwrap()
    }

    fn run(&mut self, op: Op) {
        let task = self.task();
        let head = task.head().unwrap().next;
        match op {
            Op::Append(events, mark) => self.append(&task, &events, mark),
            Op::Single(key, count) => {
                let bodies = (0..count).map(|_| said(key, false));
                let done = task.append(Append::batch(bodies).key(format!("k{key}")));
                let expected = match self.keyed.0.get(&key) {
                    None => Some(head),
                    Some((at, false, same)) if *same == count => Some(*at),
                    Some(_) => None,
                };
                assert_eq!(done.ok().map(|done| done.first), expected);
                if expected == Some(head) {
                    self.keyed.0.insert(key, (head, false, count));
                }
            }
            Op::Restore(share) => {
                let begin = task.lineage().info().unwrap().begin;
                let at = begin + ((head - begin) as f64 * share) as u64;
                let point = task.point(at).unwrap();
                self.engine.restore(&point).run().unwrap();
                let whole = |(first, _, count): &(u64, bool, u8)| first + u64::from(*count) <= at;
                // A key of which the fork kept a part is used for another append.
                self.keyed.0.retain(|_, used| whole(used) || used.0 < at);
                for used in self.keyed.0.values_mut().filter(|used| !whole(used)) {
                    used.2 = 9;
                }
            }
            Op::CleanUp => {
                task.checkpoint(Mark::new()).unwrap();
                self.engine.retention().retain(&Policy::new().keep(1).undo(0)).unwrap();
            }
            Op::Reopen => {
                self.engine.clone().close().unwrap();
                let path = self.dir.path().join("store");
                self.engine = Engine::open(path, Options::default()).unwrap();
            }
        }
    }

    fn append(&mut self, task: &Task, events: &[(u8, bool)], mark: bool) {
        let head = task.head().unwrap().next;
        let append = append(events);
        let append = if mark { append.mark(Mark::new().label("done")) } else { append };
        let Some(places) = self.keyed.places(events, head) else {
            let error = task.append(append).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict);
            assert_eq!(task.head().unwrap().next, head, "nothing is appended");
            return;
        };
        let done = task.append(append.clone()).unwrap();
        let found = done.events.iter().map(|event| (event.offset, event.repeated));
        assert_eq!(found.collect::<Vec<_>>(), places);
        let new = places.iter().filter(|(_, repeated)| !repeated).count();
        assert_eq!(done.count as usize, new);
        assert_eq!(done.repeated, new == 0);
        if new > 0 {
            assert_eq!(done.first, head);
            assert_eq!(done.checkpoint.is_some(), mark);
            assert_eq!(task.head().unwrap(), done.head);
        }
        let before = task.head().unwrap();
        let again = task.append(append).unwrap();
        assert!(again.repeated && again.events.iter().all(|event| event.repeated));
        assert_eq!(task.head().unwrap(), before);
        if new == places.len() && new > 0 {
            assert_eq!(again.checkpoint, done.checkpoint);
            assert_eq!(again.head, done.head);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn each_key_is_appended_once_on_a_lineage(ops in prop::collection::vec(op(), 1..24)) {
        let mut scene = Scene::new();
        ops.into_iter().for_each(|op| scene.run(op));
        let report = scene.engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        assert!(report.is_clean(), "{report:?}");
    }
}

#[test]
fn of_appends_at_the_same_time_each_key_is_appended_once_and_all_are_told_the_same_place() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for round in 0..60_u32 {
        let places: Vec<BTreeMap<u32, (u64, bool)>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4_u32)
                .map(|thread| {
                    let task = task.clone();
                    // Each thread has a part of the next, in an order of its own.
                    let mut keys: Vec<u32> = (thread..thread + 5).map(|key| key % 6).collect();
                    keys.rotate_left(thread as usize);
                    scope.spawn(move || {
                        let event = |key: &u32| {
                            let text = format!("{round} {key}");
                            (text.clone(), Message::text("user", &text))
                        };
                        let append = Append::each_keyed(keys.iter().map(event));
                        let done = task.append(append).unwrap();
                        let places = done.events.iter().map(|it| (it.offset, it.repeated));
                        keys.into_iter().zip(places).collect()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for key in 0..6 {
            let told: Vec<_> = places.iter().filter_map(|places| places.get(&key)).collect();
            assert!(told.iter().all(|(at, _)| *at == told[0].0), "{told:?}");
            assert_eq!(told.iter().filter(|(_, repeated)| !repeated).count(), 1, "{told:?}");
        }
    }
    // The event that opened the lineage, and six of each round.
    assert_eq!(task.head().unwrap().next, 1 + 60 * 6);
}

#[test]
fn keys_of_events_are_refused_where_they_would_not_be_looked_up() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let refused = |result: crate::Result<()>, what: &str| {
        let error = result.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{what}: {error}");
    };
    let one = || append(&[(1, false)]);
    refused(task.append(one().key("k")).map(drop), "a key of the append, too");
    refused(task.submit(one()).map(drop), "a queued append");
    refused(task.lineage().submit(one()).map(drop), "one that a lineage queues");
    refused(task.try_submit(&one()).map(drop), "one that does not wait");
    refused(task.append_marked(one(), Mark::new()).map(drop), "a mark that may not be made");
    let point = task.point(1).unwrap();
    refused(engine.branch(&point).append(one()).map(drop), "a branch");
    refused(task.append(Append::each_keyed([("", said(1, false))])).map(drop), "an empty key");
    let none: [(String, Message); 0] = [];
    refused(task.append(Append::each_keyed(none)).map(drop), "no events");
    let change = ControlChanged { from: RunControl::Idle, to: RunControl::Running, reason: None };
    refused(task.append(Append::each_keyed([("k", change)])).map(drop), "a change of control");
    assert_eq!(task.head().unwrap().next, 1);
    let error = task.append(append(&[(1, false), (1, true)])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "two contents under one key");
    assert_eq!(task.append(one()).unwrap().count, 1);
    assert!(task.append(one().expect_head(7)).unwrap().repeated, "nothing is to be appended");
    let both = append(&[(1, false), (2, false)]).expect_head(7);
    assert_eq!(task.append(both).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(task.lineage().append(append(&[(1, false), (2, false)])).unwrap().first, 2);
}
