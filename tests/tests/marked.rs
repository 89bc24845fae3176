//! Events with a checkpoint behind them: one commit, both or neither.

use milepost::events::Message;
use milepost::query::CheckpointQuery;
use milepost::{Append, Engine, ErrorKind, Json, Mark, Options};
use milepost_tests::{bodies, folder};

fn message(n: u64, bytes: usize) -> Message {
    Message::text("user", &bodies::text(n, bytes))
}

#[test]
fn events_and_their_checkpoint_are_one_commit_and_there_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let (root, killed) = (dir.path().join("store"), dir.path().join("killed"));
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let mut ids = Vec::new();
    for n in 0..20 {
        let before = engine.store().stats().unwrap().seq;
        // Some are larger than a section.
        let events = (0..=n % 4).map(|k| message(n * 10 + k, 6000));
        let label = format!("c-{n}");
        let done = task.append(Append::batch(events).mark(Mark::new().label(label))).unwrap();
        assert_eq!(engine.store().stats().unwrap().seq, before + 1);
        assert_eq!(u64::from(done.count), n % 4 + 1);
        assert_eq!(done.head.next, done.first + u64::from(done.count) + 1);
        assert_eq!(done.head, task.head().unwrap());
        ids.push(done.checkpoint.unwrap());
    }
    folder::copy_store(&root, &killed).unwrap();
    for root in [&root, &killed] {
        let other = (root == &killed).then(|| Engine::open(root, Options::default()).unwrap());
        let engine = other.as_ref().unwrap_or(&engine);
        for (n, id) in ids.iter().enumerate() {
            let mark = engine.query().checkpoint(&id.to_string()).unwrap();
            assert_eq!(mark.label, Some(format!("c-{n}")));
            assert_eq!(mark.parent, n.checked_sub(1).map(|before| ids[before]));
            assert_eq!(mark.at, mark.mark, "it stands on its own offset");
        }
        assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
    }
}

#[test]
fn of_several_checkpoints_each_is_as_whole_as_it_is_alone() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..60 {
        task.append(message(n, 3000)).unwrap();
        // Some stand on an earlier point, in a block of its own by then.
        let mark = Mark::new().label(format!("c-{n}"));
        let mark = if n % 3 == 1 { mark.at(n) } else { mark };
        task.checkpoint(mark).unwrap();
        if n == 40 {
            engine.store().drain().unwrap();
        }
    }
    let back = engine.restore(&engine.point("t@c-20").unwrap()).run().unwrap();
    for n in 0..10 {
        back.append(message(n, 30)).unwrap();
        back.checkpoint(Mark::new().label(format!("d-{n}"))).unwrap();
    }
    let all = CheckpointQuery { limit: Some(1000), ..CheckpointQuery::default() };
    let mut all = engine.query().checkpoints(&all).unwrap().items;
    assert_eq!(all.len(), 70);
    let gone = all[65].clone();
    engine.retention().unmark(&[gone.id]).unwrap();
    for n in (0..70).step_by(4) {
        match n % 3 {
            0 => all[n].hash.0[0] ^= 1,
            1 => all[n].at += 1,
            _ => all[n].mark -= 1,
        }
    }
    let mut turned = all.clone();
    turned.reverse();
    for page in [&all[..], &turned, &all[30..31], &[]] {
        let together = engine.integrity().check_all(page).unwrap();
        let alone = page.iter().map(|of| engine.integrity().check(of).unwrap_or(false));
        assert!(alone.eq(together.iter().copied()));
    }
    let whole = engine.integrity().check_all(&all).unwrap();
    let damaged = |n: usize| n.is_multiple_of(4);
    for (n, whole) in whole.into_iter().enumerate().filter(|(n, _)| *n != 65) {
        assert_eq!(whole, !damaged(n), "{n}");
    }
}

#[test]
fn a_checkpoint_is_whole_where_its_event_and_its_point_are_what_its_id_says() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(Append::batch([message(1, 10), message(2, 10)])).unwrap();
    let long = Json::from_value(&serde_json::json!({ "k": "v".repeat(20_000) })).unwrap();
    let marks = [Mark::new(), Mark::new().label("x").at(1), Mark::new().metadata(long).alias("a")];
    assert_eq!(task.checkpoints().unwrap(), 0);
    let all = marks.map(|mark| task.checkpoint(mark).unwrap());
    assert_eq!(task.checkpoints().unwrap(), 3);
    for (n, checkpoint) in all.iter().enumerate() {
        assert!(engine.integrity().check(checkpoint).unwrap());
        let mut other = checkpoint.clone();
        other.id = all[(n + 1) % 3].id;
        assert!(!engine.integrity().check(&other).unwrap());
        let mut elsewhere = checkpoint.clone();
        elsewhere.mark = all[(n + 1) % 3].mark;
        assert!(!engine.integrity().check(&elsewhere).unwrap());
        // No mark at all, and no event.
        elsewhere.mark = 1;
        assert!(!engine.integrity().check(&elsewhere).unwrap());
        elsewhere.mark = 99;
        assert_eq!(engine.integrity().check(&elsewhere).unwrap_err().kind(), ErrorKind::Invalid);
    }
    engine.retention().delete_task("t").unwrap();
    let gone = engine.integrity().check(&all[0]).unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NotFound);
}

#[test]
fn where_the_events_are_refused_there_is_no_checkpoint_and_the_other_way_round() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let head = task.head().unwrap();
    let marked = |mark| Append::from(message(1, 10)).mark(mark);
    let refused = [
        (marked(Mark::new()).expect_head(99), ErrorKind::Conflict),
        (marked(Mark::new().label("123")), ErrorKind::Invalid),
        (marked(Mark::new().at(0)), ErrorKind::Invalid),
        (Append::default().mark(Mark::new()), ErrorKind::Invalid),
    ];
    for (append, kind) in refused {
        let error = task.append(append.clone()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        let ticket = task.submit(append).and_then(|ticket| ticket.wait());
        assert_eq!(ticket.unwrap_err().kind(), kind);
    }
    assert_eq!(task.head().unwrap(), head);
    assert!(task.last_successful().unwrap().is_none());
    let done = task.submit(marked(Mark::new())).unwrap().wait().unwrap();
    assert_eq!(task.last_successful().unwrap().unwrap().id, done.checkpoint.unwrap());
}

#[test]
fn under_a_key_the_same_events_and_checkpoint_come_back_and_others_are_a_conflict() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let keyed = |key: &str| Append::from(message(1, 10)).key(key);
    let mark = |label: &str| Mark::new().label(label);
    task.checkpoint(mark("before")).unwrap();
    let first = task.append(keyed("k").mark(mark("a"))).unwrap();
    task.append(message(2, 10)).unwrap();
    let head = task.head().unwrap();
    let again = task.append(keyed("k").mark(mark("a"))).unwrap();
    assert!(again.repeated);
    assert_eq!((again.first, again.head, again.count), (first.first, first.head, first.count));
    assert_eq!(again.checkpoint, first.checkpoint);
    let other = task.append(keyed("k").mark(mark("b"))).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Conflict, "{other}");
    // Events that were appended under the key without one.
    task.append(keyed("plain")).unwrap();
    let other = task.append(keyed("plain").mark(mark("a"))).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Conflict, "{other}");
    assert_eq!(task.head().unwrap().next, head.next + 1);
}

#[test]
fn many_threads_append_with_checkpoints_and_the_parents_are_one_chain() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let task = &task;
            scope.spawn(move || {
                for k in 0..20 {
                    task.append(Append::from(message(n * 100 + k, 50)).mark(Mark::new())).unwrap();
                }
            });
        }
    });
    let mut mark = task.last_successful().unwrap();
    let mut count = 0;
    while let Some(found) = mark {
        count += 1;
        let parent = found.parent.map(|id| engine.query().checkpoint(&id.to_string()).unwrap());
        assert!(parent.as_ref().is_none_or(|parent| parent.mark + 2 == found.mark));
        mark = parent;
    }
    assert_eq!(count, 160);
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
}

#[test]
fn gone_back_to_a_checkpoint_of_an_earlier_point_it_is_the_last_one_there_too() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.checkpoint(Mark::new().label("a")).unwrap();
    task.append(message(1, 10)).unwrap();
    let between = task.head().unwrap().next;
    task.append(message(2, 10)).unwrap();
    let metadata = milepost::Json::new(r#"{"score": 3}"#).unwrap();
    let mark = Mark::new().label("b").metadata(metadata.clone()).at(between);
    let first = task.checkpoint(mark).unwrap();
    let state = engine.run_state(&engine.point("t@b").unwrap()).unwrap();
    let mut before = first.clone();
    for again in 0..3 {
        let point = engine.point("t@b").unwrap();
        let back = match again {
            // Another lineage than the active one, and then appends.
            2 => engine.branch(&point).run().unwrap(),
            _ => engine.restore(&point).run().unwrap().lineage().clone(),
        };
        let last = back.last_successful().unwrap().unwrap();
        assert_eq!(last.label.as_deref(), Some("b"), "restore {again}");
        assert_eq!((last.lineage, last.parent), (back.id(), Some(before.id)));
        assert_eq!((last.at, last.hash), (first.at, first.hash));
        assert_eq!(last.metadata.as_ref(), Some(&metadata));
        let now = engine.run_state(&engine.point(&format!("t/{}@b", back.id().0)).unwrap());
        assert_eq!(now.unwrap(), state);
        before = last;
    }
    // A mark at its own offset is inherited as it is.
    let own = engine.restore(&engine.point("t/0@a").unwrap()).run().unwrap();
    assert_eq!(own.last_successful().unwrap().unwrap().label.as_deref(), Some("a"));
    assert_eq!(engine.store().stats().unwrap().checkpoints, 5);
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
}

#[test]
fn a_checkpoint_is_by_whom_for_what_and_when_its_events_are() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let append = Append::from(message(1, 10)).actor("bob").correlation("req-7").time_us(42);
    let of_events = task.append(append.clone().mark(Mark::new())).unwrap();
    let own = Mark::new().actor("eve").correlation("req-8").time_us(43);
    let of_its_own = task.append(append.mark(own)).unwrap();
    for (done, expected) in [(of_events, ("bob", "req-7", 42)), (of_its_own, ("eve", "req-8", 43))]
    {
        let mark = done.head.next - 1;
        let header = task.read(mark..=mark).unwrap().next().unwrap().unwrap().header;
        let found = (header.actor.as_deref(), header.correlation.as_deref(), header.time_us);
        assert_eq!(found, (Some(expected.0), Some(expected.1), expected.2));
    }
}

#[test]
fn a_removed_mark_that_was_made_under_a_key_is_no_fault() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let keyed = milepost::calls::Conditions::new().key("once");
    task.checkpoint(Mark::new().conditions(keyed)).unwrap();
    task.checkpoint(Mark::new()).unwrap();
    let policy = milepost::retention::Policy::new().keep(1).marks_only(true);
    engine.retention().retain(&policy).unwrap();
    assert_eq!(task.checkpoints().unwrap(), 1);
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
}
