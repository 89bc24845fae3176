//! Paths that a restore brings back, and paths that it names because it does not.

use milepost::{Error, Mark, Point, Scope};
use milepost_codec::{Skip, TreePath};

use super::*;
use crate::{Choices, LeftOutChange, LeftWhy, Plan, Way, WorkspaceState};

/// The limit of one file in these tests.
const LIMIT: u64 = 100;

fn small() -> Scene {
    Scene::with(WorkspaceOptions::default().max_file(LIMIT))
}

fn large(byte: u8) -> Vec<u8> {
    vec![byte; LIMIT as usize + 1]
}

impl Scene {
    /// Captures the folder with a mark.
    fn marked(&self, label: &str) -> Point {
        let task = self.engine.task("t").unwrap();
        self.workspace.capture(&self.engine, &task, Some(Mark::new().label(label))).unwrap();
        self.engine.point(&format!("t@{label}")).unwrap()
    }

    fn back(&self, to: &Point, choices: &Choices) -> Result<Plan, Error> {
        let went = self.workspace.restore(&self.engine, to, Scope::All, None, choices)?;
        Ok(went.plan)
    }

    fn dry(&self, to: &Point) -> Plan {
        self.workspace.plan(&self.engine, to, &Choices::default()).unwrap()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_default()
    }
}

fn changes(plan: &Plan) -> Vec<(String, LeftOutChange)> {
    plan.left_out.iter().map(|one| (one.path.to_string(), one.change)).collect()
}

#[test]
fn what_a_capture_left_out_and_is_gone_changed_or_new_is_named_in_plan_and_result() {
    let scene = small();
    scene.write(".gitignore", ".env\nout/\n");
    scene.write(".env", "S");
    scene.write("grows", large(1));
    scene.write("gone", large(2));
    scene.write("out/a", "a");
    scene.write("f", "one");
    let to = scene.marked("first");
    fs::remove_file(scene.path(".env")).unwrap();
    fs::remove_file(scene.path("gone")).unwrap();
    scene.write("grows", [large(1), vec![0]].concat());
    fs::remove_dir_all(scene.path("out")).unwrap();
    scene.write("out", "a file now");
    scene.write("new", large(3));
    scene.write("f", "two");
    scene.marked("second");
    use LeftOutChange::{Changed, Gone, New};
    let expected = [(".env", Gone), ("gone", Gone), ("grows", Changed), ("new", New)];
    for plan in [scene.dry(&to), scene.back(&to, &Choices::default()).unwrap()] {
        let found = changes(&plan);
        for (path, change) in expected {
            assert!(found.contains(&(path.to_owned(), change)), "{path}: {plan:?}");
            assert!(plan.to_string().contains(&format!("= {path} ")), "{plan}");
        }
        assert!(!plan.summary().contains("as they were"), "{}", plan.summary());
        assert!(plan.to_string().contains("gone (101 B)"), "{plan}");
    }
    assert_eq!(scene.read("f"), b"one");
    // The capture behind a restore knows what it left out, so nothing is new or gone since then.
    let task = scene.engine.task("t").unwrap();
    let here = task.point(task.head().unwrap().next).unwrap();
    let plan = scene.dry(&here);
    let known = [Gone, New, Changed];
    assert!(!plan.left_out.iter().any(|one| known.contains(&one.change)), "{plan:?}");
}

#[test]
fn a_captured_file_that_grows_over_the_limit_comes_back_and_an_undo_brings_the_large_one() {
    let scene = small();
    scene.write("app.db", "tiny");
    scene.write("f", "one");
    let to = scene.marked("first");
    scene.write("app.db", large(7));
    scene.write("f", "two");
    scene.marked("second");
    let [before, after] = ["first", "second"].map(|label| {
        let point = scene.engine.point(&format!("t@{label}")).unwrap();
        Snapshot::at(&scene.engine, &point).unwrap()
    });
    let diff = before.diff(&after).unwrap();
    assert!(diff.removed.is_empty() && diff.left_out[0].path.to_string() == "app.db", "{diff:?}");
    let diff = after.diff(&before).unwrap();
    assert!(diff.added.is_empty() && diff.taken_in[0].path.to_string() == "app.db", "{diff:?}");
    let plan = scene.back(&to, &Choices::default()).unwrap();
    assert_eq!((scene.read("app.db"), scene.read("f")), (b"tiny".to_vec(), b"one".to_vec()));
    assert!(plan.is_whole(), "{plan:?}");
    scene.workspace.undo(&scene.engine, "t", &Choices::default()).unwrap();
    assert_eq!((scene.read("app.db"), scene.read("f")), (large(7), b"two".to_vec()));
}

#[test]
fn a_file_that_the_target_left_out_by_its_size_is_not_removed_by_going_there() {
    let scene = small();
    scene.write("app.db", large(7));
    let to = scene.marked("first");
    scene.write("app.db", "small now");
    scene.marked("second");
    let plan = scene.back(&to, &Choices::default()).unwrap();
    assert_eq!(scene.read("app.db"), b"small now");
    assert_eq!(changes(&plan), [("app.db".to_owned(), LeftOutChange::Changed)]);
}

#[test]
fn the_last_capture_of_the_folder_decides_and_not_one_of_another_folder() {
    let scene = Scene::new();
    scene.write("a.txt", "one");
    let first = scene.marked("first");
    scene.write("a.txt", "two");
    let second = scene.marked("second");
    scene.write("a.txt", "three");
    scene.marked("third");
    let elsewhere = scene.dir.path().join("try");
    fs::create_dir(&elsewhere).unwrap();
    let other = Workspace::open(&elsewhere, WorkspaceOptions::default()).unwrap();
    let choices = Choices::default();
    other.restore(&scene.engine, &first, Scope::Files, None, &choices).unwrap();
    assert_eq!(fs::read(elsewhere.join("a.txt")).unwrap(), b"one");
    let plan = scene.dry(&second);
    assert_eq!(plan.conflicts, []);
    scene.back(&second, &choices).unwrap();
    assert_eq!(scene.read("a.txt"), b"two");
    // And where the changes of others stay.
    let plan = scene.workspace.plan(&scene.engine, &first, &choices.leave_others());
    assert!(plan.unwrap().conflicts.iter().all(|conflict| !conflict.text.contains("captured")));
}

#[test]
fn a_path_that_was_never_captured_stays_and_is_named() {
    let scene = Scene::new();
    scene.write("a", "one");
    let to = scene.marked("first");
    scene.write("a", "two");
    scene.marked("second");
    scene.write("mine", "m");
    let plan = scene.back(&to, &Choices::default()).unwrap();
    let left: Vec<_> = plan.left.iter().map(|left| (left.path.to_string(), left.why)).collect();
    assert_eq!(left, [("mine".to_owned(), LeftWhy::Unrecorded)]);
    assert_eq!(plan.summary(), "1 path went back; 1 path stays that no capture has");
}

#[test]
fn each_way_out_of_a_conflict_resolves_it_in_a_real_folder() {
    let scene = Scene::new();
    for name in ["pipe", "changed", "removed", "folder"] {
        scene.write(name, "one");
    }
    let to = scene.marked("first");
    for name in ["pipe", "removed", "folder"] {
        fs::remove_file(scene.path(name)).unwrap();
    }
    make_pipe(&scene.path("pipe"));
    scene.write("changed", "two");
    scene.marked("second");
    scene.write("changed", "three");
    scene.write("removed", "mine");
    scene.write("folder/mine", "mine");
    let plan = scene.dry(&to);
    assert_eq!(plan.conflicts.len(), 4, "{plan}");
    for conflict in &plan.conflicts {
        let path = conflict.path.clone().unwrap();
        assert!(!conflict.ways.is_empty(), "{conflict:?}");
        assert_eq!(path == TreePath::new(b"pipe").unwrap(), !conflict.ways.contains(&Way::Theirs));
        for way in &conflict.ways {
            let choices = match way {
                Way::Theirs => Choices::default().theirs(path.clone()),
                _ => Choices::default().keep_mine(path.clone()),
            };
            let plan = scene.workspace.plan(&scene.engine, &to, &choices).unwrap();
            let is_same = |other: &crate::PathConflict| other.path == conflict.path;
            assert!(!plan.conflicts.iter().any(is_same), "{way:?} {conflict:?} {plan}");
        }
    }
}

#[test]
fn a_restore_that_fails_ends_in_the_state_error_with_its_reason() {
    let scene = Scene::new();
    let text: String = (0..40_000_u32).map(|n| format!("{n:x} ")).collect();
    scene.write("large", &text);
    let to = scene.marked("first");
    scene.write("large", "small");
    scene.marked("second");
    let pack = scene.dir.path().join("store/packs/0000000001.pack");
    let mut bytes = fs::read(&pack).unwrap();
    bytes[400] ^= 1;
    fs::write(&pack, bytes).unwrap();
    let error = scene.back(&to, &Choices::default()).unwrap_err();
    let status = scene.workspace.status();
    assert_eq!(status.state, WorkspaceState::Error, "{error}");
    assert!(status.error.is_some(), "{error}");
    assert_eq!(scene.read("large"), b"small");
    // So does one that another process holds up.
    let lock = crate::lock::Use::Capture;
    let wait = std::time::Duration::ZERO;
    let held = crate::lock::Lock::take(&scene.folder(), None, wait, lock).unwrap();
    let error = scene.back(&to, &Choices::default()).unwrap_err();
    assert_eq!(scene.workspace.status().error, Some(error.to_string()));
    drop(held);
}

#[test]
fn what_git_tracks_is_captured_whatever_the_default_list_and_gitignore_say() {
    let scene = Scene::new();
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.current_dir(scene.folder()).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.output().is_ok_and(|done| done.status.success())
    };
    if !git(&["--version"]) {
        eprintln!("not run: git is not installed");
        return;
    }
    assert!(git(&["init", "-q", "."]));
    scene.write(".gitignore", "*.gen\n");
    let tracked = ["dist/index.js", "CHANGES.log", "x.gen", "secret"];
    for name in tracked {
        scene.write(name, "tracked");
    }
    assert!(git(&["add", "-A", "-f"]));
    scene.write("dist/junk.js", "junk");
    scene.write("dist/deep/junk.js", "junk");
    scene.write("y.gen", "junk");
    // Rules for captures alone decide in any case.
    scene.write(".milepostignore", "secret\n");
    let captured = scene.paths();
    for name in ["dist/index.js", "CHANGES.log", "x.gen"] {
        assert!(captured.iter().any(|path| path == name), "{name}: {captured:?}");
    }
    for name in ["dist/junk.js", "dist/deep", "y.gen", "secret"] {
        assert!(!captured.iter().any(|path| path == name), "{name}: {captured:?}");
    }
    // A damaged index is named, and fails nothing.
    fs::write(scene.path(".git/index"), "DIRC damaged").unwrap();
    let skips: Vec<Skip> = scene.snapshot().skips().map(Result::unwrap).collect();
    let named = skips.iter().find(|skip| skip.path.to_string() == ".git/index");
    assert_eq!(named.unwrap().reason, SkipReason::Denied);
}
