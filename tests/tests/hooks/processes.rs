//! The processes of commands: none outlives its time, none is waited for by who must not wait.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use milepost::events::Message;
use milepost::{Engine, Mark, Options};
use milepost_runtime::hooks::{CommandHook, CommandHooks, HookPoint};

use super::{Listener, lines};

fn with(hook: CommandHook) -> Options {
    CommandHooks::default().with(hook).add_to(Options::default()).unwrap()
}

/// Returns `true` if a process runs; a zombie does not.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// Waits for something that comes soon, or never.
fn eventually(what: &str, happens: impl Fn() -> bool) {
    for _ in 0..20_000 {
        if happens() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("not so: {what}");
}

#[test]
fn a_command_that_is_late_is_killed_with_all_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let pids = dir.path().join("pids");
    // The group has three; one is a child of a child.
    let script =
        "(sleep 600 & echo $! >> \"$0\"; wait) & echo $! >> \"$0\"; echo $$ >> \"$0\"; wait";
    let hook = CommandHook::new("sh")
        .args(["-c", script])
        .args([pids.display().to_string()])
        .on(HookPoint::BeforeCheckpoint)
        .timeout(Duration::from_millis(500))
        .veto();
    let engine = Engine::in_memory(with(hook)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let refused = task.checkpoint(Mark::new()).unwrap_err();
    assert!(refused.to_string().contains("took longer than 500 ms"), "{refused}");
    let pids = lines(&pids);
    assert_eq!(pids.len(), 3);
    for pid in &pids {
        eventually("it is gone", || !runs(pid));
    }
}

#[test]
fn a_command_that_hangs_at_an_event_holds_neither_appends_nor_close() {
    let dir = tempfile::tempdir().unwrap();
    let pids = dir.path().join("pids");
    let hook = CommandHook::new("sh")
        .args(["-c", "echo $$ >> \"$0\"; exec sleep 600"])
        .args([pids.display().to_string()])
        .on(HookPoint::Event)
        .timeout(Duration::from_millis(200));
    let engine = Engine::in_memory(with(hook)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(Message::text("user", "x")).unwrap();
    engine.close().unwrap();
    let pids = lines(&pids);
    assert_eq!(pids.len(), 2, "each event has its own run");
    for pid in &pids {
        eventually("it is gone", || !runs(pid));
    }
}

pub fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_command_after_something_is_not_waited_for_by_whoever_did_it() {
    let dir = tempfile::tempdir().unwrap();
    let done = dir.path().join("done");
    let gated = |point: HookPoint| {
        let gate = dir.path().join(point.name());
        fifo(&gate);
        CommandHook::new("sh")
            .args(["-c", "cat \"$0\" >> \"$1\""])
            .args([&gate, &done].map(|path| path.display().to_string()))
            .on(point)
            .timeout(Duration::from_secs(60))
    };
    let (listener, heard) = Listener::new();
    let hooks = CommandHooks::default()
        .with(gated(HookPoint::AfterCheckpoint))
        .with(gated(HookPoint::AfterRestore));
    let options = hooks.add_to(Options::default()).unwrap().hook(listener);
    let engine = Engine::in_memory(options).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.checkpoint(Mark::new()).unwrap();
    engine.restore(&task.point(1).unwrap()).run().unwrap();
    // Both have returned, and the first command waits for this still.
    fs::write(dir.path().join("after_checkpoint"), "one\n").unwrap();
    fs::write(dir.path().join("after_restore"), "two\n").unwrap();
    engine.close().unwrap();
    assert_eq!(lines(&done), ["one", "two"]);
    assert_eq!(heard.alerts.try_iter().count(), 0);
}

#[test]
fn a_command_that_reads_nothing_and_prints_much_is_done_when_it_ends() {
    let script = "yes | head -c 5000000; yes | head -c 5000000 >&2";
    let hook = CommandHook::new("sh").args(["-c", script]).on(HookPoint::Event);
    let (listener, heard) = Listener::new();
    let engine = Engine::in_memory(with(hook).hook(listener)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(Message::text("user", &"x".repeat(8 << 20))).unwrap();
    engine.close().unwrap();
    assert_eq!(heard.all().len(), 2);
    assert_eq!(heard.alerts.try_iter().count(), 0);
}

#[test]
fn a_command_knows_what_it_is_called_for_and_works_in_the_current_folder() {
    let dir = tempfile::tempdir().unwrap();
    let said = dir.path().join("said");
    let hook = CommandHook::new("sh")
        .args(["-c", "echo \"$MILEPOST_HOOK\" > \"$0\"; pwd >> \"$0\""])
        .args([said.display().to_string()])
        .on(HookPoint::AfterCheckpoint);
    let engine = Engine::open(dir.path().join("store"), with(hook)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.checkpoint(Mark::new()).unwrap();
    engine.close().unwrap();
    let here = std::env::current_dir().unwrap().display().to_string();
    assert_eq!(lines(&said), ["after_checkpoint", &here]);
}
