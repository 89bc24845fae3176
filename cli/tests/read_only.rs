//! Stores that another process holds and does not answer for, or that cannot be written to:
//! commands that read show them, and leave no byte in them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use milepost_agent_tests::skipped;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::common::{Place, Ran};

/// Reading commands whose output is the same every time.
const READS: [&str; 23] = [
    "tasks --json",
    "lineages run",
    "log run --utc",
    "log run --json",
    "show run@3",
    "transcript run",
    "state run",
    "state run@5 --json",
    "checkpoint",
    "checkpoints",
    "checkpoints run",
    "diff run@2 run",
    "blame run /control",
    "bisect run --good run@1 --when /message_count>=2",
    "pins run",
    "stats --user ada",
    "replay run",
    "replay run --check",
    "export run",
    "export",
    "cleanup --keep 1 --dry-run",
    "verify run",
    "verify --states",
];

/// Commands that change something, each with its object.
const WRITES: [&str; 9] = [
    "mark run later",
    "restore run@3",
    "undo run",
    "pause run",
    "erase run@2",
    "delete run --yes",
    "cleanup --keep 1",
    "compact",
    "repair",
];

/// Every name below a folder: inode, mode, times and bytes.
fn tree(root: &Path) -> BTreeMap<PathBuf, (u64, u32, i64, Vec<u8>)> {
    let mut tree = BTreeMap::new();
    let mut paths = vec![root.to_owned()];
    while let Some(path) = paths.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        let mut bytes = Vec::new();
        if meta.is_dir() {
            paths.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        } else if meta.is_file() {
            bytes = fs::read(&path).unwrap();
        }
        tree.insert(path, (meta.ino(), meta.mode(), meta.mtime_nsec(), bytes));
    }
    tree
}

/// Asserts success, and one line on standard error that says the store is opened read-only.
#[track_caller]
fn looked(ran: &Ran, why: &str) -> String {
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
    assert!(ran.err.contains("read-only") && ran.err.contains(why), "{ran:?}");
    ran.out.clone()
}

/// Returns the lines about the store. Sizes, and the number of blocks, are those of the index,
/// which a reader builds for itself.
fn of_the_store(out: &str) -> String {
    let kept = out.lines().filter(|line| !line.contains(" on disk"));
    let parts = kept.map(|line| {
        let parts = line.split(", ");
        parts.filter(|part| !part.ends_with(" blocks") && !part.ends_with(" block"))
    });
    parts.map(|parts| parts.collect::<Vec<_>>().join(", ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn commands_that_read_show_a_store_that_another_process_holds_and_others_say_who_has_it() {
    let place = Place::recorded();
    place.say("mark run first").ok();
    let before: Vec<_> = READS.iter().map(|line| place.say(line)).collect();
    let held = place.hold();
    let files = tree(&place.store());
    for (line, before) in READS.iter().zip(before) {
        let ran = place.say(line);
        assert_eq!(before.code, 0, "{line}: {before:?}");
        let out = looked(&ran, "is open in process");
        assert_eq!(of_the_store(&out), of_the_store(&before.out), "{line}");
    }
    for line in WRITES {
        place.say(&format!("--wait 0s {line}")).failed(1, "is open in process");
    }
    assert!(tree(&place.store()) == files, "something in the store changed");
    drop(held);
    place.say("mark run later").ok();
}

#[test]
fn twenty_commands_at_a_time_wait_for_each_other() {
    let place = Place::recorded();
    let marks: Vec<_> = (0..20)
        .map(|n| {
            let mut mark = place.command(["--wait", "1m", "mark", "run", &format!("label-{n}")]);
            mark.stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut mark in marks {
        assert!(mark.wait().unwrap().success());
    }
    let labels = place.say("checkpoints run").ok().matches("label-").count();
    assert_eq!(labels, 20);
}

#[test]
fn doctor_says_who_holds_a_store_and_looks_into_it() {
    let place = Place::recorded();
    let _held = place.hold();
    let files = tree(&place.store());
    let out = place.say("doctor").ok();
    let line = |name: &str| out.lines().find(|line| line.contains(name)).unwrap_or_default();
    assert!(line("lock").contains("is open in process"), "{out}");
    assert!(line("sizes").contains("events in"), "{out}");
    assert!(tree(&place.store()) == files, "something in the store changed");
}

/// A program that has the store open, stopped; it is killed when this is dropped.
struct Stopped(Child);

impl Stopped {
    fn of(place: &Place) -> Self {
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        let mut command = place.command(serve);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("listening on "), "{line:?}");
        let stopped = Self(child);
        stopped.send(Signal::STOP);
        // A thread that is in a system call completes it first, so it may still write.
        waitpid(Some(stopped.pid()), WaitOptions::UNTRACED).unwrap();
        stopped
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.0.id().cast_signed()).unwrap()
    }

    fn send(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_program_that_is_stopped_and_whose_socket_does_not_answer_keeps_no_command_from_reading() {
    let place = Place::recorded();
    let before = ["tasks --json", "log run --utc"].map(|line| place.say(line).ok());
    let program = Stopped::of(&place);
    assert!(place.store().join("server/socket").exists());
    let files = tree(&place.store());
    for (line, before) in ["tasks --json", "log run --utc"].iter().zip(before) {
        let out = looked(&place.say(line), "is open in process");
        assert_eq!(out, before, "{line}");
    }
    let refused = place.say("--wait 0s mark run later");
    refused.failed(1, "is open in process");
    assert!(refused.err.contains("does not answer"), "{refused:?}");
    assert!(tree(&place.store()) == files, "something in the store changed");
    // Once the program continues, the command sends it the request.
    program.send(Signal::CONT);
    place.say("tasks").ok();
    place.say("mark run later").ok();
}

#[test]
fn commands_that_read_show_a_store_on_a_mount_that_cannot_be_written_to() {
    let place = Place::recorded();
    let before = place.say("log run").ok();
    let files = tree(&place.store());
    let script = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\"";
    let mounted = |line: &[&str]| {
        let milepost = place.command(line);
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", script]);
        command.arg(place.store()).arg(milepost.get_program()).args(line);
        command.current_dir(place.dir.path());
        command.env("XDG_DATA_HOME", place.path("data"));
        command.env("XDG_CONFIG_HOME", place.path("config"));
        command.output().unwrap_or_else(|_| Command::new("false").output().unwrap())
    };
    if !mounted(&["--version"]).status.success() {
        skipped("a mount of its own cannot be made here");
        return;
    }
    let ran = Ran::of(mounted(&["log", "run"]));
    assert_eq!((ran.err.as_str(), &ran.out), ("", &before), "a small store is read in place");
    let stats = Ran::of(mounted(&["stats", "--user", "ada"]));
    assert!(looked(&stats, "Read-only file system").contains("events"), "{stats:?}");
    Ran::of(mounted(&["mark", "run", "later"])).failed(1, "Read-only file system");
    assert!(tree(&place.store()) == files);
}
