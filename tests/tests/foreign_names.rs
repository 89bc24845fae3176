//! An embedding program that meets a name in a store that no store makes: a link, a file with a
//! second name, a pipe, a file of another owner. Every name that opening and using a store ever
//! opens is tried: the list comes from a trace of the calls, so that a new file cannot be
//! forgotten.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use milepost::events::Message;
use milepost::repair::repair;
use milepost::retention::Policy;
use milepost::{Append, Detail, Engine, Mark, Options, Scope};
use milepost_tests::skip::skipped;
use milepost_tests::{bodies, folder};
use milepost_workspace::{Choices, Workspace, WorkspaceOptions};

const USES: &str = "MILEPOST_TEST_FOREIGN_USES";
const MEETS: &str = "MILEPOST_TEST_FOREIGN_MEETS";

/// Does everything with a store that a program can: it does nothing without its environment.
#[test]
fn child_that_uses_everything() {
    let Ok(dir) = std::env::var(USES) else {
        return;
    };
    let dir = PathBuf::from(dir);
    let (root, work) = (dir.join("store"), dir.join("work"));
    fs::create_dir(&work).unwrap();
    let options = || Options::default().backlog_bytes(1 << 20);
    let engine = Engine::open(&root, options()).unwrap();
    let attached = milepost_server::attach(&engine).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    engine.start_task("gone", "ana").unwrap();
    let workspace = Workspace::open(&work, WorkspaceOptions::default()).unwrap();
    for n in 0..30 {
        // Over several segments, with bodies in packs and snapshots.
        let text = bodies::text(n, 200_000);
        task.append(Message::text("user", &text)).unwrap();
        task.append(bodies::bytes(n, 300_000)).unwrap();
        let mark = Mark::new().label(format!("at-{n}"));
        match n % 10 {
            0 => {
                fs::write(work.join("a.txt"), text).unwrap();
                workspace.capture(&engine, &task, Some(mark)).unwrap();
            }
            _ => drop(task.checkpoint(mark).unwrap()),
        }
    }
    let keyed = Append::from(Message::text("user", "once")).key("a-key");
    task.append(keyed).unwrap();
    let to = engine.point("t@at-10").unwrap();
    let choices = Choices::default();
    let gone = workspace.restore(&engine, &to, Scope::All, None, &choices);
    gone.unwrap();
    engine.store().drain().unwrap();
    engine.retention().erase(&engine.point("t@1").unwrap(), None).unwrap();
    engine.retention().retain(&Policy::new().keep(3).undo(0)).unwrap();
    engine.retention().delete_task("gone").unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
    let task = engine.task("t").unwrap();
    workspace.capture(&engine, &task, None).unwrap();
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
    drop(attached);
    engine.close().unwrap();
    // Damage is set aside; sled is built anew; the archive is written again.
    folder::remove_sled(&root).unwrap();
    let archive = folder::files(&root.join("archive"), ".mpa").unwrap();
    Engine::open(&root, options()).unwrap().close().unwrap();
    fs::write(&archive[0], b"damage").unwrap();
    Engine::open(&root, options()).unwrap().close().unwrap();
    let mended = repair(&root, &options(), false).unwrap();
    assert!(mended.verified.is_clean(), "{mended:?}");
    let look = Engine::open(&root, options().read_only(true)).unwrap();
    look.integrity().verify(None, &mut |_, _| {}).unwrap();
    look.close().unwrap();
}

/// Opens a store in each way that there is; each is refused because of a name.
#[test]
fn child_that_meets_a_foreign_name() {
    let Ok(root) = std::env::var(MEETS) else {
        return;
    };
    let options = || Options::default().create(false);
    let refused = [
        Engine::open(&root, options()).map(drop).unwrap_err(),
        Engine::open(&root, options().read_only(true)).map(drop).unwrap_err(),
        repair(&root, &options(), true).map(drop).unwrap_err(),
        repair(&root, &options(), false).map(drop).unwrap_err(),
    ];
    for error in refused {
        let Some(Detail::Foreign { path }) = error.detail() else {
            panic!("{error}");
        };
        println!("refused {path}");
    }
}

/// Runs a test of this file as a process of its own, for a minute at most.
fn child(tracer: &[&str], name: &str, variable: &str, value: &Path) -> Output {
    let mut words: Vec<&str> = vec!["120"];
    words.extend(tracer);
    Command::new("timeout")
        .args(words)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(variable, value)
        .output()
        .unwrap()
}

/// The names below a folder.
fn walk(root: &Path, dir: &Path, names: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        names.insert(path.strip_prefix(root).unwrap().to_owned());
        if entry.file_type().unwrap().is_dir() {
            walk(root, &path, names);
        }
    }
}

/// Returns `true` if the names of files that do not stay can be told.
fn can_trace() -> bool {
    Command::new("strace").arg("-V").output().is_ok()
}

/// Uses a store for everything; gives every name in it that is there or was opened.
fn everything(dir: &Path) -> BTreeSet<PathBuf> {
    let (root, trace) = (dir.join("store"), dir.join("trace"));
    let traces = can_trace();
    let calls = "trace=open,openat,openat2,creat,mkdir,mkdirat,rename,renameat,renameat2";
    let to = trace.display().to_string();
    let tracer = ["strace", "-f", "-qq", "-s", "4096", "-e", calls, "-o", &to];
    let tracer = match traces {
        true => &tracer[..],
        false => {
            skipped("strace is missing: only names that stay are tried");
            &[]
        }
    };
    let done = child(tracer, "foreign_names::child_that_uses_everything", USES, dir);
    let said = String::from_utf8_lossy(&done.stdout);
    let wrong = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}{wrong}");
    let mut names = BTreeSet::new();
    walk(&root, &root, &mut names);
    let traced = fs::read_to_string(&trace).unwrap_or_default();
    for word in traced.lines().flat_map(|line| line.split('"').skip(1).step_by(2)) {
        if let Ok(inner) = Path::new(word).strip_prefix(&root)
            && inner.components().next().is_some()
        {
            names.insert(inner.to_owned());
        }
    }
    names
}

/// A name with the numbers and digits in it that another run does not have: one of each kind is
/// tried.
fn kind_of(name: &Path) -> String {
    let text = name.display().to_string();
    let parts = text.split(['/', '.', '-']).map(|part| {
        let number = part.len() >= 10 && part.chars().all(|c| c.is_ascii_hexdigit());
        if number { "#" } else { part }
    });
    parts.collect::<Vec<_>>().join("/")
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Put {
    Link,
    LinkToFolder,
    HardLink,
    Pipe,
    Owner,
}

const PRECIOUS: &str = "the user's own file\n";

/// Puts a foreign name in the place of one.
fn put(what: Put, name: &Path, dir: &Path) {
    let (victim, victims) = (dir.join("precious"), dir.join("folder"));
    fs::create_dir_all(name.parent().unwrap()).unwrap();
    let there = fs::symlink_metadata(name).ok();
    if what == Put::Owner {
        if there.is_none() {
            fs::write(name, "").unwrap();
        }
        return chown(name, Some(65_534), None).unwrap();
    }
    match there {
        Some(is) if is.is_dir() => fs::remove_dir_all(name).unwrap(),
        Some(_) => fs::remove_file(name).unwrap(),
        None => {}
    }
    match what {
        Put::Link => symlink(victim, name).unwrap(),
        Put::LinkToFolder => symlink(victims, name).unwrap(),
        Put::HardLink => fs::hard_link(victim, name).unwrap(),
        Put::Pipe | Put::Owner => {
            assert!(Command::new("mkfifo").arg(name).status().unwrap().success());
        }
    }
}

#[test]
fn a_foreign_name_refuses_an_embedded_store_however_it_is_opened_and_nothing_goes_through_it() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut names = everything(dir);
    for known in [
        "lock",
        "acked",
        "sled/db",
        "sled-closed",
        "damaged",
        "packs/0000000001.pack",
        "workspace",
        "server",
    ] {
        assert!(names.contains(Path::new(known)), "{known} in {names:?}");
    }
    for passing in ["sled.next/db", "sled-now"] {
        assert!(!can_trace() || names.contains(Path::new(passing)), "{passing} in {names:?}");
    }
    let mut kinds = BTreeSet::new();
    names.retain(|name| kinds.insert(kind_of(name)));
    println!("{} names", names.len());
    let (root, template) = (dir.join("store"), dir.join("template"));
    fs::rename(&root, &template).unwrap();
    let is_root = fs::metadata(&template).unwrap().uid() == 0;
    let all = [Put::Link, Put::LinkToFolder, Put::HardLink, Put::Pipe, Put::Owner];
    for name in &names {
        for kind in all.into_iter().filter(|kind| is_root || *kind != Put::Owner) {
            folder::copy(&template, &root).unwrap();
            fs::write(dir.join("precious"), PRECIOUS).unwrap();
            fs::create_dir(dir.join("folder")).unwrap();
            fs::write(dir.join("folder/db"), PRECIOUS).unwrap();
            put(kind, &root.join(name), dir);
            let done = child(&[], "foreign_names::child_that_meets_a_foreign_name", MEETS, &root);
            let said = String::from_utf8_lossy(&done.stdout);
            let wrong = String::from_utf8_lossy(&done.stderr);
            let told = format!("{kind:?} at {}: {said}{wrong}", name.display());
            assert!(done.status.success(), "{told}");
            let refused = format!("refused {}", root.join(name).display());
            assert_eq!(said.matches(&refused).count(), 4, "{told}");
            let victims = [dir.join("precious"), dir.join("folder/db")];
            for victim in victims {
                assert_eq!(fs::read_to_string(victim).unwrap(), PRECIOUS, "{told}");
            }
            assert_eq!(fs::read_dir(dir.join("folder")).unwrap().count(), 1, "{told}");
            fs::remove_dir_all(&root).unwrap();
            fs::remove_dir_all(dir.join("folder")).unwrap();
            fs::remove_file(dir.join("precious")).unwrap();
        }
    }
}
