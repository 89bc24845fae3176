//! The command on a store of a million events, as whole processes, compared with `git log` in a
//! repository of as many commits.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use milepost::{Append, Body, Engine, Mark, Options, Task};

use super::folder;
use crate::corpus::generated;
use crate::measure::{alternate, row, seconds};
use crate::program;

/// Events of the store: most are in one task.
const EVENTS: u64 = 1_000_000;
const OTHERS: u64 = 100;
const OF_OTHERS: u64 = 1000;
/// Events of a step.
const STEP: u64 = 5;
/// Steps from one checkpoint to the next.
const MARKED: u64 = 100;

/// Usual command lines, and the limit of each in milliseconds.
const ASKED: [(&str, &[&str], f64); 8] = [
    ("tasks", &["tasks"], 100.0),
    ("checkpoints", &["checkpoints", "long"], 100.0),
    ("checkpoints -n 20", &["checkpoints", "long", "--limit", "20"], 100.0),
    ("log -n 20", &["log", "long", "-n", "20"], 100.0),
    ("show", &["show", "long@450000"], 100.0),
    ("state of the head", &["state", "long"], 100.0),
    ("state at half", &["state", "long@450000"], 100.0),
    ("bisect", &["bisect", "long", "--when", "/variables/score >= 0.7"], 2000.0),
];

/// Times each command; `git log -n 20` in turn with all of them.
pub fn commands(rounds: usize) {
    let dir = folder();
    let (store, commits) = (dir.path().join("store"), dir.path().join("commits"));
    fill(&store);
    commit(&commits, EVENTS);
    for (what, args, most) in ASKED {
        let ours = || {
            let mut command = Command::new(program());
            let command = command.arg("--store").arg(&store).args(args);
            1e3 * seconds(|| silently(command))
        };
        let git = || {
            let mut command = Command::new("git");
            let command = command.arg("-C").arg(&commits).args(["--no-pager", "log", "-n", "20"]);
            1e3 * seconds(|| silently(command))
        };
        let [ours, git] = alternate(rounds, [&mut || ours(), &mut || git()]);
        let name = format!("milepost {what}");
        let peer = format!("git log -n 20 {git:.1} ms");
        row(&name, format!("{ours:.1} ms"), peer.clone(), ours, most, true);
        println!("{:<46} {:>16} {peer:>22} {:>8.1}", "", "as a ratio", ours / git);
    }
}

fn silently(command: &mut Command) {
    let done = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(done.unwrap().success(), "{command:?}");
}

/// A store of many tasks, closed.
fn fill(dir: &Path) {
    let engine = Engine::open(dir, Options::default()).unwrap();
    for n in 0..OTHERS {
        let task = engine.start_task(&format!("other-{n}"), "bench").unwrap();
        run(&task, OF_OTHERS);
    }
    let task = engine.start_task("long", "bench").unwrap();
    run(&task, EVENTS - OTHERS * OF_OTHERS);
    engine.store().drain().unwrap();
    engine.close().unwrap();
}

/// A run whose score goes up with each step.
fn run(task: &Task, events: u64) {
    let steps = events / STEP;
    for first in (0..steps).step_by(MARKED as usize) {
        let steps = first..(first + MARKED).min(steps);
        let batch = steps.flat_map(|step| of_step(step, events / STEP));
        task.append(Append::batch(batch)).unwrap();
        task.checkpoint(Mark::new()).unwrap();
    }
}

fn of_step(step: u64, steps: u64) -> [Body; STEP as usize] {
    let score = step as f64 / steps as f64;
    let body = |json: String| Body::from_json(&json).unwrap();
    [
        body(format!(r#"{{"kind":"step_started","step":{step}}}"#)),
        generated(step, 200),
        body(format!(
            r#"{{"kind":"tool_called","call":"c{step}","tool":"search","arguments":{{"q":"score {step}"}}}}"#
        )),
        body(format!(
            r#"{{"kind":"variables_patched","patch":{{"score":{score},"step":{step}}}}}"#
        )),
        body(format!(r#"{{"kind":"step_finished","step":{step}}}"#)),
    ]
}

/// Makes a repository of this many commits, without files.
fn commit(dir: &PathBuf, commits: u64) {
    std::fs::create_dir(dir).unwrap();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(dir).args(args);
        command
    };
    silently(&mut git(&["init", "-q", "-b", "main"]));
    let mut import = git(&["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = import.stdin.take().unwrap();
    let mut text = String::new();
    for n in 0..commits {
        let message = format!("step {n}");
        let _ = writeln!(
            text,
            "commit refs/heads/main\ncommitter bench <bench@localhost> {} +0000\ndata {}\n{message}",
            1_700_000_000 + n,
            message.len()
        );
        if text.len() > 1 << 20 {
            stdin.write_all(text.as_bytes()).unwrap();
            text.clear();
        }
    }
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    assert!(import.wait().unwrap().success());
}
