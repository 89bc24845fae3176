//! Ways in which today's tools lose their users' files, each with the test that it does not happen
//! here.

use std::process::Command;

use milepost::events::Message;
use milepost::retention::Policy;
use milepost::{ErrorKind, Scope};
use milepost_workspace::{ConflictWhy, Snapshot, Workspace, WorkspaceOptions};

use super::{Scene, at, content, none};

fn go_back(scene: &Scene, label: &str) -> milepost::Result<milepost_workspace::RestoreReport> {
    let to = scene.point(label);
    (scene.workspace).restore(&scene.engine, &to, Scope::All, None, &none())
}

#[test]
fn a_restore_deletes_nothing_that_was_never_recorded_ignored_or_not() {
    let scene = Scene::begin();
    scene.write(".gitignore", "target/\n*.log\n");
    scene.write("src/main.rs", "one");
    scene.capture("first");
    scene.write("src/new.rs", "the agent's");
    scene.write("target/debug/app", "built");
    scene.write("build.log", "a log");
    scene.capture("second");
    // The user's own file, never captured, next to the agent's and outside of the recorded folders.
    scene.write("notes.txt", "mine");
    scene.write("src/draft.rs", "mine too");
    scene.write("target/release/app", "built later");
    go_back(&scene, "first").unwrap();
    assert!(!scene.path("src/new.rs").exists(), "a snapshot recorded it");
    for (path, text) in [
        ("notes.txt", "mine"),
        ("src/draft.rs", "mine too"),
        ("target/debug/app", "built"),
        ("target/release/app", "built later"),
        ("build.log", "a log"),
        ("src/main.rs", "one"),
    ] {
        assert_eq!(scene.read(path), text, "{path}");
    }
    // And going back once more deletes no more, though the present was saved.
    go_back(&scene, "first").unwrap();
    assert_eq!(scene.read("notes.txt"), "mine");
    assert_eq!(scene.read("src/draft.rs"), "mine too");
    scene.assert_clean();
}

#[test]
fn restoring_gitignore_changes_nothing_about_other_files() {
    let scene = Scene::begin();
    scene.write(".gitignore", "");
    scene.write("data.bin", "recorded");
    scene.capture("first");
    scene.write(".gitignore", "*.bin\n");
    scene.write("data.bin", "changed while it was ignored");
    scene.write("other.bin", "ignored, never recorded");
    scene.capture("second");
    go_back(&scene, "first").unwrap();
    assert_eq!(scene.read("data.bin"), "recorded");
    assert_eq!(scene.read(".gitignore"), "");
    assert_eq!(scene.read("other.bin"), "ignored, never recorded");
    scene.workspace.undo(&scene.engine, "t", &none()).unwrap();
    assert_eq!(scene.read("data.bin"), "changed while it was ignored");
    assert_eq!(scene.read(".gitignore"), "*.bin\n");
    assert_eq!(scene.read("other.bin"), "ignored, never recorded");
}

#[test]
fn neighbours_of_the_workspace_are_never_touched() {
    let scene = Scene::begin();
    let beside = scene.dir.path().join("neighbour");
    std::fs::create_dir(&beside).unwrap();
    std::fs::write(beside.join("a"), "theirs").unwrap();
    scene.write("a", "one");
    std::os::unix::fs::symlink(&beside, scene.path("link")).unwrap();
    scene.capture("first");
    scene.write("a", "two");
    std::fs::remove_file(scene.path("link")).unwrap();
    scene.write("link/a", "a folder where the link was");
    scene.capture("second");
    // A link where the folder was: what is recorded below it is not reached through it.
    std::fs::remove_dir_all(scene.path("link")).unwrap();
    std::os::unix::fs::symlink(&beside, scene.path("link")).unwrap();
    let before = content(&beside);
    go_back(&scene, "first").unwrap();
    assert_eq!(content(&beside), before);
    assert_eq!(std::fs::read_link(scene.path("link")).unwrap(), beside);
    // A capture of this folder is not put into another one.
    let elsewhere = scene.dir.path().join("other");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("b"), "b").unwrap();
    let other = Workspace::open(&elsewhere, WorkspaceOptions::default()).unwrap();
    let to = scene.point("first");
    let plan = other.plan(&scene.engine, &to, &none()).unwrap();
    assert!(plan.conflicts.iter().any(|c| c.why == ConflictWhy::OtherFolder));
    let error = other.restore(&scene.engine, &to, Scope::All, None, &none());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(content(&elsewhere).len(), 1);
}

#[test]
fn what_was_recorded_in_one_folder_was_not_recorded_in_another() {
    let scene = Scene::begin();
    let elsewhere = scene.dir.path().join("other");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("a"), "a").unwrap();
    let other = Workspace::open(&elsewhere, WorkspaceOptions::default()).unwrap();
    let mark = milepost::Mark::new().label("one");
    (other.capture(&scene.engine, &scene.task, Some(mark))).unwrap();
    scene.write("n", "the same in both");
    scene.capture("two");
    // Never captured in this folder, and of the same content as one that was in the other.
    std::fs::write(elsewhere.join("n"), "the same in both").unwrap();
    let to = scene.point("one");
    (other.restore(&scene.engine, &to, Scope::All, None, &none())).unwrap();
    assert_eq!(content(&elsewhere).len(), 2);
}

#[test]
fn nested_repositories_submodules_and_worktrees_stay_as_they_are() {
    let scene = Scene::begin();
    scene.write("vendor/lib/.git/HEAD", "ref: refs/heads/main\n");
    scene.write("vendor/lib/.git/objects/00/11", "object");
    scene.write("vendor/lib/code.c", "one");
    scene.write("sub/.git", "gitdir: ../.git/modules/sub\n");
    scene.write("sub/code.c", "one");
    scene.write(".git/HEAD", "ref: refs/heads/main\n");
    scene.write("bare.git/HEAD", "ref: refs/heads/main\n");
    scene.write("bare.git/objects/x", "x");
    scene.write("bare.git/refs/x", "x");
    scene.capture("first");
    scene.write("vendor/lib/code.c", "two");
    scene.write("sub/code.c", "two");
    scene.write("vendor/lib/.git/HEAD", "ref: refs/heads/other\n");
    scene.write(".git/index", "index");
    scene.write("bare.git/refs/x", "y");
    scene.capture("second");
    go_back(&scene, "first").unwrap();
    assert_eq!(scene.read("vendor/lib/code.c"), "one");
    assert_eq!(scene.read("sub/code.c"), "one");
    assert_eq!(scene.read("vendor/lib/.git/HEAD"), "ref: refs/heads/other\n");
    assert_eq!(scene.read("sub/.git"), "gitdir: ../.git/modules/sub\n");
    assert_eq!(scene.read(".git/index"), "index");
    assert_eq!(scene.read("bare.git/refs/x"), "y");
    let first = Snapshot::at(&scene.engine, &scene.point("first")).unwrap();
    let paths = first.entries().map(|entry| entry.unwrap().path.to_string());
    assert!(paths.into_iter().all(|path| !path.contains(".git")));
}

#[test]
fn home_and_root_are_refused() {
    let open = |path: &str| Workspace::open(path, WorkspaceOptions::default());
    assert_eq!(open("/").unwrap_err().kind(), ErrorKind::Invalid);
    if let Ok(home) = std::env::var("HOME") {
        let error = open(&home).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("home"), "{error}");
    }
}

#[test]
fn what_is_too_large_is_skipped_and_said() {
    let scene = Scene::begin();
    let options = WorkspaceOptions::default().max_file(100).max_total(250);
    let workspace = Workspace::open(scene.folder(), options).unwrap();
    scene.write("a-large", &"x".repeat(101));
    for n in 0..4 {
        scene.write(&format!("b-{n}"), &"x".repeat(90));
    }
    let report = workspace.capture(&scene.engine, &scene.task, None).unwrap();
    assert_eq!((report.files, report.skips), (2, 3));
    let point = scene.engine.point("t").unwrap();
    let snapshot = Snapshot::at(&scene.engine, &point).unwrap();
    let skips = snapshot.skips().map(|skip| {
        let skip = skip.unwrap();
        (skip.path.to_string(), skip.reason.name(), skip.size)
    });
    let expected = [
        ("a-large".to_owned(), "large", 101),
        ("b-2".to_owned(), "limit", 90),
        ("b-3".to_owned(), "limit", 90),
    ];
    assert_eq!(skips.collect::<Vec<_>>(), expected);
}

#[test]
fn an_unchanged_tree_reads_no_file() {
    let scene = Scene::begin();
    for n in 0..300 {
        scene.write(&format!("{}/{n}", n % 7), &format!("file {n}"));
    }
    scene.capture("first");
    // The clock of the file system has to go on before what was just written is trusted.
    let read = || {
        let report = scene.workspace.capture(&scene.engine, &scene.task, None);
        report.unwrap().read
    };
    assert!((0..1000).any(|_| read() == 0));
    scene.write("0/0", "changed");
    assert_eq!(read(), 1);
}

#[test]
fn what_a_shell_command_changed_is_captured() {
    let scene = Scene::begin();
    scene.write("a", "one");
    scene.capture("first");
    let done = Command::new("sh")
        .args(["-c", "mv a b && echo two > c && ln -s c d"])
        .current_dir(scene.folder())
        .status()
        .unwrap();
    assert!(done.success());
    scene.capture("second");
    let second = Snapshot::at(&scene.engine, &scene.point("second")).unwrap();
    let paths = second.entries().map(|entry| entry.unwrap().path.to_string());
    assert_eq!(paths.collect::<Vec<_>>(), ["b", "c", "d"]);
    go_back(&scene, "first").unwrap();
    assert_eq!(content(&scene.folder()).len(), 1);
    assert_eq!(scene.read("a"), "one");
}

#[test]
fn a_plan_touches_nothing_and_says_all() {
    let scene = Scene::begin();
    scene.write("changed", "one");
    scene.write("gone", "one");
    scene.capture("first");
    scene.write("changed", "two");
    std::fs::remove_file(scene.path("gone")).unwrap();
    scene.write("new", "two");
    scene.capture("second");
    let (before, head) = (content(&scene.folder()), scene.task.head().unwrap());
    let to = scene.point("first");
    let plan = scene.workspace.plan(&scene.engine, &to, &none()).unwrap();
    let paths = |list: &[milepost_workspace::PlannedPath]| -> Vec<String> {
        list.iter().map(|planned| planned.path.to_string()).collect()
    };
    assert_eq!(paths(&plan.creates), ["gone"]);
    assert_eq!(paths(&plan.changes), ["changed"]);
    assert_eq!(paths(&plan.deletes), ["new"]);
    assert!(plan.conflicts.is_empty());
    assert_eq!(content(&scene.folder()), before);
    assert_eq!(scene.task.head().unwrap(), head);
    // A later change is a conflict, and nothing is restored.
    scene.write("changed", "three");
    scene.write("gone", "made again by somebody");
    let plan = scene.workspace.plan(&scene.engine, &to, &none()).unwrap();
    let why: Vec<_> = plan.conflicts.iter().map(|c| c.why).collect();
    assert_eq!(why, [ConflictWhy::Changed, ConflictWhy::Unrecorded]);
    let before = content(&scene.folder());
    for _ in 0..2 {
        // A second try has the same conflicts: the present does not count as recorded.
        let error = go_back(&scene, "first").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        // 004: the reason is there until the next operation succeeds.
        let status = scene.workspace.status();
        assert_eq!(status.state, milepost::hooks::WorkspaceState::Error);
        assert_eq!(status.error, Some(error.to_string()));
        assert_eq!(content(&scene.folder()), before);
    }
    let choices = none().theirs(at("changed")).keep_mine(at("gone"));
    (scene.workspace).restore(&scene.engine, &to, Scope::All, None, &choices).unwrap();
    assert_eq!(scene.read("changed"), "one");
    assert_eq!(scene.read("gone"), "made again by somebody");
    scene.assert_clean();
}

#[test]
fn undo_brings_the_present_back() {
    let scene = Scene::begin();
    scene.write("a", "one");
    scene.capture("first");
    scene.write("a", "two");
    scene.write("b/c", "two");
    scene.capture("second");
    let before = content(&scene.folder());
    for _ in 0..3 {
        go_back(&scene, "first").unwrap();
        assert_eq!(content(&scene.folder()).len(), 1);
        scene.workspace.undo(&scene.engine, "t", &none()).unwrap();
        assert_eq!(content(&scene.folder()), before);
    }
    scene.assert_clean();
}

#[test]
fn where_files_fail_the_conversation_stays() {
    let scene = Scene::begin();
    scene.write("a", "one");
    scene.capture("first");
    scene.task.append(Message::text("user", "hello")).unwrap();
    scene.write("a", "two");
    scene.capture("second");
    scene.write("a", "somebody's");
    let lineage = scene.engine.task("t").unwrap().lineage().id();
    go_back(&scene, "first").unwrap_err();
    let task = scene.engine.task("t").unwrap();
    assert_eq!(task.lineage().id(), lineage);
    let state = scene.engine.run_state(&scene.engine.point("t").unwrap());
    assert_eq!(state.unwrap().messages.len(), 1);
    assert_eq!(scene.read("a"), "somebody's");
    task.append(Message::text("user", "and on")).unwrap();
}

#[test]
fn a_second_program_is_told_who_has_the_workspace() {
    let scene = Scene::begin();
    scene.write("a", "one");
    scene.capture("first");
    // Another program that has it: `flock` holds the folder until its standard input ends.
    let mut other = Command::new("flock")
        .arg(scene.folder())
        .args(["sh", "-c", "echo held; cat > /dev/null"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let out = other.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    assert_eq!(line, "held\n");
    let error = go_back(&scene, "first").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    // Only Linux tells which process has it.
    let holder = if cfg!(milepost_portable) { "another program" } else { "process" };
    assert!(error.to_string().contains(holder), "{error}");
    let to = scene.point("first");
    let plan = scene.workspace.plan(&scene.engine, &to, &none()).unwrap();
    assert!(plan.conflicts.iter().any(|c| c.why == ConflictWhy::Locked));
    drop(other.stdin.take());
    other.wait().unwrap();
    go_back(&scene, "first").unwrap();
}

#[test]
fn files_go_back_to_a_lineage_that_was_left_where_a_cleanup_trimmed_the_present_one() {
    let scene = Scene::begin();
    scene.write("a", "one");
    scene.capture("first");
    scene.write("a", "two");
    let second = scene.capture("second");
    // The conversation is restored alone, and is longer in its lineage than in the one that was
    // left.
    let first = scene.point("first");
    let task = scene.engine.restore(&first).run().unwrap();
    for _ in 0..9 {
        task.append(Message::text("user", "more")).unwrap();
    }
    scene.write("a", "three");
    scene.capture("third");
    let policy = Policy::new().keep(2).undo(0);
    let report = scene.engine.retention().retain(&policy).unwrap();
    assert_eq!(report.tasks[0].removed, 1, "{report:?}");
    let second = scene.engine.point(&format!("@{second}")).unwrap();
    let here = scene.engine.task("t").unwrap().point(second.offset).unwrap();
    scene.engine.hash_at(&here).unwrap_err();
    (scene.workspace).restore(&scene.engine, &second, Scope::All, None, &none()).unwrap();
    assert_eq!(scene.read("a"), "two");
    scene.workspace.undo(&scene.engine, "t", &none()).unwrap();
    assert_eq!(scene.read("a"), "three");
    scene.assert_clean();
}
