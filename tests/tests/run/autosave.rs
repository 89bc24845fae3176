//! Idle runs save themselves. The clock is moved by the test, and the looks are taken by it.

use std::time::Duration;

use milepost::events::{ArtifactsEdited, MarkCause, Message, RunControl};
use milepost::{Engine, Mark, Options};
use milepost_runtime::run::{Run, RunOptions};

use crate::run::{MINUTE, engine};

/// A run that looks by itself so seldom that it does not.
fn idle(engine: &Engine) -> Run {
    let task = engine.start_task("t", "ana").unwrap();
    let minutes = Duration::from_secs(5 * 60);
    Run::of(task, RunOptions::default().autosave_after(Some(minutes))).unwrap()
}

fn saved(run: &Run) -> bool {
    let saved = run.autosave().unwrap();
    assert!(saved.as_ref().is_none_or(|mark| mark.cause == MarkCause::Idle));
    saved.is_some()
}

#[test]
fn five_minutes_after_the_last_event_an_idle_run_is_saved_once() {
    let (engine, clock) = engine();
    let run = idle(&engine);
    run.append(Message::text("user", "hello")).unwrap();
    assert!(!saved(&run));
    clock.advance(5 * MINUTE - 1);
    assert!(!saved(&run));
    clock.advance(1);
    assert!(saved(&run));
    clock.advance(60 * MINUTE);
    assert!(!saved(&run), "nothing is unsaved");
    assert_eq!((run.stats().saved, run.stats().autosaved), (1, 1));
}

#[test]
fn a_run_that_is_going_is_not_saved_and_one_that_is_paused_or_stopped_is() {
    let (engine, clock) = engine();
    let run = idle(&engine);
    run.begin().unwrap();
    clock.advance(60 * MINUTE);
    assert!(!saved(&run), "it is going");
    run.pause("lunch").unwrap();
    assert!(!saved(&run), "the pause started the clock again");
    clock.advance(5 * MINUTE);
    assert!(saved(&run));
    run.stop("home").unwrap();
    clock.advance(5 * MINUTE);
    assert!(saved(&run));
}

#[test]
fn any_pause_resume_edit_or_change_starts_the_clock_again() {
    let (engine, clock) = engine();
    let run = idle(&engine);
    let other = engine.task("t").unwrap();
    let changes: [&dyn Fn(); 4] = [
        &|| {
            other.control().change(RunControl::Running, None).unwrap();
        },
        &|| {
            other.control().change(RunControl::Paused, None).unwrap();
        },
        &|| {
            let artifacts = Default::default();
            other.append(ArtifactsEdited { artifacts }).unwrap();
        },
        &|| {
            other.append(Message::text("user", "hi")).unwrap();
        },
    ];
    for change in changes {
        clock.advance(4 * MINUTE);
        change();
        assert!(!saved(&run));
    }
    clock.advance(4 * MINUTE);
    assert!(!saved(&run));
    clock.advance(MINUTE);
    assert!(saved(&run));
}

#[test]
fn what_a_process_before_left_unsaved_is_saved_and_what_it_saved_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let (_, clock) = engine();
    let open = || Engine::open(dir.path().join("store"), Options::default().clock(clock.clone()));
    let engine = open().unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(Message::text("user", "hello")).unwrap();
    engine.close().unwrap();
    clock.advance(60 * MINUTE);
    for first in [true, false] {
        let engine = open().unwrap();
        let run = Run::of(engine.task("t").unwrap(), RunOptions::default()).unwrap();
        assert_eq!(saved(&run), first);
        drop(run);
        engine.close().unwrap();
    }
}

#[test]
fn the_run_looks_by_itself_and_a_store_that_is_closed_ends_that_quietly() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(Message::text("user", "hello")).unwrap();
    let mut events = task.subscribe(1, Default::default()).unwrap();
    let soon = Some(Duration::from_millis(1));
    let run = Run::of(task, RunOptions::default().autosave_after(soon)).unwrap();
    // Behind the message comes the mark, whenever that is.
    events.next().unwrap();
    let mark = events.next().unwrap();
    assert_eq!(mark.body.unwrap().kind_name(), "checkpoint_marked");
    engine.close().unwrap();
    drop(run);
}

#[test]
fn nothing_is_unsaved_in_a_task_that_was_only_started_restored_or_saved_by_another_handle() {
    let (engine, clock) = engine();
    let run = idle(&engine);
    clock.advance(60 * MINUTE);
    assert!(!saved(&run), "only started");
    run.append(Message::text("user", "hello")).unwrap();
    engine.task("t").unwrap().checkpoint(Mark::new().label("good")).unwrap();
    clock.advance(60 * MINUTE);
    assert!(!saved(&run), "saved by another handle");
    run.append(Message::text("user", "more")).unwrap();
    engine.restore(&engine.point("t@good").unwrap()).run().unwrap();
    assert!(matches!(run.safe_point().unwrap(), milepost_runtime::run::SafePoint::Elsewhere(_)));
    clock.advance(60 * MINUTE);
    assert!(!saved(&run), "only restored");
    run.append(Message::text("user", "again")).unwrap();
    clock.advance(5 * MINUTE);
    assert!(saved(&run));
}
