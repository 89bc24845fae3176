//! Bodies that are erased.

use milepost::retention::Policy;
use milepost::state::Entry;
use milepost::{Append, Body, Engine, ErrorKind, Mark, Options, Point};
use milepost_tests::{bodies, folder};

use super::{assert_clean, message, state, step};

#[test]
fn what_was_read_before_it_was_erased_trimmed_or_deleted_is_not_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let secret = task.append(message(99)).unwrap().first;
    let first = step(&task, 1);
    engine.store().drain().unwrap();
    let (point, other) = (task.point(secret).unwrap(), task.point(secret + 1).unwrap());
    let body = |point: &Point| engine.event(point).map(|(event, _)| event.body);
    let read = |point: &Point| body(point).unwrap();
    assert!(read(&point).is_some() && read(&other).is_some());
    engine.retention().erase(&point, None).unwrap();
    engine.store().drain().unwrap();
    assert!(read(&point).is_none() && read(&other).is_some());
    // It followed in the same block.
    let second = step(&task, 2);
    engine.store().drain().unwrap();
    assert!(read(&other).is_some());
    assert!(read(&task.point(first.at).unwrap()).is_some());
    engine.retention().retain(&Policy::new().keep(1)).unwrap();
    engine.store().drain().unwrap();
    assert!(body(&other).is_err(), "it was trimmed");
    let kept = task.point(second.at).unwrap();
    assert!(read(&kept).is_some());
    engine.retention().delete_task("t").unwrap();
    assert!(body(&kept).is_err());
    engine.close().unwrap();
}

#[test]
fn an_erased_body_cannot_be_read_and_everything_else_is_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let (root, killed) = (dir.path().join("store"), dir.path().join("killed"));
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    step(&task, 1);
    let secret = task.append(message(99)).unwrap().first;
    let mark = step(&task, 2);
    let branch = engine.branch(&engine.point("t").unwrap()).run().unwrap();
    let head = task.head().unwrap();
    let point = task.point(secret).unwrap();
    let hash = engine.event(&point).unwrap().1;
    // In memory and in a snapshot it is to be gone too.
    let before = state(&engine, "t@c-2");
    engine.retention().erase(&point, Some("asked for")).unwrap();
    engine.retention().erase(&point, None).unwrap();
    folder::copy_store(&root, &killed).unwrap();

    let check = |engine: &Engine| {
        let task = engine.task("t").unwrap();
        let (event, after) = engine.event(&point).unwrap();
        assert_eq!((event.body, after), (None, hash));
        assert_eq!(event.header.kind, 13, "its header stays");
        assert_eq!(task.head().unwrap(), head);
        let bodies = task.read(..).unwrap().filter(|e| e.as_ref().unwrap().body.is_none());
        assert_eq!(bodies.count(), 1);
        let branch = task.lineage_named(branch.id()).unwrap();
        let erased = branch.read(secret..=secret).unwrap().next().unwrap().unwrap();
        assert_eq!(erased.body, None, "nor is it there where it was inherited");
        let now = state(engine, "t@c-2");
        assert_ne!(now, before);
        let run = engine.run_state(&engine.point("t@c-2").unwrap()).unwrap();
        let chunks = engine.chunks();
        let entries = run.messages.iter(&*chunks).map(Result::unwrap);
        assert_eq!(entries.filter(|e| matches!(e, Entry::Erased { .. })).count(), 1);
        assert_eq!(engine.query().checkpoint(&mark.id.to_string()).unwrap(), mark);
        assert_clean(engine);
        now
    };
    let now = check(&engine);
    for sled in [true, false] {
        if !sled {
            std::fs::remove_dir_all(killed.join("sled")).unwrap();
        }
        let engine = Engine::open(&killed, Options::default()).unwrap();
        assert_eq!(check(&engine), now);
        engine.close().unwrap();
    }
}

#[test]
fn snapshots_that_were_made_with_an_erased_body_are_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let secret = task.append(message(99)).unwrap().first;
    // Enough for some snapshots.
    for n in 0..400 {
        task.append(bodies::body(0, n, 299)).unwrap();
        task.append(bodies::bytes(n, 2000)).unwrap();
    }
    while engine.store().stats().unwrap().snapshots < 2 {
        std::thread::yield_now();
    }
    engine.retention().erase(&task.point(secret).unwrap(), None).unwrap();
    let run = engine.run_state(&engine.point("t").unwrap()).unwrap();
    let chunks = engine.chunks();
    let first = run.messages.iter(&*chunks).next().unwrap().unwrap();
    assert!(matches!(first, Entry::Erased { .. }));
    assert_clean(&engine);
    assert!(engine.integrity().verify_states(None).unwrap().is_empty());
}

#[test]
fn what_others_build_on_cannot_be_erased() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(message(1)).unwrap();
    task.checkpoint(Mark::new().label("m")).unwrap();
    let task = engine.restore(&engine.point("t@m").unwrap()).run().unwrap();
    let events: Vec<_> = task.read(..).unwrap().map(Result::unwrap).collect();
    let mut refused = 0;
    for event in events {
        let erased = engine.retention().erase(&task.point(event.offset).unwrap(), None);
        match event.body.unwrap() {
            Body::Message(_) => erased.unwrap(),
            _ => {
                assert_eq!(erased.unwrap_err().kind(), ErrorKind::Invalid);
                refused += 1;
            }
        }
    }
    assert_eq!(refused, 4);
    let head = engine.retention().erase(&engine.point("t").unwrap(), None).unwrap_err();
    assert_eq!(head.kind(), ErrorKind::NotFound);
}

#[test]
fn what_is_in_a_base_cannot_be_erased_and_the_error_names_the_lineage() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    step(&task, 1);
    let secret = task.append(message(9)).unwrap().first;
    engine.retention().pin(&step(&task, 2).id, None).unwrap();
    let branch = engine.branch(&engine.point("t").unwrap()).run().unwrap();
    engine.retention().pin(&branch.checkpoint(Mark::new()).unwrap().id, None).unwrap();
    engine.retention().retain(&Policy::new().keep(0)).unwrap();
    let trimmed = engine.retention().erase(&task.point(secret).unwrap(), None);
    assert_eq!(trimmed.unwrap_err().kind(), ErrorKind::NotFound);
    // Behind the base it can be.
    let late = task.append(message(10)).unwrap().first;
    engine.retention().erase(&task.point(late).unwrap(), None).unwrap();
    assert_clean(&engine);
}

#[test]
fn a_key_whose_event_was_erased_stays_taken() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let append = || Append::from(message(1)).key("once");
    let first = task.append(append()).unwrap().first;
    engine.retention().erase(&task.point(first).unwrap(), None).unwrap();
    assert_eq!(task.append(append()).unwrap_err().kind(), ErrorKind::Conflict);
    (0..3).for_each(|n| drop(step(&task, n)));
    engine.retention().retain(&Policy::new().keep(1)).unwrap();
    assert_eq!(task.append(append()).unwrap_err().kind(), ErrorKind::Conflict);
    assert_clean(&engine);
}
