//! The workspace with what else there is: retention, other scopes, more than one task.

use std::sync::{Arc, Mutex};

use milepost::events::Message;
use milepost::hooks::{WorkspaceChange, WorkspaceState};
use milepost::retention::Policy;
use milepost::{Body, Hook, Mark, Options, Scope};
use milepost_workspace::{Snapshot, Workspace, WorkspaceOptions};

use super::{Scene, content, none};

#[test]
fn files_only_leaves_the_conversation_and_state_only_leaves_the_files() {
    let scene = Scene::begin();
    scene.write("a", "one");
    scene.capture("first");
    scene.task.append(Message::text("user", "hello")).unwrap();
    scene.write("a", "two");
    scene.capture("second");
    let to = scene.point("first");
    let went = scene.workspace.restore(&scene.engine, &to, Scope::Files, None, &none()).unwrap();
    assert_eq!(scene.read("a"), "one");
    let messages = || {
        let point = scene.engine.point("t").unwrap();
        scene.engine.run_state(&point).unwrap().messages.len()
    };
    assert_eq!(messages(), 1);
    assert_eq!(went.plan.changes.len(), 1);
    scene.workspace.undo(&scene.engine, "t", &none()).unwrap();
    assert_eq!((scene.read("a"), messages()), ("two".into(), 1));
    // The state only: the log says that the folder holds what it held.
    scene.engine.restore(&to).run().unwrap();
    assert_eq!((scene.read("a"), messages()), ("two".into(), 0));
    let report =
        scene.workspace.capture(&scene.engine, &scene.engine.task("t").unwrap(), None).unwrap();
    assert_eq!(report.appended, None, "nothing changed");
    scene.assert_clean();
}

#[test]
fn what_no_kept_capture_needs_leaves_the_disk_and_the_rest_stays() {
    let scene = Scene::begin();
    let secret = "a secret that nobody may find again 8d1c";
    scene.write("kept", "kept in all captures, as it is");
    scene.write("old", secret);
    scene.capture("c-0");
    std::fs::remove_file(scene.path("old")).unwrap();
    for n in 1..4 {
        scene.write("new", &format!("version {n}"));
        scene.capture(&format!("c-{n}"));
    }
    // The file is compressed: the search looks for the chunk's bytes.
    let id = milepost_codec::ChunkEntry::id_of(secret.as_bytes());
    let store = scene.engine.store().chunks();
    assert_eq!(store.has(&[id]).unwrap(), [true]);
    scene.engine.retention().retain(&Policy::new().keep(2)).unwrap();
    let report = scene.engine.retention().compact(&mut |_| {}).unwrap();
    assert_eq!(report.packs_left, None);
    assert_eq!(store.has(&[id]).unwrap(), [false]);
    scene.assert_clean();
    for n in [2, 3] {
        let point = scene.point(&format!("c-{n}"));
        let snapshot = Snapshot::at(&scene.engine, &point).unwrap();
        let into = scene.dir.path().join(format!("into-{n}"));
        std::fs::create_dir(&into).unwrap();
        snapshot.restore_into(&into).unwrap();
        assert_eq!(content(&into).len(), 2);
    }
    // A base names the last capture before it, and its chunks stay.
    let to = scene.point("c-2");
    scene.workspace.restore(&scene.engine, &to, Scope::All, None, &none()).unwrap();
    assert_eq!(scene.read("new"), "version 2");
    scene.engine.retention().compact(&mut |_| {}).unwrap();
    scene.assert_clean();
}

#[test]
fn a_capture_that_only_a_base_names_keeps_what_it_needs() {
    let scene = Scene::begin();
    scene.write("a", "captured once");
    scene.capture("first");
    for n in 0..5 {
        scene.task.append(Message::text("user", "hello")).unwrap();
        let mark = Mark::new().label(format!("later-{n}"));
        scene.task.checkpoint(mark).unwrap();
    }
    scene.engine.retention().retain(&Policy::new().keep(1)).unwrap();
    scene.engine.retention().compact(&mut |_| {}).unwrap();
    scene.assert_clean();
    scene.write("a", "changed");
    scene.capture("changed");
    let to = scene.point("later-4");
    scene.workspace.restore(&scene.engine, &to, Scope::All, None, &none()).unwrap();
    assert_eq!(scene.read("a"), "captured once");
}

#[test]
fn damage_to_a_chunk_is_told_with_the_paths_that_it_hits() {
    let scene = Scene::begin();
    let text: String = (0..40_000_u32).map(|n| format!("{n:x} ")).collect();
    scene.write("src/large.txt", &text);
    scene.write("src/small.txt", "small");
    scene.capture("first");
    let store = scene.dir.path().join("store");
    let pack = store.join("packs/0000000001.pack");
    let mut bytes = std::fs::read(&pack).unwrap();
    // In the content that was stored first.
    let at = 400;
    bytes[at] ^= 1;
    std::fs::write(&pack, bytes).unwrap();
    let report = scene.engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    let said: Vec<&str> = report.faults.iter().map(|f| f.message.as_str()).collect();
    assert!(said.iter().any(|text| text.contains("src/")), "{said:?}");
}

#[test]
fn two_tasks_with_the_same_files_store_them_once() {
    let scene = Scene::begin();
    let text: String = (0..9_000_u32).map(|n| format!("{n:x} ")).collect();
    scene.write("a", &text);
    scene.capture("first");
    let other = scene.engine.start_task("other", "ana").unwrap();
    let workspace = Workspace::open(scene.folder(), WorkspaceOptions::default()).unwrap();
    let report = workspace.capture(&scene.engine, &other, None).unwrap();
    assert!(report.appended.is_some());
    let first = scene.engine.captures().at(&scene.point("first")).unwrap();
    assert_eq!(Some(report.root), first, "the same tree, the same capture");
}

#[test]
fn a_workspace_that_joined_can_be_captured_by_hand_and_says_so_once() {
    let scene = Scene::begin();
    let joined = scene.engine.restores().join(&scene.task, scene.workspace.participant());
    let _joined = joined.unwrap();
    let captures = || {
        let events = scene.task.read(..).unwrap();
        let captured = |event: milepost::Result<milepost::Event>| {
            matches!(event.unwrap().body, Some(Body::WorkspaceCaptured(_)))
        };
        events.map(captured).filter(|captured| *captured).count()
    };
    scene.write("a", "one");
    scene.capture("by-hand");
    assert_eq!(captures(), 1);
    // Nothing changed: the mark alone, by hand and by the task.
    scene.capture("again");
    scene.task.checkpoint(Mark::new()).unwrap();
    assert_eq!(captures(), 1);
    scene.write("a", "two");
    scene.task.checkpoint(Mark::new()).unwrap();
    assert_eq!(captures(), 2);
}

/// Changes of a workspace's state, as reported to a hook.
#[derive(Default)]
struct Told(Mutex<Vec<WorkspaceChange>>);

impl Hook for Told {
    fn name(&self) -> &str {
        "told"
    }

    fn on_workspace(&self, change: &WorkspaceChange) {
        self.0.lock().unwrap().push(change.clone());
    }
}

#[test]
fn hooks_are_told_what_a_workspace_does_and_captures_are_counted() {
    use WorkspaceState::{Creating, Error, Idle, Restoring};
    let told = Arc::new(Told::default());
    let scene = Scene::with(Options::default().hook(Arc::clone(&told) as _));
    let states = || {
        let mut told = told.0.lock().unwrap();
        let folder = scene.workspace.folder();
        assert!(told.iter().all(|change| (&*change.task, &*change.folder) == ("t", folder)));
        let changes = told.drain(..).map(|change| (change.before, change.state, change));
        changes.collect::<Vec<_>>()
    };
    let of = |changes: &[(WorkspaceState, WorkspaceState, WorkspaceChange)]| {
        changes.iter().map(|(from, to, _)| (*from, *to)).collect::<Vec<_>>()
    };
    scene.write("a", "one");
    scene.write("b", "three");
    scene.capture("first");
    let changes = states();
    assert_eq!(of(&changes), [(Idle, Creating), (Creating, Idle)]);
    let done = &changes[1].2;
    assert_eq!((done.files, done.bytes, done.read), (2, 8, 2));
    assert_eq!(done.error, None);

    scene.write("a", "two");
    scene.capture("second");
    states();
    let to = scene.point("first");
    let back = |to| {
        let (engine, workspace) = (&scene.engine, &scene.workspace);
        workspace.restore(engine, to, Scope::All, None, &none())
    };
    back(&to).unwrap();
    assert_eq!(of(&states()), [(Idle, Restoring), (Restoring, Idle)]);

    // 004: a refused restore ends in an error, which has the reason.
    scene.write("a", "mine");
    let other = scene.engine.task("t").unwrap();
    other.append(Message::text("user", "on it goes")).unwrap();
    std::fs::remove_file(scene.path("b")).unwrap();
    std::fs::create_dir(scene.path("b")).unwrap();
    scene.write("b/c", "mine");
    let refused = back(&to).unwrap_err();
    let changes = states();
    assert_eq!(of(&changes), [(Idle, Restoring), (Restoring, Error)]);
    assert_eq!(changes[1].2.error, Some(refused.to_string()));

    // One that fails is told with its reason.
    std::fs::rename(scene.folder(), scene.dir.path().join("elsewhere")).unwrap();
    let failed = scene.workspace.capture(&scene.engine, &other, None);
    let changes = states();
    assert_eq!(of(&changes), [(Error, Creating), (Creating, Error)]);
    assert_eq!(changes[1].2.error, Some(failed.unwrap_err().to_string()));

    let metrics = scene.engine.store().metrics();
    assert_eq!((metrics.captures, metrics.capture_us.count()), (2, 2));
    assert_eq!(metrics.capture_files, 4);
    assert!((3..=4).contains(&metrics.capture_files_read));
}

/// A scene with two lineages: 0 names `a` as "two", which the folder has, and 1, the active one, as
/// "one".
fn switched() -> Scene {
    let scene = Scene::begin();
    scene.write("a", "one");
    scene.capture("first");
    let branch = scene.engine.branch(&scene.engine.point("t").unwrap()).run().unwrap();
    scene.write("a", "two");
    scene.capture("second");
    scene.engine.switch(&branch).run().unwrap();
    scene
}

#[test]
fn after_a_switch_a_capture_makes_the_lineage_name_what_the_folder_has() {
    let scene = switched();
    let captured = || {
        let task = scene.engine.task("t").unwrap();
        let report = scene.workspace.capture(&scene.engine, &task, None).unwrap();
        let head = scene.engine.point("t").unwrap();
        assert_eq!(scene.engine.captures().at(&head).unwrap(), Some(report.root));
        assert_eq!(scene.engine.captures().last(&task).unwrap(), Some(report.root));
        report.appended.is_some()
    };
    // The folder is as at its last capture, and the lineage names another one.
    assert_eq!((captured(), captured()), (true, false));
    scene.write("a", "one");
    assert!(captured());
    // The lineage names what the folder has, and the last capture is another one.
    let root = scene.engine.task("t").unwrap().lineage_named(milepost::LineageId(0)).unwrap();
    scene.engine.switch(&root).run().unwrap();
    scene.write("a", "two");
    assert_eq!((captured(), captured()), (true, false));
    scene.assert_clean();
}

#[test]
fn after_a_switch_a_file_as_it_was_last_captured_is_restored_and_comes_back_by_an_undo() {
    let scene = switched();
    let to = scene.engine.point("t/1").unwrap();
    let went = scene.workspace.restore(&scene.engine, &to, Scope::All, None, &none()).unwrap();
    assert_eq!((scene.read("a"), went.plan.changes.len()), ("one".into(), 1));
    scene.workspace.undo(&scene.engine, "t", &none()).unwrap();
    assert_eq!(scene.read("a"), "two");
    scene.assert_clean();
}
