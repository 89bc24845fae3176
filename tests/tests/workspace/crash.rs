//! I8: a restore whose process is killed, just before any of its calls that change files, is wholly
//! done or wholly undone once the folder was recovered. One of which a call fails is done or undone
//! by itself.
//!
//! The test starts its own binary, with the library of `tests/faults` preloaded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use milepost::events::Message;
use milepost::{Engine, Mark, Options, Scope};
use milepost_tests::faults::{self, Ended, Faults, counts, nightly, spread, temp_dir};
use milepost_tests::seed::{Random, seed};
use milepost_workspace::{Snapshot, Workspace, WorkspaceOptions};

use super::{content, none};

const CHILD: &str = "workspace::crash::child_that_restores_a_workspace";
const DIR: &str = "MILEPOST_TEST_WORKSPACE_DIR";

type Content = BTreeMap<PathBuf, (u32, Vec<u8>)>;

fn open(dir: &Path) -> (Engine, Workspace) {
    let engine = Engine::open(dir.join("store"), Options::default()).unwrap();
    let folder = Workspace::open(dir.join("work"), WorkspaceOptions::default()).unwrap();
    (engine, folder)
}

/// Exit code of a process after a reported error.
const FAILED: i32 = 3;

/// The process that is killed: does nothing without its environment.
#[test]
fn child_that_restores_a_workspace() {
    let Ok(dir) = std::env::var(DIR) else {
        return;
    };
    if let Err(error) = restore(Path::new(&dir)) {
        eprintln!("{error}");
        std::process::exit(FAILED);
    }
}

fn restore(dir: &Path) -> milepost::Result<()> {
    let engine = Engine::open(dir.join("store"), Options::default())?;
    let workspace = Workspace::open(dir.join("work"), WorkspaceOptions::default())?;
    workspace.recover(&engine, "t", &none())?;
    let to = engine.point("t@first")?;
    workspace.restore(&engine, &to, Scope::All, None, &none())?;
    engine.close()
}

/// A store with two captures of a folder: changed, new and removed files, links, folders and bits
/// between them.
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
    write("untracked.out", "captured too");
    let second = capture("second");
    engine.close().unwrap();
    (first, second)
}

/// Opens the remains, recovers, and checks that the folder is one or the other. Returns whether the
/// restore was done. With `kept`, files may have been kept next to the others, such as one that was
/// unreadable once.
fn check(dir: &Path, first: &Content, second: &Content, kept: bool) -> Result<bool, String> {
    let (engine, workspace) = open(dir);
    let taken_back = workspace.recover(&engine, "t", &none());
    taken_back.map_err(|e| format!("recovering: {e}"))?;
    let (task, now) = (engine.task("t").unwrap(), content(&dir.join("work")));
    let done = task.lineage().id().0 > 0;
    let expected = if done { first } else { second };
    for (path, wanted) in expected {
        if now.get(path) != Some(wanted) {
            return Err(format!("{}: is not as it has to be, done {done}", path.display()));
        }
    }
    let is_kept = |path: &Path| {
        let top = path.components().next().map(|top| top.as_os_str());
        top.is_some_and(|top| top.as_encoded_bytes().starts_with(b".milepost-kept-"))
    };
    let mut more = now.keys().filter(|path| !expected.contains_key(*path));
    if let Some(path) = more.find(|path| !(kept && is_kept(path))) {
        return Err(format!("{} is there, done {done}", path.display()));
    }
    let point = engine.point("t").unwrap();
    let messages = engine.run_state(&point).unwrap().messages.len();
    if messages != u64::from(!done) {
        return Err(format!("I9: {messages} messages, done {done}"));
    }
    // The folder holds what the log says, except paths that a capture left out in between: those
    // removed now, or unreadable before.
    let named = Snapshot::at(&engine, &point).unwrap();
    let left_out = named.skips().count() > 0;
    let report = workspace.capture(&engine, &task, None).unwrap();
    if report.appended.is_some() && !left_out {
        return Err("the folder is not what the log says".into());
    }
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    if !report.is_clean() {
        return Err(format!("{report:?}"));
    }
    engine.close().unwrap();
    Ok(done)
}

fn copy(from: &Path, to: &Path) {
    let _ = std::process::Command::new("chmod").args(["-R", "u+rwX"]).arg(to).output();
    let _ = std::fs::remove_dir_all(to);
    let done = std::process::Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(done.success());
}

/// The same store and folder, for one case after another.
struct Cases {
    faults: &'static Faults,
    temp: tempfile::TempDir,
    /// One place for all, since a capture says of which folder it is.
    dir: PathBuf,
    base: PathBuf,
    first: Content,
    second: Content,
}

impl Cases {
    fn new(faults: &'static Faults) -> Self {
        let temp = temp_dir();
        let (dir, base) = (temp.path().join("case"), temp.path().join("base"));
        std::fs::create_dir(&dir).unwrap();
        let (first, second) = prepare(&dir);
        assert_ne!(first, second);
        copy(&dir, &base);
        Self { faults, temp, dir, base, first, second }
    }

    fn begin(&self) {
        copy(&self.base, &self.dir);
    }

    fn child(&self, name: &str, value: &str) -> Ended {
        let settings = [(DIR, self.dir.to_str().unwrap()), (name, value)];
        faults::run(self.faults, CHILD, &self.dir, &settings)
    }

    /// Restores, with a call that fails.
    fn run(&self, fail: &str) -> Ended {
        self.child(faults::FAIL, fail)
    }

    /// Restores, and counts the calls.
    fn calls(&self) -> u64 {
        let count = self.temp.path().join("count");
        let ended = self.child(faults::COUNT, count.to_str().unwrap());
        assert_eq!(ended.fault(false), None);
        assert!(self.check(false).unwrap(), "nothing failed: done");
        counts(&count).of("any")
    }

    fn check(&self, kept: bool) -> Result<bool, String> {
        check(&self.dir, &self.first, &self.second, kept)
    }
}

#[test]
fn a_call_that_fails_leaves_a_restore_that_is_done_or_taken_back() {
    let Some(faults) = faults::built() else {
        return;
    };
    let mut random = Random::new(seed());
    let cases = Cases::new(faults);
    let calls = cases.calls();
    println!("{calls} calls to fail");
    let some = if nightly() { None } else { Some(40) };
    let (mut done, mut undone, mut told, mut failures) = (0, 0, 0, Vec::new());
    for n in spread(calls, some, &mut random) {
        let how = ["ENOSPC", "EIO", "EACCES", "EROFS"][random.below(4) as usize];
        let until = ["once", "forever"][random.below(2) as usize];
        cases.begin();
        let fail = format!("any:{n}:{how}:{until}");
        let ended = cases.run(&fail);
        let failed = ended.status.code() == Some(FAILED);
        told += u64::from(failed);
        let wrong = match cases.check(how == "EACCES") {
            _ if !failed && ended.fault(false).is_some() => ended.fault(false),
            Ok(true) => {
                done += 1;
                None
            }
            Ok(false) => {
                undone += 1;
                let text = "it said that it is done, and it is taken back";
                (!failed).then(|| text.to_owned())
            }
            Err(error) => Some(error),
        };
        failures.extend(wrong.map(|text| format!("{fail}: {text} [{}]", ended.stderr)));
    }
    println!("{done} done, {undone} taken back, {told} told, {} wrong", failures.len());
    assert!(failures.is_empty(), "I8: {failures:#?}");
    assert!(done > 0 && undone > 0 && told > 0);
}

#[test]
fn a_kill_before_any_call_leaves_a_restore_that_is_done_or_taken_back_and_one_while_recovering_too()
{
    let Some(faults) = faults::built() else {
        return;
    };
    let mut random = Random::new(seed());
    let cases = Cases::new(faults);
    let calls = cases.calls();
    println!("{calls} calls to be killed before");
    let some = if nightly() { None } else { Some(60) };
    let (mut done, mut undone, mut failures) = (0, 0, Vec::new());
    for n in spread(calls, some, &mut random) {
        cases.begin();
        let _ = cases.run(&format!("any:{n}:kill:once"));
        // And once more, while that is recovered from.
        if n % 3 == 0 {
            let again = random.below(200) + 1;
            let _ = cases.run(&format!("any:{again}:kill:once"));
        }
        if n % 2 == 0 {
            // A capture before the recovery leaves a cached scan that the recovery must not use.
            let (engine, workspace) = open(&cases.dir);
            let task = engine.task("t").unwrap();
            let _ = workspace.capture(&engine, &task, None);
            engine.close().unwrap();
        }
        match cases.check(false) {
            Ok(true) => done += 1,
            Ok(false) => undone += 1,
            Err(error) => failures.push(format!("call {n}: {error}")),
        }
    }
    println!("{done} done, {undone} taken back, {} wrong", failures.len());
    assert!(failures.is_empty(), "I8: {failures:#?}");
    assert!(done > 0 && undone > 0);
}
