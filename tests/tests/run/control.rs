//! Run control: legal and illegal changes, safe points, kills, restores.

use std::sync::mpsc;
use std::time::Duration;

use milepost::events::{ArtifactsEdited, ControlChanged, GuidanceGiven, RunControl, StepStarted};
use milepost::{Append, Detail, Engine, ErrorKind, Json, Options, Task};
use milepost_runtime::run::{Run, RunOptions, SafePoint};
use milepost_tests::folder;

use crate::run::{engine, run};

const ALL: [RunControl; 4] =
    [RunControl::Idle, RunControl::Running, RunControl::Paused, RunControl::Stopped];

/// A task brought to a control by legal changes.
fn at(engine: &Engine, name: &str, control: RunControl) -> Task {
    let task = engine.start_task(name, "ana").unwrap();
    let way: &[RunControl] = match control {
        RunControl::Idle => &[],
        RunControl::Running => &[RunControl::Running],
        RunControl::Paused => &[RunControl::Running, RunControl::Paused],
        RunControl::Stopped => &[RunControl::Running, RunControl::Stopped],
    };
    for to in way {
        task.control().change(*to, None).unwrap();
    }
    task
}

#[test]
fn each_change_of_control_is_legal_or_an_error_that_changes_nothing() {
    let (engine, _) = engine();
    for from in ALL {
        for to in ALL {
            let name = format!("{} to {}", from.name(), to.name());
            let task = at(&engine, &name, from);
            let head = task.head().unwrap();
            let legal = milepost::state::transition(from, to).is_ok();
            match task.control().change(to, None) {
                Ok(before) => {
                    assert!(legal, "{name}");
                    assert_eq!((before, task.control().now().unwrap()), (from, to), "{name}");
                }
                Err(error) => {
                    assert!(!legal, "{name}: {error}");
                    assert_eq!(error.kind(), ErrorKind::Invalid, "{name}");
                    assert_eq!(task.head().unwrap(), head, "{name}: nothing is appended");
                    assert_eq!(task.control().now().unwrap(), from, "{name}");
                }
            }
            let point = task.point(task.head().unwrap().next).unwrap();
            let state = engine.run_state(&point).unwrap();
            assert_eq!(state.control, task.control().now().unwrap(), "{name}: as the fold has it");
            assert_eq!(state.last_error, None, "{name}");
        }
    }
}

#[test]
fn a_plain_append_of_an_illegal_change_is_refused_like_any_other() {
    let (engine, _) = engine();
    let change = |from, to| ControlChanged { from, to, reason: None };
    let task = at(&engine, "t", RunControl::Running);
    let head = task.head().unwrap();
    let illegal = [
        change(RunControl::Paused, RunControl::Running),
        change(RunControl::Running, RunControl::Running),
        change(RunControl::Idle, RunControl::Running),
    ];
    for change in illegal {
        let error = task.append(change.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{change:?}: {error}");
        let error = task.submit(change).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    assert_eq!(task.head().unwrap(), head);
    // In one append each follows the one before, and all or none are taken.
    let there_and_back = [
        change(RunControl::Running, RunControl::Paused),
        change(RunControl::Paused, RunControl::Running),
    ];
    task.append(Append::batch(there_and_back.clone())).unwrap();
    let half = [there_and_back[0].clone(), there_and_back[0].clone()];
    assert!(task.append(Append::batch(half)).is_err());
    assert_eq!(task.control().now().unwrap(), RunControl::Running);
    // A change that was appended under a key exists: a repetition is not an error.
    let keyed = || Append::from(change(RunControl::Running, RunControl::Stopped)).key("stop");
    assert!(!task.append(keyed()).unwrap().repeated);
    assert!(task.append(keyed()).unwrap().repeated);
    assert_eq!(task.control().now().unwrap(), RunControl::Stopped);
}

#[test]
fn of_two_that_pause_a_run_at_once_one_does() {
    let (engine, _) = engine();
    let task = at(&engine, "t", RunControl::Running);
    let paused = std::thread::scope(|scope| {
        let pause = || task.control().change(RunControl::Paused, None).is_ok();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(pause)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).filter(|ok| *ok).count()
    });
    assert_eq!(paused, 1);
    assert_eq!(task.control().now().unwrap(), RunControl::Paused);
}

#[test]
fn a_paused_run_waits_at_its_safe_point_and_goes_on_with_what_was_given_meanwhile() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default());
    run.begin().unwrap();
    assert_eq!(run.safe_point().unwrap(), SafePoint::Go);
    let other = engine.task("t").unwrap();
    other.control().change(RunControl::Paused, Some("look")).unwrap();
    std::thread::scope(|scope| {
        let (said, heard) = mpsc::channel();
        let run = &run;
        scope.spawn(move || {
            let turn = run.safe_point().unwrap();
            said.send((turn, run.state().unwrap())).unwrap();
        });
        let guidance = GuidanceGiven { text: "shorter".into(), data: None };
        other.append(guidance).unwrap();
        let artifacts = [("patterns".to_owned(), Json::new("[1]").unwrap())].into();
        other.append(ArtifactsEdited { artifacts }).unwrap();
        // The run waits: it reports nothing until it is resumed.
        assert!(heard.try_recv().is_err());
        other.control().change(RunControl::Running, None).unwrap();
        let (turn, state) = heard.recv().unwrap();
        assert_eq!(turn, SafePoint::Go);
        assert_eq!(state.guidance.len(), 1);
        assert_eq!(state.artifacts["patterns"].text(), "[1]");
        assert_eq!(state.control, RunControl::Running);
    });
    run.stop("enough").unwrap();
    assert_eq!(run.safe_point().unwrap(), SafePoint::Stop(RunControl::Stopped));
    run.begin().unwrap();
    run.end().unwrap();
    assert_eq!(run.safe_point().unwrap(), SafePoint::Stop(RunControl::Idle));
}

#[test]
fn a_run_that_waits_is_told_of_a_stop_of_a_restore_and_of_a_close() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default());
    run.begin().unwrap();
    let wait = |act: &dyn Fn()| {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| run.safe_point());
            act();
            waiting.join().unwrap()
        })
    };
    run.pause("one").unwrap();
    assert_eq!(
        wait(&|| run.stop("never mind").unwrap()).unwrap(),
        SafePoint::Stop(RunControl::Stopped)
    );
    run.begin().unwrap();
    run.pause("two").unwrap();
    let before = run.task();
    let turn = wait(&|| {
        // Before the pause: the run is going there.
        let point = engine.point("t@2").unwrap();
        engine.restore(&point).run().unwrap();
    });
    assert_eq!(turn.unwrap(), SafePoint::Elsewhere(run.task().lineage().id()));
    assert_ne!(before.lineage().id(), run.task().lineage().id());
    assert_eq!(run.safe_point().unwrap(), SafePoint::Go, "as the point had it");
    run.append(StepStarted::default()).unwrap();
    assert_eq!(before.append(StepStarted::default()).unwrap_err().kind(), ErrorKind::Conflict);
    run.pause("three").unwrap();
    let closed = wait(&|| engine.clone().close().unwrap());
    assert_eq!(closed.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn the_pause_of_a_killed_process_is_still_there_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let (root, killed) = (dir.path().join("store"), dir.path().join("killed"));
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = at(&engine, "t", RunControl::Paused);
    let text = "be brief".to_owned();
    task.append(GuidanceGiven { text, data: None }).unwrap();
    folder::copy_store(&root, &killed).unwrap();
    let engine = Engine::open(&killed, Options::default()).unwrap();
    let run = Run::of(engine.task("t").unwrap(), RunOptions::default()).unwrap();
    assert_eq!(run.task().control().now().unwrap(), RunControl::Paused);
    assert_eq!(run.state().unwrap().guidance.len(), 1);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| run.safe_point().unwrap());
        run.resume().unwrap();
        assert_eq!(waiting.join().unwrap(), SafePoint::Go);
    });
}

#[test]
fn a_restore_has_the_control_of_its_point_and_the_lineage_before_keeps_its_own() {
    let (engine, _) = engine();
    let task = at(&engine, "t", RunControl::Running);
    let running = task.head().unwrap().next;
    task.control().change(RunControl::Paused, None).unwrap();
    let back = engine.restore(&task.point(running).unwrap()).run().unwrap();
    assert_eq!(back.control().now().unwrap(), RunControl::Running);
    assert_eq!(task.control().now().unwrap(), RunControl::Paused);
    back.control().change(RunControl::Stopped, None).unwrap();
    let undone = engine.undo("t").run().unwrap();
    assert_eq!(undone.control().now().unwrap(), RunControl::Paused);
}

#[test]
fn a_wait_for_a_change_of_control_ends_with_it_with_its_time_and_with_the_lineage() {
    let (engine, _) = engine();
    let task = at(&engine, "t", RunControl::Paused);
    let waited = task.control().wait(RunControl::Running, Duration::MAX).unwrap();
    assert_eq!(waited, RunControl::Paused, "it is not waited for what is not so");
    let waited = task.control().wait(RunControl::Paused, Duration::from_millis(1)).unwrap();
    assert_eq!(waited, RunControl::Paused);
    let wait = |task: &Task| task.control().wait(RunControl::Paused, Duration::MAX);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| wait(&task));
        task.control().change(RunControl::Running, None).unwrap();
        assert_eq!(waiting.join().unwrap().unwrap(), RunControl::Running);
        task.control().change(RunControl::Paused, None).unwrap();
        let waiting = scope.spawn(|| wait(&task));
        let back = engine.restore(&task.point(3).unwrap()).run().unwrap();
        let error = waiting.join().unwrap().unwrap_err();
        let active = Detail::Active { lineage: back.lineage().id(), epoch: back.epoch() };
        assert_eq!((error.kind(), error.detail()), (ErrorKind::Conflict, Some(&active)));
        let now = task.renewed().unwrap();
        assert_eq!(now.lineage().id(), back.lineage().id());
        let waiting = scope.spawn(move || wait(&now));
        engine.clone().close().unwrap();
        assert_eq!(waiting.join().unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
    });
}

#[test]
fn a_run_is_paused_and_stopped_where_its_task_is_also_before_it_has_looked() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default());
    run.begin().unwrap();
    let point = run.task().point(2).unwrap();
    let back = engine.restore(&point).run().unwrap();
    run.pause("the wrong way").unwrap();
    assert_eq!(back.control().now().unwrap(), RunControl::Paused);
    assert_eq!(run.safe_point().unwrap(), SafePoint::Elsewhere(back.lineage().id()));
    run.stop("enough").unwrap();
    assert_eq!(run.safe_point().unwrap(), SafePoint::Stop(RunControl::Stopped));
}
