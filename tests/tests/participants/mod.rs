//! I9: a participant in a restore is restored with the log, or nothing is; and an interrupted
//! restore blocks its task until it is undone.

mod text;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use milepost::events::{Application, Data, LineageType, Message, ToolCalled, WorkspaceCaptured};
use milepost::ids::ChunkId;
use milepost::restore::{CaptureContext, PendingRestore, PrepareContext};
use milepost::retention::Policy;
use milepost::{
    Append, Body, Detail, Engine, Error, ErrorKind, Hash, Json, Mark, Options, Participant,
    Restore, Result, Scope,
};
use milepost_codec::{Capture, ChunkList, Node, PathBytes, RestoreOutcome, RestorePart};
use milepost_runtime::run::{Access, Never, Run, RunOptions, ToolEffects};
use text::{Text, Trouble};

fn all(texts: &[&Text]) -> Vec<Arc<dyn Participant>> {
    let one = |text: &&Text| Arc::new((*text).clone()) as Arc<dyn Participant>;
    texts.iter().map(one).collect()
}

/// Adds participants to a restore or an undo.
fn with_all<'a>(restore: Restore<'a>, with: &[Arc<dyn Participant>]) -> Restore<'a> {
    with.iter().cloned().fold(restore, Restore::with)
}

/// A task with a message at offset 1, and one behind it.
fn begun(engine: &Engine) -> milepost::Task {
    let task = engine.start_task("t", "ana").unwrap();
    task.append(Message::text("user", "one")).unwrap();
    task.append(Message::text("user", "two")).unwrap();
    task
}

fn messages(engine: &Engine) -> u64 {
    let state = engine.run_state(&engine.point("t").unwrap()).unwrap();
    state.messages.len()
}

fn assert_clean(engine: &Engine) {
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

fn told() -> Arc<Mutex<Vec<String>>> {
    Arc::default()
}

#[test]
fn files_are_not_restored_without_a_participant() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let to = task.point(1).unwrap();
    for scope in [Scope::All, Scope::Files] {
        let error = engine.restore(&to).scope(scope).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
    assert_eq!(task.lineages().unwrap().len(), 1);
}

#[test]
fn what_takes_part_goes_back_with_the_log_and_undo_brings_the_present_back() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = begun(&engine);
    let told = told();
    let (a, b) = (Text::new("a", &told), Text::new("b", &told));
    a.set("second");
    b.set("second");
    let before = task.lineage().id();
    let to = engine.point("t@2").unwrap();
    let went = with_all(engine.restore(&to), &all(&[&a, &b])).description("back").run().unwrap();
    assert_eq!((a.get(), b.get()), ("first".into(), "first".into()));
    assert_eq!(messages(&engine), 1);
    let opened = &went.lineages().unwrap()[1];
    assert_eq!(opened.lineage_type, LineageType::Rollback);
    let order = [
        "a captured",
        "b captured",
        "a prepared",
        "b prepared",
        "a applied",
        "b applied",
        "a cleared",
        "b cleared",
    ];
    assert_eq!(*told.lock().unwrap(), order);
    let past = engine.restores().of_task("t").unwrap();
    assert_eq!(past.len(), 1);
    let ended = past[0].ended.as_ref().unwrap();
    assert_eq!(ended.outcome, RestoreOutcome::Done);
    assert!(engine.restores().pending().unwrap().is_empty());

    // The old lineage has what was captured, and nothing after it.
    let old = task.lineage_named(before).unwrap();
    let head = old.head().unwrap().next;
    assert_eq!(a.at(&engine, &went, &old.point(head).unwrap()), "second");

    let error = engine.undo("t").run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    a.set("third");
    let undone = with_all(engine.undo("t"), &all(&[&a, &b])).run().unwrap();
    assert_eq!(undone.lineage().id(), before);
    assert_eq!((a.get(), b.get()), ("second".into(), "second".into()));
    assert_eq!(messages(&engine), 2);
    // And what was there before the undo is captured too.
    let left = went.lineage().head().unwrap().next;
    let left = went.lineage().point(left).unwrap();
    assert_eq!(a.at(&engine, &went, &left), "third");
    assert_clean(&engine);
}

#[test]
fn files_only_leaves_state_and_conversation_as_they_are() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = begun(&engine);
    let text = Text::new("a", &told());
    text.set("second");
    let to = engine.point("t@2").unwrap();
    let went = with_all(engine.restore(&to), &all(&[&text])).scope(Scope::Files).run().unwrap();
    assert_eq!(text.get(), "first");
    assert_eq!(messages(&engine), 2);
    assert_ne!(went.lineage().id(), task.lineage().id());
    with_all(engine.undo("t"), &all(&[&text])).run().unwrap();
    assert_eq!(text.get(), "second");
    assert_clean(&engine);
}

#[test]
fn where_one_fails_all_are_taken_back_and_the_task_goes_on() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = begun(&engine);
    let told = told();
    let (a, b) = (Text::new("a", &told), Text::new("b", &told));
    a.set("second");
    b.set("second");
    let to = engine.point("t@2").unwrap();
    let failing = all(&[&a, &b.with(Trouble::Fails)]);
    let error = with_all(engine.restore(&to), &failing).run().unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert_eq!((a.get(), b.get()), ("second".into(), "second".into()));
    let said = told.lock().unwrap().split_off(6);
    assert_eq!(said, ["b taken back", "a taken back"]);
    let past = engine.restores().of_task("t").unwrap();
    let ended = past[0].ended.as_ref().unwrap();
    assert_eq!(ended.outcome, RestoreOutcome::Undone);
    assert!(ended.reason.as_ref().unwrap().contains("the disk is full"));
    assert_eq!(messages(&engine), 2);
    task.append(Message::text("user", "three")).unwrap();
    assert_clean(&engine);
}

/// A store whose process died in the middle of a restore.
fn cut_short(store: &Path, text: &Text) {
    let engine = Engine::open(store, Options::default()).unwrap();
    begun(&engine);
    text.set("second");
    let to = engine.point("t@2").unwrap();
    let dying = all(&[&text.with(Trouble::Dies)]);
    let died = catch_unwind(AssertUnwindSafe(|| with_all(engine.restore(&to), &dying).run()));
    assert!(died.is_err());
    assert_eq!(text.get(), "half");
    engine.close().unwrap();
}

#[test]
fn a_restore_that_was_cut_short_holds_its_task_up_and_no_other_until_it_is_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let text = Text::new("a", &told());
    cut_short(&store, &text);
    for sled_is_there in [true, false] {
        if !sled_is_there {
            std::fs::remove_dir_all(store.join("sled")).unwrap();
        }
        let engine = Engine::open(&store, Options::default()).unwrap();
        let task = engine.task("t").unwrap();
        let here = engine.point("t@1").unwrap();
        let held = |error: Error| {
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            match error.detail() {
                Some(Detail::Pending { task, place, .. }) => {
                    assert_eq!((task.as_str(), place.as_str()), ("t", "a \"memory\""));
                }
                other => panic!("{other:?}"),
            }
        };
        held(task.append(Message::text("user", "three")).unwrap_err());
        held(task.lineage().append(Message::text("user", "three")).unwrap_err());
        held(task.checkpoint(Default::default()).unwrap_err());
        held(engine.restore(&here).run().unwrap_err());
        held(engine.branch(&here).run().unwrap_err());
        held(engine.undo("t").run().unwrap_err());
        held(engine.retention().delete_task("t").unwrap_err());
        let again = with_all(engine.restore(&here), &all(&[&text])).run();
        held(again.unwrap_err());
        // Reading, and other tasks, go on.
        assert_eq!(messages(&engine), 2);
        let name = format!("other-{sled_is_there}");
        let other = engine.start_task(&name, "ana").unwrap();
        other.append(Message::text("user", "hello")).unwrap();
        assert_clean(&engine);
        engine.close().unwrap();
    }
    let engine = Engine::open(&store, Options::default()).unwrap();
    let pending = engine.restores().pending().unwrap();
    assert_eq!(pending.len(), 1);
    let error = engine.restores().recover(&pending[0], &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    engine.restores().recover(&pending[0], &all(&[&text])).unwrap();
    assert_eq!(text.get(), "second");
    assert!(engine.restores().pending().unwrap().is_empty());
    let error = engine.restores().recover(&pending[0], &all(&[&text])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    let task = engine.task("t").unwrap();
    task.append(Message::text("user", "three")).unwrap();
    assert_eq!(messages(&engine), 3);
    assert_clean(&engine);
}

#[test]
fn where_taking_back_stops_the_restore_stays_pending_until_it_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let text = Text::new("a", &told());
    cut_short(&store, &text);
    let engine = Engine::open(&store, Options::default()).unwrap();
    let pending = engine.restores().pending().unwrap();
    let stopping = all(&[&text.with(Trouble::Stops)]);
    let error = engine.restores().recover(&pending[0], &stopping).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(engine.restores().pending().unwrap().len(), 1);
    // A cleanup does the other tasks, and says why not this one.
    let report = engine.retention().retain(&Policy::new().keep(0)).unwrap();
    assert!(report.tasks.iter().all(|task| task.task != "t" || task.error.is_some()));
    engine.restores().abandon(&pending[0], "the folder is gone").unwrap();
    assert_eq!(text.get(), "half", "what is there stays as it is");
    let past = engine.restores().of_task("t").unwrap();
    let ended = past[0].ended.as_ref().unwrap();
    assert_eq!(ended.outcome, RestoreOutcome::GivenUp);
    let task = engine.task("t").unwrap();
    task.append(Message::text("user", "three")).unwrap();
    assert_clean(&engine);
}

#[test]
fn nobody_appends_between_the_beginning_and_the_end_of_a_restore() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = begun(&engine);
    let text = Text::new("a", &told());
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let lineage = task.lineage_named(task.lineage().id()).unwrap();
                match lineage.append(Message::text("user", "more")) {
                    Ok(_) => {}
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}"),
                }
            }
        });
        for n in 0..50 {
            text.set(&format!("text {n}"));
            let to = engine.point("t@2").unwrap();
            with_all(engine.restore(&to), &all(&[&text])).run().unwrap();
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        writer.join().unwrap();
    });
    // The first lineage's head, as the restore that left it recorded it, is where its events end
    // that came before the beginning.
    for past in engine.restores().of_task("t").unwrap() {
        assert!(past.ended.is_some());
    }
    assert_clean(&engine);
}

/// A stored capture of an empty folder.
fn capture(engine: &Engine, files: u64) -> WorkspaceCaptured {
    let store = engine.store().chunks();
    let tree = Node::Directory(Vec::new()).encode();
    let tree = store.put(&[&tree]).unwrap()[0];
    let node = Node::Capture(Capture {
        present: false,
        over: None,
        folder: PathBytes::from(b"/work".as_slice()),
        tree,
        files,
        directories: 0,
        links: 0,
        bytes: 1,
        skipped: 0,
        skips: ChunkList::default(),
    });
    let root = store.put(&[&node.encode()]).unwrap()[0];
    WorkspaceCaptured { root: Hash(root.0), files, bytes: 1, skipped: 0 }
}

#[test]
fn a_restore_of_the_state_only_says_that_the_files_are_what_they_were() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = begun(&engine);
    let (first, second) = (capture(&engine, 1), capture(&engine, 2));
    task.append(first.clone()).unwrap();
    let to = task.point(task.head().unwrap().next).unwrap();
    task.append(second.clone()).unwrap();
    for _ in 0..2 {
        let went = engine.restore(&to).run().unwrap();
        let state = engine.run_state(&engine.point("t").unwrap()).unwrap();
        assert_eq!(state.workspace, Some(second.root));
        let said = went.read(..).unwrap().filter_map(|event| match event.unwrap().body {
            Some(Body::WorkspaceCaptured(captured)) => Some(captured),
            _ => None,
        });
        assert_eq!(said.last().unwrap(), second);
    }
    engine.undo("t").run().unwrap();
    let state = engine.run_state(&engine.point("t").unwrap()).unwrap();
    assert_eq!(state.workspace, Some(second.root));
    let unknown = WorkspaceCaptured { root: Hash([9; 32]), ..first };
    let error = engine.task("t").unwrap().append(unknown).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert_clean(&engine);
}

/// Returns the texts of a history, event by event; `None` for a mark.
fn said(task: &milepost::Task) -> Vec<Option<String>> {
    let events = task.read(3..).unwrap().map(|event| event.unwrap().body.unwrap());
    let said = |body| match body {
        Body::Application(said) => match said.data {
            Data::Bytes(bytes) => Some(Some(String::from_utf8(bytes).unwrap())),
            Data::Json(_) => None,
        },
        Body::CheckpointMarked(_) => Some(None),
        _ => None,
    };
    events.filter_map(said).collect()
}

#[test]
fn whatever_joined_is_captured_in_front_of_each_checkpoint_until_it_leaves() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = begun(&engine);
    let text = Text::new("a", &told());
    let joined = engine.restores().join(&task, Arc::new(text.clone())).unwrap();
    let twice = engine.restores().join(&task, Arc::new(text.clone())).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::Conflict, "{twice}");
    let checkpoint = task.checkpoint(Mark::new()).unwrap();
    assert_eq!(task.last_successful().unwrap().unwrap().id, checkpoint.id);
    text.set("second");
    let append = Append::from(Message::text("user", "three")).mark(Mark::new());
    task.append(append).unwrap();
    text.set("third");
    let keyed = Append::from(Message::text("user", "four")).key("once").mark(Mark::new());
    let first = task.append(keyed.clone()).unwrap();
    text.set("fourth");
    let again = task.append(keyed).unwrap();
    assert!(again.repeated);
    assert_eq!((again.first, again.checkpoint), (first.first, first.checkpoint));
    let now = |text: &str| Some(text.to_owned());
    // A repetition captures nothing: it is answered from what was appended.
    let whole = [now("first"), None, now("second"), None, now("third"), None];
    assert_eq!(said(&task), whole);
    drop(joined);
    task.checkpoint(Mark::new()).unwrap();
    assert_eq!(said(&task).len(), whole.len() + 1);
    // An event without a checkpoint has nothing in front of it.
    let _joined = engine.restores().join(&task, Arc::new(text)).unwrap();
    task.append(Message::text("user", "five")).unwrap();
    assert_eq!(said(&task).len(), whole.len() + 1);
    assert_clean(&engine);
}

#[test]
fn a_tool_call_that_changes_something_has_what_was_there_in_front_of_it() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = begun(&engine);
    let text = Text::new("a", &told());
    let _joined = engine.restores().join(&task, Arc::new(text.clone())).unwrap();
    let options = RunOptions::default().policy(Never);
    let run = Run::of(task.clone(), options).unwrap();
    let call = |call: &str| ToolCalled {
        call: call.into(),
        tool: "write".into(),
        arguments: Json::new("{}").unwrap(),
    };
    let changes = Access::Changes(ToolEffects::default());
    run.tool(call("1"), changes, || {
        text.set("second");
        Ok::<_, Error>(Json::string("done"))
    })
    .unwrap();
    run.tool(call("2"), Access::Reads, || Ok::<_, Error>(Json::string("done"))).unwrap();
    assert_eq!(said(&task), [Some("first".to_owned())]);
}

#[test]
fn undo_takes_along_what_joined_and_joining_recovers_what_was_cut_short() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let text = Text::new("a", &told());
    cut_short(&store, &text);
    let engine = Engine::open(&store, Options::default()).unwrap();
    let task = engine.task("t").unwrap();
    let _joined = engine.restores().join(&task, Arc::new(text.clone())).unwrap();
    assert_eq!(text.get(), "second");
    assert!(engine.restores().pending().unwrap().is_empty());
    let to = engine.point("t@2").unwrap();
    with_all(engine.restore(&to), &all(&[&text])).run().unwrap();
    assert_eq!(text.get(), "first");
    engine.undo("t").run().unwrap();
    assert_eq!(text.get(), "second");
    assert_clean(&engine);
}
