//! I8: a restore whose process is killed, just before any of its calls that change files, is wholly done
//! or wholly undone once the folder was recovered.
//!
//! The test starts its own binary, with the library of `tests/faults` preloaded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use milepost::{Engine, Mark, Message, Options, Scope};
use milepost_tests::faults::{self, counts, nightly, spread, temp_dir};
use milepost_tests::seed::{Random, seed};
use milepost_workspace::{Workspace, WorkspaceOptions};

use super::{content, none};

const CHILD: &str = "crash::child_that_restores_a_workspace";
const DIR: &str = "MILEPOST_TEST_WORKSPACE_DIR";

type Content = BTreeMap<PathBuf, (u32, Vec<u8>)>;

fn open(dir: &Path) -> (Engine, Workspace) {
    let engine = Engine::open(dir.join("store"), Options::default()).unwrap();
    let folder = Workspace::open(dir.join("work"), WorkspaceOptions::default()).unwrap();
    (engine, folder)
}

/// The process that is killed: does nothing unless it is told where.
#[test]
fn child_that_restores_a_workspace() {
    let Ok(dir) = std::env::var(DIR) else {
        return;
    };
    let (engine, workspace) = open(Path::new(&dir));
    workspace.recover(&engine, "t", &none()).unwrap();
    let to = engine.point("t@first").unwrap();
    workspace
        .go_back(&engine, &to, Scope::All, None, &none())
        .unwrap();
    engine.close().unwrap();
}

/// A store with two captures of a folder: changed, new and removed files, links, folders and bits between them.
fn prepare(dir: &Path) -> (Content, Content) {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let work = dir.join("work");
    let write = |path: &str, text: &str| {
        let path = work.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let bits = |path: &str, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(work.join(path), permissions).unwrap();
    };
    write("same", "the same in both");
    write("changed", "one");
    write("gone/deep/a", "one");
    write("gone/b", "one");
    write("becomes-folder", "a file");
    write("becomes-file/a", "in a folder");
    write("run.sh", "#!/bin/sh\n");
    write("closed/a", "one");
    symlink("changed", work.join("link")).unwrap();
    bits("run.sh", 0o755);
    bits("closed", 0o555);
    let (engine, workspace) = open(dir);
    let task = engine.start_task("t", "ana").unwrap();
    let capture = |label: &str| {
        let mark = Mark::new().label(label);
        workspace.capture(&engine, &task, Some(mark)).unwrap();
        content(&work)
    };
    let first = capture("first");
    task.append(Message::text("user", "hello")).unwrap();
    bits("closed", 0o755);
    write("changed", "two");
    std::fs::remove_dir_all(work.join("gone")).unwrap();
    std::fs::remove_file(work.join("becomes-folder")).unwrap();
    write("becomes-folder/x", "in a folder now");
    std::fs::remove_dir_all(work.join("becomes-file")).unwrap();
    write("becomes-file", "a file now");
    bits("run.sh", 0o644);
    write("closed/a", "two");
    std::fs::remove_file(work.join("link")).unwrap();
    symlink("run.sh", work.join("link")).unwrap();
    write("new/deep/c", "two");
    write("untracked.log", "captured too");
    let second = capture("second");
    engine.close().unwrap();
    (first, second)
}

/// Opens what was left, recovers, and looks whether it is one or the other. Gives whether it was done. `looked`: the
/// folder was captured as it was left.
fn check(dir: &Path, first: &Content, second: &Content, looked: bool) -> Result<bool, String> {
    let (engine, workspace) = open(dir);
    let taken_back = workspace.recover(&engine, "t", &none());
    taken_back.map_err(|e| format!("recovering: {e}"))?;
    let (task, now) = (engine.task("t").unwrap(), content(&dir.join("work")));
    let done = task.lineage().id().0 > 0;
    let expected = if done { first } else { second };
    for (path, wanted) in expected {
        if now.get(path) != Some(wanted) {
            return Err(format!(
                "{}: is not as it has to be, done {done}",
                path.display()
            ));
        }
    }
    if let Some(path) = now.keys().find(|path| !expected.contains_key(*path)) {
        return Err(format!("{} is there, done {done}", path.display()));
    }
    let point = engine.point("t").unwrap();
    let messages = engine.run_state(&point).unwrap().messages.len();
    if messages != u64::from(!done) {
        return Err(format!("I9: {messages} messages, done {done}"));
    }
    // What the log says that the folder holds is what it holds. One that was captured with what is cleared up
    // now lists that as left out.
    let report = workspace.capture(&engine, &task, None).unwrap();
    if report.appended.is_some() && !(looked && done) {
        return Err("the folder is not what the log says".into());
    }
    let report = engine.verify(None, &mut |_, _| {}).unwrap();
    if !report.is_clean() {
        return Err(format!("{report:?}"));
    }
    engine.close().unwrap();
    Ok(done)
}

fn copy(from: &Path, to: &Path) {
    let _ = std::process::Command::new("chmod")
        .args(["-R", "u+rwX"])
        .arg(to)
        .output();
    let _ = std::fs::remove_dir_all(to);
    let done = std::process::Command::new("cp")
        .arg("-a")
        .args([from, to])
        .status()
        .unwrap();
    assert!(done.success());
}

#[test]
fn a_kill_before_any_call_leaves_a_restore_that_is_done_or_taken_back_and_one_while_recovering_too()
{
    let Some(faults) = faults::built() else {
        return;
    };
    let mut random = Random::new(seed());
    let temp = temp_dir();
    // One place for all, since a capture says of which folder it is.
    let (dir, base) = (temp.path().join("case"), temp.path().join("base"));
    std::fs::create_dir(&dir).unwrap();
    let (first, second) = prepare(&dir);
    assert_ne!(first, second);
    copy(&dir, &base);
    let place = dir.to_str().unwrap().to_owned();
    let count = temp.path().join("count");
    let run = |fail: Option<u64>| {
        let fail = fail.map(|n| format!("any:{n}:kill:once"));
        let mut settings = vec![(DIR, place.as_str())];
        match &fail {
            Some(fail) => settings.push((faults::FAIL, fail)),
            None => settings.push((faults::COUNT, count.to_str().unwrap())),
        }
        faults::run(faults, CHILD, &dir, &settings)
    };
    assert_eq!(run(None).fault(false), None);
    assert!(
        check(&dir, &first, &second, false).unwrap(),
        "not killed: done"
    );
    let calls = counts(&count).of("any");
    println!("{calls} calls to be killed before");
    let some = if nightly() { None } else { Some(60) };
    let (mut done, mut undone, mut failures) = (0, 0, Vec::new());
    for n in spread(calls, some, &mut random) {
        copy(&base, &dir);
        let _ = run(Some(n));
        // And once more, while that is recovered from.
        if n % 3 == 0 {
            let _ = run(Some(random.below(200) + 1));
        }
        let looked = n % 2 == 0;
        if looked {
            // Somebody looks at the folder as it was left: what he learns of it is of no use for recovering.
            let (engine, workspace) = open(&dir);
            let task = engine.task("t").unwrap();
            let _ = workspace.capture(&engine, &task, None);
            engine.close().unwrap();
        }
        match check(&dir, &first, &second, looked) {
            Ok(true) => done += 1,
            Ok(false) => undone += 1,
            Err(error) => failures.push(format!("call {n}: {error}")),
        }
    }
    println!("{done} done, {undone} taken back, {} wrong", failures.len());
    assert!(failures.is_empty(), "I8: {failures:#?}");
    assert!(done > 0 && undone > 0);
}
