//! Events of captures in the log.

use std::time::Duration;

use milepost::{Body, ErrorKind, Mark, Options};

use super::*;
use milepost::hooks::WorkspaceState;

#[test]
fn a_capture_is_one_event_with_its_mark_in_the_same_commit() {
    let scene = Scene::new();
    scene.write("f", "x");
    let (engine, task) = (&scene.engine, &scene.task);
    let seq = engine.store().stats().unwrap().seq;
    let mark = Mark::new().label("first");
    let report = scene.workspace.capture(engine, task, Some(mark)).unwrap();
    assert_eq!(engine.store().stats().unwrap().seq, seq + 1);
    let at = report.appended.unwrap();
    let events: Vec<_> = task.read(at..).unwrap().map(Result::unwrap).collect();
    assert_eq!(events.len(), 2);
    let Some(Body::WorkspaceCaptured(captured)) = &events[0].body else {
        panic!("{:?}", events[0].body)
    };
    assert_eq!(captured.root, report.root);
    assert_eq!((captured.files, captured.bytes, captured.skipped), (1, 1, 0));
    assert_eq!(task.last_successful().unwrap().unwrap().id, report.checkpoint.unwrap());

    // Nothing changed: only the checkpoint is appended, and nothing without one.
    let mark = Mark::new().label("second");
    let again = scene.workspace.capture(engine, task, Some(mark)).unwrap();
    assert_eq!((again.root, again.appended), (report.root, None));
    assert!(again.checkpoint.is_some_and(|id| Some(id) != report.checkpoint));
    let head = task.head().unwrap();
    assert_eq!(scene.capture().checkpoint, None);
    assert_eq!(task.head().unwrap(), head);
    let there = engine.point("t@second").unwrap();
    assert_eq!(Snapshot::at(engine, &there).unwrap().info().root, report.root);
}

#[test]
fn a_capture_is_there_after_the_store_was_opened_again() {
    let scene = Scene::new();
    scene.write("a/f", "x".repeat(300_000));
    scene.write("b", "y");
    let report = scene.capture();
    let Scene { dir, engine, workspace, task } = scene;
    drop(task);
    engine.close().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.task("t").unwrap();
    let again = workspace.capture(&engine, &task, None).unwrap();
    assert_eq!((again.root, again.read, again.stored), (report.root, 0, 0));
    let empty = tempfile::tempdir().unwrap();
    Snapshot::of(&engine, again.root).unwrap().restore_into(empty.path()).unwrap();
    assert_eq!(things(empty.path()), things(workspace.folder()));
}

#[test]
fn captures_are_kept_in_memory_where_the_store_is() {
    let scene = Scene::new();
    scene.write("f", "x");
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let first = scene.workspace.capture(&engine, &task, None).unwrap();
    let again = scene.workspace.capture(&engine, &task, None).unwrap();
    assert_eq!((again.root, again.read), (first.root, 1));
}

#[test]
fn who_holds_the_folder_is_waited_for_and_named() {
    let mut scene = Scene::new();
    scene.write("f", "x");
    let options = WorkspaceOptions::default().wait(Duration::ZERO);
    scene.looked_at(options.clone());
    let lock =
        crate::lock::Lock::take(&scene.folder(), None, Duration::ZERO, crate::lock::Use::Restore)
            .unwrap();
    let mut feed = scene.workspace.statuses();
    let error = scene.workspace.capture(&scene.engine, &scene.task, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    // Only Linux tells who holds a lock.
    let holder = match cfg!(all(target_os = "linux", not(milepost_portable))) {
        true => std::process::id().to_string(),
        false => "another program".to_owned(),
    };
    assert!(error.to_string().contains(&holder), "{error}");
    assert_eq!(scene.workspace.status().state, WorkspaceState::Error);
    let told = feed.next_within(Duration::ZERO).unwrap();
    assert_eq!(told.error, Some(error.to_string()));
    drop(lock);
    scene.capture();
    let status = scene.workspace.status();
    assert_eq!((status.state, status.files, status.error), (WorkspaceState::Idle, 1, None));
}

#[test]
fn a_handle_from_before_a_restore_captures_nothing() {
    let scene = Scene::new();
    scene.write("f", "x");
    scene.capture();
    let point = scene.engine.point("t@0").unwrap();
    scene.engine.restore(&point).run().unwrap();
    scene.write("f", "y");
    let error = scene.workspace.capture(&scene.engine, &scene.task, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
}

#[test]
fn a_folder_that_is_gone_is_an_error_and_no_capture_of_nothing() {
    let scene = Scene::new();
    std::fs::remove_dir(scene.folder()).unwrap();
    let error = scene.workspace.capture(&scene.engine, &scene.task, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}
