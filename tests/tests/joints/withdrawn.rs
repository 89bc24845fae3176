//! Erased and deleted content, and readers that began before: none of it is given out.

use std::sync::mpsc::channel;
use std::thread;

use milepost::events::{Message, RunControl};
use milepost::retention::Policy;
use milepost::subscribe::{Followed, SubscribeOptions};
use milepost::{Body, Engine, ErrorKind, Mark, Options, Task};
use milepost_runtime::run::{Run, RunOptions};

fn said(text: &str) -> Body {
    Message::text("user", text).into()
}

fn store() -> (Engine, Task) {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    (engine, task)
}

#[test]
fn a_reader_that_is_behind_does_not_give_what_was_erased() {
    let (engine, task) = store();
    let mut subscribed = task.subscribe(0, SubscribeOptions::default()).unwrap();
    let mut follower = task.follow(0).unwrap();
    assert!(subscribed.try_next().unwrap().is_some());
    assert!(follower.try_next().unwrap().is_some());
    task.append(said("SECRET")).unwrap();
    let mut iterator = task.read(..).unwrap();
    iterator.next().unwrap().unwrap();
    engine.retention().erase(&engine.point("essay@1").unwrap(), None).unwrap();
    assert_eq!(subscribed.try_next().unwrap().unwrap().body, None);
    let Some(Followed::Event(event)) = follower.try_next().unwrap() else {
        panic!("an event is due")
    };
    assert_eq!(event.body, None);
    assert_eq!(iterator.next().unwrap().unwrap().body, None);
}

#[test]
fn a_reader_of_a_deleted_task_ends() {
    let (engine, task) = store();
    task.append(said("SECRET")).unwrap();
    let mut subscribed = task.subscribe(0, SubscribeOptions::default()).unwrap();
    let mut at_end = task.subscribe(2, SubscribeOptions::default()).unwrap();
    let mut follower = task.follow(0).unwrap();
    let mut iterator = task.read(..).unwrap();
    let waits = thread::spawn(move || at_end.next().unwrap_err().kind());
    engine.retention().delete_task("essay").unwrap();
    let gone = ErrorKind::NotFound;
    assert_eq!(subscribed.try_next().unwrap_err().kind(), gone);
    assert_eq!(subscribed.try_next().unwrap_err().kind(), gone);
    assert_eq!(follower.try_next().unwrap_err().kind(), gone);
    assert_eq!(iterator.next().unwrap().unwrap_err().kind(), gone);
    // One that waits for the next event is told.
    assert_eq!(waits.join().unwrap(), gone);
}

#[test]
fn a_paused_run_whose_task_is_deleted_is_told() {
    let (engine, task) = store();
    let run = Run::of(task.clone(), RunOptions::default()).unwrap();
    run.begin().unwrap();
    task.control().change(RunControl::Paused, None).unwrap();
    let (told, tells) = channel();
    let waits = thread::spawn(move || {
        told.send(()).unwrap();
        run.safe_point().unwrap_err().kind()
    });
    tells.recv().unwrap();
    engine.retention().delete_task("essay").unwrap();
    assert_eq!(waits.join().unwrap(), ErrorKind::NotFound);
}

#[test]
fn a_follower_of_a_lineage_that_was_dropped_goes_on_with_the_active_one() {
    let (engine, task) = store();
    for n in 0..20 {
        task.append(said(&format!("m{n}"))).unwrap();
    }
    let back = engine.restore(&task.point(7).unwrap()).run().unwrap();
    let mut follower = back.follow(7).unwrap();
    let task = engine.undo("essay").run().unwrap();
    task.checkpoint(Mark::new()).unwrap();
    task.checkpoint(Mark::new()).unwrap();
    let report = engine.retention().retain(&Policy::new().keep(1).undo(0)).unwrap();
    assert!(!report.tasks[0].dropped.is_empty(), "{report:?}");
    let moved = follower.try_next().unwrap();
    let active = task.lineage().id();
    assert!(
        matches!(moved, Some(Followed::LineageChanged(moved)) if moved.to == active),
        "{moved:?}"
    );
    while follower.try_next().unwrap().is_some() {}
}
