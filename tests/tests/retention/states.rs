//! States of all checkpoints of a lineage, in one pass.

use std::ops::RangeBounds;
use std::sync::atomic::{AtomicU64, Ordering};

use milepost::calls::Cancel;
use milepost::events::Message;
use milepost::query::CheckpointQuery;
use milepost::retention::Policy;
use milepost::state::{MessageRange, RunReducer, States};
use milepost::{
    Checkpoint, Engine, Error, ErrorKind, Event, Lineage, Mark, Offset, Options, Reducer, Result,
    SerdeReducer,
};
use milepost_tests::bodies;
use milepost_tests::seed::{Random, number, seed};

use super::{assert_clean, message, state, step};

/// Counts the events that have a body.
fn counter() -> SerdeReducer<(u64, u64)> {
    SerdeReducer::new("tests.bodies", 1, |counts: &mut (u64, u64), event: &Event| {
        counts.0 += 1;
        counts.1 += u64::from(event.body.is_some());
        Ok(())
    })
}

/// The checkpoints whose marks are among events of a lineage, oldest first.
fn marks(engine: &Engine, lineage: &Lineage, range: impl RangeBounds<Offset>) -> Vec<Checkpoint> {
    let query = CheckpointQuery {
        task: Some(lineage.task_id().into()),
        limit: Some(10_000),
        ..CheckpointQuery::default()
    };
    let all = engine.query().checkpoints(&query).unwrap().items;
    let events = lineage.read(range).unwrap().map(Result::unwrap);
    let of = |event: Event| {
        let mut all = all.iter();
        all.find(|one| (one.lineage, one.mark) == (event.lineage, event.offset)).cloned()
    };
    events.filter_map(of).collect()
}

/// Each checkpoint of a range comes, and with the state that it has alone. Returns their number.
pub fn check_pass(
    engine: &Engine,
    lineage: &Lineage,
    range: impl RangeBounds<Offset> + Clone,
) -> usize {
    let expected = marks(engine, lineage, range.clone());
    let pass: Vec<_> =
        lineage.states(&RunReducer, range.clone()).unwrap().map(Result::unwrap).collect();
    let found: Vec<_> = pass.iter().map(|(checkpoint, _)| checkpoint.clone()).collect();
    assert_eq!(found, expected);
    let (chunks, counter) = (engine.chunks(), counter());
    let mut others = lineage.states(&counter, range).unwrap();
    for (checkpoint, found) in &pass {
        let point = engine.point(&format!("@{}", checkpoint.id)).unwrap();
        let alone = engine.run_state(&point).unwrap();
        assert_eq!(*found, alone, "{checkpoint:?}");
        let texts =
            [found, &alone].map(|state| state.text(&*chunks, Some(MessageRange::All)).unwrap());
        assert_eq!(texts[0], texts[1]);
        // A state of an unregistered reducer may be missing.
        match (others.next_state(), engine.state(&counter, &point)) {
            (Ok(found), Ok(alone)) => assert_eq!(found, Some((checkpoint.clone(), &alone))),
            (found, alone) => {
                let [found, alone] = [found.map(drop), alone.map(drop)].map(Result::unwrap_err);
                assert_eq!(found.to_string(), alone.to_string());
                break;
            }
        }
    }
    assert!(others.next_state().unwrap().is_none());
    expected.len()
}

/// A task that is appended to, marked, forked, erased from and trimmed.
struct Walk {
    engine: Engine,
    random: Random,
    marks: usize,
}

impl Walk {
    fn any(&mut self) -> Option<Checkpoint> {
        let query = CheckpointQuery { limit: Some(10_000), ..CheckpointQuery::default() };
        let all = self.engine.query().checkpoints(&query).unwrap().items;
        let at = self.random.below(all.len().max(1) as u64) as usize;
        all.into_iter().nth(at)
    }

    fn mark(&mut self) {
        let task = self.engine.task("t").unwrap();
        let mut mark = Mark::new();
        if self.random.below(4) == 0 {
            let begin = task.lineage().info().unwrap().begin;
            let len = task.head().unwrap().next - begin;
            mark = mark.at(begin + self.random.below(len));
        }
        task.checkpoint(mark).unwrap();
    }

    fn fork(&mut self, activates: bool) {
        let Some(found) = self.any() else { return };
        let point = self.engine.point(&format!("@{}", found.id)).unwrap();
        match activates {
            true => drop(self.engine.restore(&point).run().unwrap()),
            false => {
                let branch = self.engine.branch(&point).run().unwrap();
                branch.append(message(self.random.below(99))).unwrap();
                branch.checkpoint(Mark::new()).unwrap();
            }
        }
    }

    fn erase(&mut self) {
        let task = self.engine.task("t").unwrap();
        let head = task.head().unwrap().next;
        let at = self.random.below(head);
        // Events that others or a base depend on cannot be erased.
        let point = task.point(at).unwrap();
        let _ = self.engine.retention().erase(&point, None);
    }

    fn retain(&mut self) {
        let policy = Policy::new()
            .keep(1 + self.random.below(6) as usize)
            .undo(self.random.below(3) as u32)
            .keep_lineages(self.random.below(2) == 0)
            .marks_only(self.random.below(2) == 0);
        let report = self.engine.retention().retain(&policy).unwrap();
        assert!(report.tasks[0].error.is_none(), "{report:?}");
    }

    fn step(&mut self) {
        let task = self.engine.task("t").unwrap();
        match self.random.below(24) {
            0..=8 => {
                let (kind, n) = (self.random.below(12) as u8, self.random.below(1000));
                let size = if self.random.below(30) == 0 { 90_000 } else { 200 };
                task.append(bodies::body(kind, n, size)).unwrap();
            }
            9..=14 => self.mark(),
            15 | 16 => self.fork(false),
            17 | 18 => self.fork(true),
            19 => drop(self.any().map(|one| self.engine.retention().unmark(&[one.id]))),
            20 | 21 => self.erase(),
            22 => self.retain(),
            _ => self.check(),
        }
    }

    fn check(&mut self) {
        let task = self.engine.task("t").unwrap();
        for info in task.lineages().unwrap() {
            let lineage = task.lineage_named(info.id).unwrap();
            self.marks += check_pass(&self.engine, &lineage, ..);
            let len = info.head.next - info.begin;
            let from = info.begin + self.random.below(len + 1);
            let to = from + self.random.below(len + 1);
            self.marks += check_pass(&self.engine, &lineage, from..to);
        }
    }
}

#[test]
fn each_state_of_a_pass_is_the_one_that_its_checkpoint_has_alone() {
    let cases = number("MILEPOST_CASES").unwrap_or(12);
    let mut marks = 0;
    for case in 0..cases {
        let options = Options::default().reducer(counter());
        let engine = Engine::in_memory(options).unwrap();
        engine.start_task("t", "ana").unwrap();
        let random = Random::new(seed().wrapping_add(case));
        let mut walk = Walk { engine, random, marks: 0 };
        (0..80).for_each(|_| walk.step());
        walk.check();
        assert_clean(&walk.engine);
        marks += walk.marks;
    }
    assert!(marks > 50 * cases as usize, "{marks}");
}

#[test]
fn a_pass_folds_each_event_once() {
    static APPLIED: AtomicU64 = AtomicU64::new(0);
    let counting = SerdeReducer::new("tests.applied", 1, |_: &mut u64, _: &Event| {
        APPLIED.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    (0..100).for_each(|n| drop(step(&task, n)));
    let branch = engine.branch(&engine.point("t").unwrap()).run().unwrap();
    let last = branch.checkpoint(Mark::new()).unwrap();
    let mut pass = branch.states(&counting, ..).unwrap();
    let mut count = 0;
    while pass.next_state().unwrap().is_some() {
        count += 1;
    }
    assert_eq!((count, APPLIED.load(Ordering::Relaxed)), (101, last.at));
}

/// The states that are still to come, by their labels.
fn rest(pass: &mut States<'_, RunReducer>) -> Vec<(String, Vec<u8>)> {
    let mut rest = Vec::new();
    while let Some((checkpoint, state)) = pass.next_state().unwrap() {
        rest.push((checkpoint.label.unwrap(), RunReducer.encode(state).unwrap()));
    }
    rest
}

#[test]
fn what_is_removed_during_a_pass_is_in_none_of_its_later_states() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().snapshots(false);
    let engine = Engine::open(dir.path().join("store"), options).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let secret = task.append(message(99)).unwrap().first;
    (1..=6).for_each(|n| drop(step(&task, n)));
    let mut pass = task.lineage().states(&RunReducer, ..).unwrap();
    let first = pass.next_state().unwrap().unwrap().0;
    assert_eq!(first.label.as_deref(), Some("c-1"));
    engine.retention().erase(&task.point(secret).unwrap(), None).unwrap();
    let (second, after) = pass.next_state().unwrap().unwrap();
    let after = RunReducer.encode(after).unwrap();
    assert_eq!((second.label.as_deref(), after), (Some("c-2"), state(&engine, "t@c-2")));
    // A checkpoint that was removed gives nothing, and what is left stays readable.
    let third = engine.point("t@c-3").unwrap().checkpoint.unwrap();
    engine.retention().unmark(&[third]).unwrap();
    engine.retention().retain(&Policy::new().keep(2)).unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
    let left = ["c-5", "c-6"].map(|label| (label.into(), state(&engine, &format!("t@{label}"))));
    assert_eq!(rest(&mut pass), left);
    let mut pass = task.lineage().states(&RunReducer, ..).unwrap();
    engine.retention().delete_task("t").unwrap();
    assert_eq!(pass.next_state().unwrap_err().kind(), ErrorKind::NotFound);
    assert!(pass.next_state().unwrap().is_none(), "an error is the end");
    engine.close().unwrap();
}

#[test]
fn chunks_of_a_state_that_grows_during_a_pass_stay_behind_compactions() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().snapshots(false);
    let engine = Engine::open(dir.path().join("store"), options).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..30 {
        task.append(Message::text("user", &bodies::text(n, 40_000))).unwrap();
        task.checkpoint(Mark::new().label(format!("c-{n}"))).unwrap();
    }
    let chunks = engine.chunks();
    for (n, found) in task.lineage().states(&RunReducer, ..).unwrap().enumerate() {
        let (checkpoint, found) = found.unwrap();
        if n % 10 == 5 {
            engine.retention().compact(&mut |_| {}).unwrap();
        }
        let entries = found.messages.iter(&*chunks).map(Result::unwrap).count();
        assert_eq!((entries, checkpoint.label), (n + 1, Some(format!("c-{n}"))));
    }
    engine.close().unwrap();
}

#[test]
fn a_pass_begins_and_ends_where_a_read_does() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    (1..=5).for_each(|n| drop(step(&task, n)));
    let lineage = task.lineage();
    let head = task.head().unwrap().next;
    let late = lineage.states(&RunReducer, head + 1..).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Invalid);
    assert_eq!(lineage.states(&RunReducer, head..).unwrap().count(), 0);
    let pass = lineage.states(&RunReducer, ..).unwrap();
    step(&task, 6);
    assert_eq!(pass.count(), 5, "it ends at the head that it began with");
    engine.retention().retain(&Policy::new().keep(2)).unwrap();
    let trimmed = lineage.states(&RunReducer, 1..).unwrap_err();
    assert_eq!(trimmed.kind(), ErrorKind::NotFound);
    assert_eq!(check_pass(&engine, lineage, 0..), 2);
}

#[test]
fn a_pass_that_is_given_up_ends() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    (1..=3).for_each(|n| drop(step(&task, n)));
    let cancel = Cancel::new();
    let task = engine.with_cancel(&cancel).task("t").unwrap();
    let mut pass = task.lineage().states(&RunReducer, ..).unwrap();
    assert!(pass.next().unwrap().is_ok());
    cancel.cancel();
    assert!(Cancel::is_cause_of(&pass.next().unwrap().unwrap_err()));
    assert!(pass.next().is_none());
}

#[test]
fn a_state_that_cannot_be_folded_is_the_error_that_it_has_alone_and_the_end() {
    let failing = SerdeReducer::new("tests.failing", 1, |count: &mut u64, event: &Event| {
        *count += 1;
        match event.offset {
            6 => Err(Error::invalid("not this one")),
            _ => Ok(()),
        }
    });
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    (1..=3).for_each(|n| drop(step(&task, n)));
    let mut pass = task.lineage().states(&failing, ..).unwrap();
    assert_eq!(pass.next_state().unwrap().map(|(found, count)| (found.at, *count)), Some((4, 4)));
    let alone = engine.state(&failing, &engine.point("t@c-2").unwrap()).unwrap_err();
    assert_eq!(pass.next_state().unwrap_err().to_string(), alone.to_string());
    assert!(pass.next_state().unwrap().is_none());
    // A reading that begins after it folds from the beginning, and gets it too.
    let mut late = task.lineage().states(&failing, 9..).unwrap();
    assert_eq!(late.next_state().unwrap_err().to_string(), alone.to_string());
}
