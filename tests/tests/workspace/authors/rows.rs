//! Each row of the tables in `docs/AGENTS.md`, as a history.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use milepost::events::{
    MarkCause, RunControl, StepStarted, ToolCalled, ToolReturned, WorkspaceCaptured,
};
use milepost::retention::Policy;
use milepost::{Append, ErrorKind, Hash, Json, Mark, Point, Scope};
use milepost_codec::{Capture, ChunkList, Node, PathBytes};
use milepost_workspace::{Choices, ConflictWhy, LeftWhy, Plan};

use super::recorder::{SHARED, UNCAPTURED};
use crate::workspace::{Scene, at, none};

const UNKNOWN: ConflictWhy = ConflictWhy::AuthorUnknown;

impl Scene {
    /// A captured folder with these files, at the checkpoint `start` of an agent.
    fn started(files: &[&str]) -> Self {
        let scene = Self::begin();
        for file in files {
            scene.write(file, "start");
        }
        scene.prompt();
        scene.capture("start");
        scene
    }

    fn planned(&self, to: &str) -> Plan {
        let choices = none().leave_others();
        let to = match to.starts_with('0') {
            true => self.engine.point(&format!("t/{to}")).unwrap(),
            false => self.point(to),
        };
        self.workspace.plan(&self.engine, &to, &choices).unwrap()
    }

    fn asked(&self) -> Vec<(String, ConflictWhy)> {
        let conflicts = self.planned("start").conflicts.into_iter();
        conflicts.map(|conflict| (conflict.path.unwrap().to_string(), conflict.why)).collect()
    }

    fn left(&self) -> Vec<(String, LeftWhy)> {
        let plan = self.planned("start");
        assert_eq!(plan.conflicts, [], "{plan}");
        plan.left.into_iter().map(|left| (left.path.to_string(), left.why)).collect()
    }

    fn go(&self, to: &Point, scope: Scope, choices: &Choices) -> Plan {
        self.workspace.restore(&self.engine, to, scope, None, choices).unwrap().plan
    }

    fn is_there(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }
}

fn one(path: &str, why: ConflictWhy) -> Vec<(String, ConflictWhy)> {
    vec![(path.to_owned(), why)]
}

#[test]
fn what_the_run_changed_in_a_call_goes_back_with_what_it_made_and_removed() {
    let scene = Scene::started(&["a", "gone"]);
    scene.call("c1", || {
        scene.write("a", "run");
        scene.write("made", "run");
        fs::remove_file(scene.path("gone")).unwrap();
    });
    assert_eq!((scene.left(), scene.asked()), (vec![], vec![]));
    scene.go(&scene.point("start"), Scope::All, &none().leave_others());
    assert_eq!((scene.read("a"), scene.read("gone")), ("start".into(), "start".into()));
    assert!(!scene.is_there("made"));
}

#[test]
fn what_only_others_changed_stays_unasked_and_is_named() {
    let scene = Scene::started(&["a", "bits", "gone", "run"]);
    scene.call("c1", || scene.write("run", "run"));
    scene.write("a", "mine");
    scene.write("made", "mine");
    fs::remove_file(scene.path("gone")).unwrap();
    fs::set_permissions(scene.path("bits"), fs::Permissions::from_mode(0o600)).unwrap();
    scene.call("c2", || scene.write("run", "run again"));
    let (made, changed, removed) = (LeftWhy::Made, LeftWhy::Changed, LeftWhy::Removed);
    let left = [("a", changed), ("bits", changed), ("gone", removed), ("made", made)];
    assert_eq!(scene.left(), left.map(|(path, why)| (path.to_owned(), why)));
    let before = crate::workspace::content(&scene.folder());
    let plan = scene.go(&scene.point("start"), Scope::All, &none().leave_others());
    assert_eq!(plan.left.len(), 4);
    let line = "= gone  it stays removed: others removed it (`--theirs gone` takes it)\n";
    assert!(plan.to_string().contains(line), "{plan}");
    assert_eq!((scene.read("a"), scene.read("made")), ("mine".into(), "mine".into()));
    assert_eq!((scene.read("run"), scene.is_there("gone")), ("start".into(), false));
    scene.workspace.undo(&scene.engine, "t", &none()).unwrap();
    assert_eq!(crate::workspace::content(&scene.folder()), before);
}

#[test]
fn what_both_changed_is_asked_about_and_a_choice_decides() {
    let scene = Scene::started(&["a", "b"]);
    scene.call("c1", || scene.write("a", "run"));
    scene.write("a", "mine");
    scene.write("b", "mine");
    assert_eq!(scene.asked(), one("a", ConflictWhy::Outside));
    let (engine, start) = (&scene.engine, scene.point("start"));
    let leave = none().leave_others();
    let refused = scene.workspace.restore(engine, &start, Scope::All, None, &leave);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Conflict);
    // A choice decides before authors do.
    let choices = leave.clone().keep_mine(at("a")).theirs(at("b"));
    scene.go(&start, Scope::All, &choices);
    assert_eq!((scene.read("a"), scene.read("b")), ("mine".into(), "start".into()));
    scene.workspace.undo(engine, "t", &none()).unwrap();
    scene.go(&start, Scope::Files, &leave.theirs(at("a")));
    assert_eq!((scene.read("a"), scene.read("b")), ("start".into(), "mine".into()));
}

#[test]
fn calls_that_overlap_are_one_interval() {
    let scene = Scene::started(&["a"]);
    scene.before("agent", "c1", None);
    scene.called("agent", "c1");
    scene.before("agent:sub", "c2", None);
    scene.called("agent:sub", "c2");
    scene.after("agent:sub", "c2", None);
    scene.write("a", "run");
    scene.before("agent:sub", "c3", None);
    scene.called("agent:sub", "c3");
    scene.after("agent", "c1", None);
    scene.write("b", "run");
    scene.after("agent:sub", "c3", None);
    assert_eq!((scene.left(), scene.asked()), (vec![], vec![]));
    scene.go(&scene.point("start"), Scope::All, &none().leave_others());
    assert!(scene.read("a") == "start" && !scene.is_there("b"));
}

#[test]
fn what_the_present_of_a_restore_found_is_of_others_also_without_the_option() {
    let scene = Scene::started(&["a", "b"]);
    scene.call("c1", || scene.write("b", "run"));
    scene.write("a", "mine");
    let choices = none().keep_mine(at("a"));
    scene.go(&scene.point("start"), Scope::All, &choices);
    scene.workspace.undo(&scene.engine, "t", &none()).unwrap();
    scene.call("c2", || scene.write("c", "run"));
    assert_eq!(scene.left(), [("a".to_owned(), LeftWhy::Changed)]);
}

#[test]
fn what_a_restore_kept_stays_of_others_also_behind_one_of_the_files_alone() {
    for scope in [Scope::All, Scope::Files] {
        let scene = Scene::started(&["a"]);
        scene.write("mine", "mine");
        scene.call("c1", || scene.write("a", "run"));
        scene.go(&scene.point("start"), scope, &none().leave_others());
        scene.call("c2", || scene.write("a", "run again"));
        assert_eq!(scene.left(), [("mine".to_owned(), LeftWhy::Made)], "{scope:?}");
        scene.go(&scene.point("start"), scope, &none().leave_others());
        assert_eq!((scene.read("a"), scene.read("mine")), ("start".into(), "mine".into()));
    }
}

#[test]
fn the_changes_around_a_mark_that_says_so_are_unknown() {
    for says in [SHARED, UNCAPTURED] {
        let scene = Scene::started(&["a"]);
        scene.write("before", "?");
        scene.before("agent", "c1", Some(says));
        scene.called("agent", "c1");
        scene.write("in", "?");
        scene.after("agent", "c1", None);
        scene.write("behind", "mine");
        scene.call("c2", || scene.write("a", "run"));
        let asked = [one("before", UNKNOWN), one("in", UNKNOWN)].concat();
        assert_eq!(scene.asked(), asked, "{says}");
        let left = scene.planned("start").left;
        assert_eq!(left.iter().map(|left| &left.path).collect::<Vec<_>>(), [&at("behind")]);
    }
}

#[test]
fn a_call_whose_mark_behind_it_says_so_is_unknown_as_a_whole() {
    for (says, is_late) in [(SHARED, false), (UNCAPTURED, true)] {
        let scene = Scene::started(&["a"]);
        scene.write("earlier", "mine");
        scene.prompt();
        scene.write("before", "?");
        scene.before("agent", "c1", None);
        scene.called("agent", "c1");
        scene.write("first", "?");
        scene.before("agent:sub", "c2", None);
        scene.called("agent:sub", "c2");
        scene.write("sub", "?");
        scene.after("agent:sub", "c2", None);
        scene.write("last", "?");
        scene.after("agent", "c1", Some(says));
        scene.prompt();
        scene.call("c3", || scene.write("a", "run"));
        let during = ["first", "last", "sub"].into_iter();
        let unknown = is_late.then_some("before").into_iter().chain(during);
        let unknown: Vec<_> = unknown.flat_map(|path| one(path, UNKNOWN)).collect();
        assert_eq!(scene.asked(), unknown, "{says}");
        let left = scene.planned("start").left;
        assert_eq!(left.len(), if is_late { 1 } else { 2 }, "{left:?}");
    }
}

#[test]
fn a_call_that_another_one_of_its_actor_ended_makes_nothing_of_others_the_run_s() {
    let scene = Scene::started(&["a"]);
    scene.before("agent", "c1", None);
    scene.called("agent", "c1");
    scene.call("c2", || scene.write("a", "run"));
    scene.write("mine", "?");
    scene.after("agent", "c1", None);
    assert_eq!(scene.asked(), one("mine", UNKNOWN));
}

#[test]
fn an_interval_with_an_erased_event_is_unknown() {
    let scene = Scene::started(&["a"]);
    scene.call("c1", || scene.write("run", "run"));
    scene.write("mine", "mine");
    let capture = scene.before("agent", "c2", None).appended.unwrap();
    scene.called("agent", "c2");
    scene.write("a", "run");
    scene.after("agent", "c2", None);
    scene.call("c3", || scene.write("run", "run again"));
    assert_eq!(scene.asked(), []);
    scene.erase(capture + 2);
    assert_eq!(scene.asked(), one("a", UNKNOWN));
}

#[test]
fn a_lost_capture_leaves_both_sides_of_it_unknown() {
    let scene = Scene::started(&["a"]);
    scene.call("c1", || scene.write("run", "run"));
    scene.before("agent", "c2", None);
    scene.called("agent", "c2");
    scene.write("a", "?");
    // The tree of the capture is damaged.
    let ids = scene.engine.store().chunks().put(&[b"damaged"]).unwrap();
    let capture = Node::Capture(Capture {
        present: false,
        over: None,
        folder: PathBytes::from(scene.folder().into_os_string().into_encoded_bytes().as_slice()),
        tree: ids[0],
        files: 0,
        directories: 0,
        links: 0,
        bytes: 0,
        skipped: 0,
        skips: ChunkList::default(),
    });
    let ids = scene.engine.store().chunks().put(&[&capture.encode()]).unwrap();
    let root = Hash(ids[0].0);
    let captured = WorkspaceCaptured { root, files: 0, bytes: 0, skipped: 0 };
    let mark = Mark::new().cause(MarkCause::Step).correlation("c2").captured("workspace");
    scene.append(Append::from(captured).actor("agent").mark(mark));
    scene.write("mine", "?");
    scene.call("c3", || scene.write("run", "run again"));
    assert_eq!(scene.asked(), [one("a", UNKNOWN), one("mine", UNKNOWN)].concat());
    assert_eq!(scene.planned("start").deletes.len(), 1);
}

#[test]
fn a_call_without_a_capture_of_its_own_is_unknown() {
    // Without the one before it.
    let scene = Scene::started(&["a"]);
    scene.called("agent", "c1");
    scene.write("a", "?");
    scene.returned("agent", "c1");
    scene.after("agent", "c1", None);
    assert_eq!(scene.asked(), one("a", UNKNOWN));
    // Without the one after it.
    let scene = Scene::started(&["a"]);
    scene.before("agent", "c1", None);
    scene.called("agent", "c1");
    scene.write("a", "?");
    scene.returned("agent", "c1");
    scene.call("c2", || scene.write("b", "run"));
    assert_eq!(scene.asked(), one("a", UNKNOWN));
}

#[test]
fn a_call_that_never_returned_is_unknown_up_to_the_next_one_of_its_actor() {
    let scene = Scene::started(&["a"]);
    scene.before("agent", "c1", None);
    scene.called("agent", "c1");
    scene.write("a", "?");
    assert_eq!(scene.asked(), one("a", UNKNOWN));
    // A part of the agent is another actor.
    scene.before("agent:sub", "c2", None);
    scene.write("b", "run");
    scene.after("agent:sub", "c2", None);
    scene.write("c", "?");
    scene.call("c3", || scene.write("d", "run"));
    scene.write("mine", "mine");
    scene.call("c4", || scene.write("d", "run again"));
    assert_eq!(scene.asked(), [one("a", UNKNOWN), one("c", UNKNOWN)].concat());
    let plan = scene.planned("start");
    assert_eq!(plan.left.iter().map(|left| &left.path).collect::<Vec<_>>(), [&at("mine")]);
    assert_eq!(plan.deletes.len(), 2);
}

#[test]
fn a_capture_behind_the_end_of_the_run_closes_a_call_that_never_returned() {
    let scene = Scene::started(&["a"]);
    let task = scene.engine.task("t").unwrap();
    task.control().change(RunControl::Running, None).unwrap();
    scene.before("agent", "c1", None);
    scene.called("agent", "c1");
    scene.write("a", "?");
    task.control().change(RunControl::Stopped, None).unwrap();
    scene.prompt();
    scene.write("mine", "mine");
    assert_eq!(scene.asked(), one("a", UNKNOWN));
    let left = scene.planned("start").left;
    assert_eq!(left.iter().map(|left| &left.path).collect::<Vec<_>>(), [&at("mine")]);
}

#[test]
fn a_return_of_a_call_that_did_not_begin_here_is_unknown_since_the_restore() {
    let scene = Scene::started(&["a"]);
    scene.call("c1", || scene.write("run", "run"));
    scene.capture("then");
    scene.before("agent", "c2", None);
    scene.called("agent", "c2");
    scene.go(&scene.point("then"), Scope::All, &none());
    scene.write("a", "?");
    scene.after("agent", "c2", None);
    assert_eq!(scene.asked(), one("a", UNKNOWN));
    assert_eq!(scene.planned("start").deletes.len(), 1);
}

#[test]
fn behind_a_switch_the_comparison_begins_with_the_last_capture_of_the_folder() {
    let scene = Scene::started(&["a"]);
    let there = scene.engine.branch(&scene.point("start")).run().unwrap();
    scene.call("c1", || scene.write("run", "?"));
    scene.engine.switch(&there).run().unwrap();
    assert_eq!(scene.asked(), one("run", UNKNOWN));
    scene.write("mine", "mine");
    scene.call("c2", || scene.write("a", "run"));
    assert_eq!(scene.asked(), one("run", UNKNOWN));
    let left = scene.planned("start").left;
    assert_eq!(left.iter().map(|left| &left.path).collect::<Vec<_>>(), [&at("mine")]);
}

#[test]
fn behind_a_restore_of_the_state_the_history_is_that_of_the_lineage_it_left() {
    let scene = Scene::started(&["a"]);
    scene.capture("then");
    scene.call("c1", || scene.write("a", "run"));
    scene.write("mine", "mine");
    scene.prompt();
    scene.engine.restore(&scene.point("then")).run().unwrap();
    scene.call("c2", || scene.write("b", "run"));
    assert_eq!(scene.left(), [("mine".to_owned(), LeftWhy::Made)]);
    scene.go(&scene.point("start"), Scope::All, &none().leave_others());
    assert!(scene.read("a") == "start" && !scene.is_there("b") && scene.is_there("mine"));
}

#[test]
fn a_target_in_another_lineage_or_before_trimmed_events_has_unknown_authors() {
    let scene = Scene::started(&["a"]);
    scene.call("c1", || scene.write("a", "run"));
    scene.capture("later");
    scene.go(&scene.point("start"), Scope::All, &none());
    scene.write("mine", "mine");
    let plan = scene.planned("0@later");
    assert_eq!(plan.conflicts.len(), 1, "{plan}");
    assert_eq!((plan.conflicts[0].why, plan.left.len()), (UNKNOWN, 1), "{plan}");

    let scene = Scene::started(&["a"]);
    let other = scene.engine.branch(&scene.point("start")).run().unwrap();
    let kept = other.checkpoint(Mark::new()).unwrap();
    scene.engine.retention().pin(&kept.id, None).unwrap();
    scene.call("c1", || scene.write("a", "run"));
    scene.call("c2", || scene.write("b", "run"));
    let policy = Policy::new().keep(1).task("t");
    scene.engine.retention().retain(&policy).unwrap();
    assert!(scene.engine.point("t/0@start").is_err());
    let point = scene.engine.point(&kept.id.to_string()).unwrap();
    let plan = scene.workspace.plan(&scene.engine, &point, &none().leave_others()).unwrap();
    let why: Vec<_> = plan.conflicts.iter().map(|conflict| conflict.why).collect();
    assert_eq!(why, [UNKNOWN, UNKNOWN], "{plan}");
}

#[test]
fn a_log_without_ids_of_calls_has_changes_of_others_and_unknown_ones() {
    let scene = Scene::begin();
    scene.write("a", "start");
    scene.capture("start");
    let task = scene.engine.task("t").unwrap();
    let mark = |cause| {
        let mark = Mark::new().cause(cause);
        scene.workspace.capture_for_call(&scene.engine, &task, mark, None).unwrap();
    };
    let call = |call: &str, path: &str| {
        mark(MarkCause::BeforeTool);
        let (tool, arguments) = ("sh".into(), Json::new("{}").unwrap());
        scene.append(Append::from(ToolCalled { call: call.into(), tool, arguments }));
        scene.write(path, "?");
        let returned = ToolReturned { call: call.into(), tool: None, ok: true, output: None };
        scene.append(Append::from(returned));
        mark(MarkCause::Step);
    };
    scene.write("mine", "mine");
    call("c1", "in");
    scene.write("step", "?");
    scene.append(Append::from(StepStarted { step: 1, ..Default::default() }));
    call("c2", "in");
    scene.write("manual", "?");
    scene.capture("manual");
    scene.write("now", "mine");
    assert_eq!(
        scene.asked(),
        [one("in", UNKNOWN), one("manual", UNKNOWN), one("step", UNKNOWN)].concat()
    );
    let left = scene.planned("start").left;
    assert_eq!(left.iter().map(|left| &left.path).collect::<Vec<_>>(), [&at("mine"), &at("now")]);
}

#[test]
fn an_undo_refuses_the_option() {
    let scene = Scene::started(&["a"]);
    scene.call("c1", || scene.write("a", "run"));
    scene.go(&scene.point("start"), Scope::All, &none());
    let choices = none().leave_others();
    let refused = scene.workspace.undo(&scene.engine, "t", &choices).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    let refused = scene.workspace.plan_undo(&scene.engine, "t", &choices).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
}

#[test]
fn a_folder_stays_for_a_file_of_others_and_comes_back_for_one_of_the_target() {
    let scene = Scene::started(&["old/run", "old/mine", "was/file"]);
    scene.call("c1", || {
        scene.write("new/run", "run");
        fs::remove_file(scene.path("old/run")).unwrap();
        // A file replaces a folder.
        fs::remove_dir_all(scene.path("was")).unwrap();
        scene.write("was", "run");
    });
    scene.write("new/mine", "mine");
    fs::remove_dir_all(scene.path("old")).unwrap();
    scene.call("c2", || scene.write("x", "run"));
    scene.go(&scene.point("start"), Scope::All, &none().leave_others());
    assert!(scene.is_there("new/mine") && !scene.is_there("new/run"));
    assert!(scene.is_there("old/run") && !scene.is_there("old/mine"));
    assert_eq!(scene.read("was/file"), "start");
}

#[test]
fn a_folder_of_the_run_that_has_to_make_room_is_asked_about_for_a_file_of_others_in_it() {
    let scene = Scene::started(&["a", "b"]);
    scene.call("c1", || {
        for path in ["a", "b"] {
            fs::remove_file(scene.path(path)).unwrap();
            scene.write(&format!("{path}/run"), "run");
        }
    });
    scene.write("a/mine", "mine");
    assert_eq!(scene.asked(), one("a/mine", ConflictWhy::Outside));
    fs::remove_file(scene.path("a/mine")).unwrap();
    scene.go(&scene.point("start"), Scope::All, &none().leave_others());
    assert_eq!((scene.read("a"), scene.read("b")), ("start".into(), "start".into()));
}

#[test]
fn what_took_the_place_of_something_that_the_run_removed_is_asked_about() {
    let scene = Scene::started(&["d/a"]);
    scene.call("c1", || fs::remove_file(scene.path("d/a")).unwrap());
    fs::remove_dir(scene.path("d")).unwrap();
    scene.write("d", "mine");
    scene.call("c2", || scene.write("b", "run"));
    assert_eq!(scene.asked(), one("d", ConflictWhy::Outside));
    scene.go(&scene.point("start"), Scope::All, &none().leave_others().theirs(at("d")));
    assert_eq!(scene.read("d/a"), "start");
}

#[test]
fn the_permission_bits_of_a_folder_have_an_author() {
    let scene = Scene::started(&["run/a", "mine/a"]);
    let bits = |path: &str, bits| {
        fs::set_permissions(scene.path(path), fs::Permissions::from_mode(bits)).unwrap();
    };
    let of = |path: &str| scene.path(path).metadata().unwrap().permissions().mode() & 0o777;
    bits("run", 0o750);
    bits("mine", 0o750);
    scene.call("c1", || bits("run", 0o700));
    scene.prompt();
    assert_eq!(scene.asked(), one("run", ConflictWhy::Outside));
    assert_eq!(scene.planned("start").left.len(), 1);
    scene.capture("then");
    scene.call("c2", || bits("run", 0o711));
    bits("mine", 0o700);
    scene.go(&scene.point("then"), Scope::All, &none().leave_others());
    assert_eq!((of("run"), of("mine")), (0o700, 0o700));
}

#[test]
fn behind_a_restore_of_the_files_alone_the_history_is_that_of_its_target() {
    let scene = Scene::started(&["a"]);
    scene.write("a", "mine");
    scene.prompt();
    scene.capture("then");
    scene.call("c1", || scene.write("a", "run"));
    scene.go(&scene.point("then"), Scope::Files, &none());
    scene.call("c2", || scene.write("b", "run"));
    assert_eq!(scene.left(), [("a".to_owned(), LeftWhy::Changed)]);
}
