//! Events that a trim removes, and their replacement.

use milepost::retention::Policy;
use milepost::{Append, Engine, ErrorKind, Event, Options};
use milepost_tests::{bodies, folder};

use super::{assert_clean, labels, message, state, step};

#[test]
fn events_before_the_oldest_kept_checkpoint_are_gone_and_what_is_behind_it_is_as_it_was() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let marks: Vec<_> = (0..10).map(|n| step(&task, n)).collect();
    let oldest = &marks[7];
    let hash = engine.hash_at(&engine.point("t@c-8").unwrap()).unwrap();
    let states: Vec<_> = (7..10).map(|n| state(&engine, &format!("t@c-{n}"))).collect();
    let events: Vec<Event> = task.read(oldest.at..).unwrap().map(Result::unwrap).collect();

    let report = engine.retention().retain(&Policy::new().keep(3)).unwrap();
    assert_eq!(report.tasks[0].trimmed, [(oldest.lineage, oldest.at)]);
    let read: Vec<Event> = task.read(..).unwrap().map(Result::unwrap).collect();
    assert_eq!(read, events);
    for n in 7..10 {
        assert_eq!(state(&engine, &format!("t@c-{n}")), states[n - 7]);
    }
    assert_eq!(engine.hash_at(&engine.point("t@c-8").unwrap()).unwrap(), hash);
    for gone in [1, oldest.at - 1] {
        let error = task.read(gone..).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains(&format!("before offset {}", oldest.at)));
        let point = format!("t@{gone}");
        let point = engine.point(&point).and_then(|point| engine.run_state(&point));
        assert_eq!(point.unwrap_err().kind(), ErrorKind::NotFound);
    }
    let restored = engine.restore(&engine.point("t@c-7").unwrap()).run().unwrap();
    assert_eq!(state(&engine, "t"), states[0]);
    step(&restored, 11);
    assert_clean(&engine);
}

#[test]
fn marks_only_keeps_every_event() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    (0..10).for_each(|n| drop(step(&task, n)));
    let events = task.read(..).unwrap().count();
    let report = engine.retention().retain(&Policy::new().keep(2).marks_only(true)).unwrap();
    assert!(report.tasks[0].trimmed.is_empty());
    assert_eq!(labels(&engine, "t").len(), 2);
    assert_eq!(task.read(..).unwrap().count(), events);
}

#[test]
fn a_lineage_that_was_left_goes_once_it_cannot_be_undone_to() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    (0..4).for_each(|n| drop(step(&task, n)));
    let root = task.lineage().id();
    let task = engine.restore(&engine.point("t@c-1").unwrap()).run().unwrap();
    let child = task.lineage().id();
    (4..8).for_each(|n| drop(step(&task, n)));
    // An undo can return to it: it stays complete.
    let report = engine.retention().retain(&Policy::new().keep(2)).unwrap();
    assert_eq!(report.tasks[0].dropped, []);
    let before = state(&engine, "t");
    let report = engine.retention().retain(&Policy::new().keep(2).undo(0)).unwrap();
    assert_eq!(report.tasks[0].dropped, [root]);
    assert_eq!(state(&engine, "t"), before);
    let lineages: Vec<_> = task.lineages().unwrap().iter().map(|l| l.id).collect();
    assert_eq!(lineages, [child]);
    assert_eq!(task.lineage_named(root).unwrap_err().kind(), ErrorKind::NotFound);
    let undone = engine.undo("t").run().unwrap_err();
    assert_eq!(undone.kind(), ErrorKind::NotFound, "{undone}");
    // Its number is not used again.
    let branch = engine.branch(&engine.point("t").unwrap()).run().unwrap();
    assert!(branch.id() > child);
    assert_clean(&engine);
}

#[test]
fn a_key_that_was_used_before_the_base_is_still_taken() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let keyed = |n: u64| Append::batch([message(n), message(n + 1)]).key(format!("k-{n}"));
    let first: Vec<_> = (0..5).map(|n| task.append(keyed(n)).unwrap()).collect();
    (0..4).for_each(|n| drop(step(&task, n)));
    for keep in [2, 1] {
        engine.retention().retain(&Policy::new().keep(keep)).unwrap();
        for (n, first) in (0..).zip(&first) {
            let again = task.append(keyed(n)).unwrap();
            assert!(again.repeated);
            assert_eq!((again.first, again.count), (first.first, first.count));
            let other = Append::from(message(99)).key(format!("k-{n}"));
            assert_eq!(task.append(other).unwrap_err().kind(), ErrorKind::Conflict);
        }
    }
    assert_eq!(
        task.lineage().appended_under("k-1").unwrap(),
        Some(first[1].first..first[1].first + 2)
    );
    assert_clean(&engine);
}

/// Counts events.
struct Counter(&'static str, u32);

impl milepost::Reducer for Counter {
    type State = u64;
    fn name(&self) -> &str {
        self.0
    }
    fn version(&self) -> u32 {
        self.1
    }
    fn initial(&self) -> u64 {
        0
    }
    fn apply(
        &self,
        state: &mut u64,
        _: &Event,
        _: &dyn milepost::state::Chunks,
    ) -> milepost::Result<()> {
        *state += 1;
        Ok(())
    }
    fn encode(&self, state: &u64) -> milepost::Result<Vec<u8>> {
        Ok(state.to_le_bytes().to_vec())
    }
    fn decode(&self, bytes: &[u8]) -> milepost::Result<u64> {
        Ok(u64::from_le_bytes(bytes.try_into().unwrap()))
    }
}

#[test]
fn the_states_of_registered_reducers_are_kept_and_without_one_nothing_is_trimmed() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let open = |counter: Option<Counter>| {
        let options = Options::default();
        let options = match counter {
            Some(counter) => options.reducer(counter),
            None => options,
        };
        Engine::open(&root, options).unwrap()
    };
    let engine = open(Some(Counter("test.counter", 1)));
    let task = engine.start_task("t", "ana").unwrap();
    (0..6).for_each(|n| drop(step(&task, n)));
    engine.retention().retain(&Policy::new().keep(2)).unwrap();
    let count =
        |engine: &Engine, counter: Counter| engine.state(&counter, &engine.point("t").unwrap());
    let all = engine.point("t").unwrap().offset;
    assert_eq!(count(&engine, Counter("test.counter", 1)).unwrap(), all);
    // One that was not there then has no state, and one of another version has to read the old
    // one's.
    for counter in [Counter("test.other", 1), Counter("test.counter", 2)] {
        let error = count(&engine, counter).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    (6..9).for_each(|n| drop(step(&task, n)));
    engine.close().unwrap();

    let engine = open(None);
    let report = engine.retention().retain(&Policy::new().keep(2)).unwrap();
    let error = report.tasks[0].error.as_ref().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("test.counter"), "{error}");
    engine.close().unwrap();
    let engine = open(Some(Counter("test.counter", 1)));
    let report = engine.retention().retain(&Policy::new().keep(2)).unwrap();
    assert!(report.tasks[0].error.is_none());
    let all = engine.point("t").unwrap().offset;
    assert_eq!(count(&engine, Counter("test.counter", 1)).unwrap(), all);
    assert_clean(&engine);
}

#[test]
fn a_long_conversation_is_whole_behind_a_base() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..30 {
        for k in 0..20 {
            task.append(bodies::body(0, n * 100 + k, 300)).unwrap();
        }
        task.append(bodies::bytes(n, 300_000)).unwrap();
        step(&task, 1000 + n);
    }
    let before = state(&engine, "t");
    let messages = |engine: &Engine| {
        let state = engine.run_state(&engine.point("t").unwrap()).unwrap();
        let chunks = engine.chunks();
        state
            .messages
            .iter(&*chunks)
            .map(Result::unwrap)
            .map(|entry| format!("{entry:?}"))
            .collect::<Vec<_>>()
    };
    let texts = messages(&engine);
    engine.retention().retain(&Policy::new().keep(1)).unwrap();
    assert_eq!(state(&engine, "t"), before);
    assert_eq!(messages(&engine), texts);
    engine.close().unwrap();
    std::fs::remove_dir_all(root.join("sled")).unwrap();
    let engine = Engine::open(&root, Options::default()).unwrap();
    assert_eq!(state(&engine, "t"), before);
    assert_eq!(messages(&engine), texts);
    assert_clean(&engine);
}

#[test]
fn a_task_of_which_no_checkpoint_went_keeps_its_events() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    (0..3).for_each(|n| drop(step(&task, n)));
    let events = task.read(..).unwrap().count();
    let plan = engine.retention().plan(&Policy::new()).unwrap();
    assert!(plan.tasks[0].is_empty());
    engine.retention().retain(&Policy::new()).unwrap();
    assert_eq!(task.read(..).unwrap().count(), events);
    // Once one is removed, by whom it may be, what only that one needed goes.
    let first = engine.point("t@c-0").unwrap().checkpoint.unwrap();
    engine.retention().unmark(&[first]).unwrap();
    engine.retention().retain(&Policy::new()).unwrap();
    assert!(task.read(..).unwrap().count() < events);
    assert_clean(&engine);
}

#[test]
fn a_point_that_was_trimmed_cannot_be_marked_nor_looked_at() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    (0..4).for_each(|n| drop(step(&task, n)));
    let (early, first) = (engine.point("t@5").unwrap(), engine.point("t@0").unwrap());
    engine.retention().retain(&Policy::new().keep(1)).unwrap();
    let begin = task.lineages().unwrap()[0].begin;
    assert!(begin > 5);
    let kinds = [
        task.checkpoint(milepost::Mark::new().at(5)).map(drop).unwrap_err().kind(),
        engine.hash_at(&early).map(drop).unwrap_err().kind(),
        engine.event(&early).map(drop).unwrap_err().kind(),
        engine.event(&first).map(drop).unwrap_err().kind(),
        engine.restore(&early).run().map(drop).unwrap_err().kind(),
    ];
    assert_eq!(kinds, [ErrorKind::NotFound; 5]);
    assert!(task.checkpoint(milepost::Mark::new().at(begin)).is_ok());
    assert_clean(&engine);
    assert!(engine.integrity().verify_states(None).unwrap().is_empty());
}

#[test]
fn a_lineage_of_which_no_event_is_left_is_there_and_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let mut engine = Engine::open(&root, Options::default()).unwrap();
    let mut task = engine.start_task("t", "ana").unwrap();
    task.append(Append::batch((0..9).map(message))).unwrap();
    let before = state(&engine, "t");
    let head = task.head().unwrap();
    let policy = Policy::new().trim_before(&task.point(head.next).unwrap());
    let report = engine.retention().retain(&policy).unwrap();
    assert_eq!(report.tasks[0].trimmed, [(task.lineage().id(), head.next)]);
    for rebuilds in [false, true] {
        engine.retention().compact(&mut |_| {}).unwrap();
        drop(task);
        engine.close().unwrap();
        if rebuilds {
            folder::remove_sled(&root).unwrap();
        }
        engine = Engine::open(&root, Options::default()).unwrap();
        task = engine.task("t").unwrap();
        assert_eq!((task.head().unwrap(), state(&engine, "t")), (head, before.clone()));
        assert_eq!(task.lineages().unwrap()[0].begin, head.next);
        assert_clean(&engine);
    }
    assert_eq!(task.append(message(9)).unwrap().first, head.next);
    engine.retention().compact(&mut |_| {}).unwrap();
    assert_eq!(task.read(..).unwrap().count(), 1);
    assert_clean(&engine);
}
