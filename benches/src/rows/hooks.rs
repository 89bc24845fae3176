//! Hooks of a coding agent, each as a whole process with the shell of its guard, compared with a
//! shell that does nothing and with the snapshots that opencode takes: `git add` and `git
//! write-tree`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use milepost_agent_tests::{Agent, AgentHome};
use serde_json::json;

use super::folder;
use crate::measure::{alternate, row, seconds};
use crate::peers::Git;
use crate::program;
use crate::trees::{Tree, blocks};

/// Files that change within a call.
const CHANGED: usize = 5;

/// Longest time of a hook that waits for nothing, in seconds: one that reached its limit waited.
const SETTLED: f64 = 0.5;

/// Limits for one size: of hooks in milliseconds at the 95th percentile, of the daemon's memory in
/// MiB.
struct Bars {
    before: f64,
    straight: f64,
    after: f64,
    first_seconds: f64,
    memory: f64,
}

/// A home, and a project outside of it, whose daemon the first hook starts.
struct Scene {
    home: tempfile::TempDir,
    place: tempfile::TempDir,
    tree: Tree,
    document: PathBuf,
    calls: u64,
}

impl Scene {
    fn new(files: usize, bytes: u64) -> Self {
        let (home, place) = (folder(), folder());
        let tree = Tree::make(place.path(), files, bytes);
        std::fs::create_dir_all(home.path().join(".claude/projects/p")).unwrap();
        let document = home.path().join("document");
        Self { home, place, tree, document, calls: 0 }
    }

    fn shell(&self, text: &str) -> Command {
        let mut command = Command::new("sh");
        let home = self.home.path();
        command.args(["-c", text]).env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin");
        command.env("CLAUDE_PROJECT_DIR", self.tree.folder()).current_dir(self.tree.folder());
        command.stdin(File::open(&self.document).unwrap()).stdout(Stdio::null());
        command
    }

    /// Calls a hook as the agent does. Returns the milliseconds until it ends.
    fn hook(&self, event: &str, call: Option<u64>) -> f64 {
        let document = json!({
            "hook_event_name": event, "session_id": "bench", "cwd": self.tree.folder(),
            "prompt": "work", "tool_name": "Bash",
            "tool_use_id": call.map(|call| format!("call-{call}")),
            "tool_input": {"command": "make"}, "tool_response": {"stdout": ""},
        });
        std::fs::write(&self.document, document.to_string()).unwrap();
        let program = program();
        let program = program.display();
        let text = format!("[ -x '{program}' ] && '{program}' agent hook claude-code || :");
        let mut command = self.shell(&text);
        1e3 * seconds(|| assert!(command.status().unwrap().success()))
    }

    /// Waits until all that the daemon was given is recorded.
    fn settle(&self) {
        while self.hook("Notification", None) > 1e3 * SETTLED {}
    }

    /// Fails if the daemon does not capture the files.
    fn check(&self) {
        let text = format!("'{}' log bench --events", program().display());
        let log = self.shell(&text).stdout(Stdio::piped()).output().unwrap();
        let log = String::from_utf8(log.stdout).unwrap();
        let captured = log.lines().find(|line| line.contains("captured")).expect("a capture");
        let digits: String = captured.chars().filter(char::is_ascii_digit).collect();
        assert!(digits.contains(&self.tree.files().to_string()), "{captured}");
    }

    /// The id of the daemon's process.
    fn daemon(&self) -> u32 {
        let project = self.place.path().canonicalize().unwrap();
        let is_it = |process: &u32| {
            let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            let words: Vec<_> = line.split(|byte| *byte == 0).collect();
            words.contains(&&b"serve"[..])
                && words.contains(&project.as_os_str().as_encoded_bytes())
        };
        let entries = std::fs::read_dir("/proc").unwrap();
        let mut ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        ids.find(is_it).expect("a daemon of the project")
    }

    fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.daemon())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }

    fn next(&mut self) -> u64 {
        self.calls += 1;
        self.calls
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // The daemon ends by itself after what it was given.
        let process = self.daemon().to_string();
        let _ = Command::new("kill").arg(&process).status();
        while Path::new("/proc").join(&process).exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// The hooks of a project of 3,000 files, and of one of 50,000.
pub fn hooks(calls: usize, is_large: bool) {
    let small =
        Bars { before: 15.0, straight: 20.0, after: 10.0, first_seconds: 0.5, memory: 40.0 };
    of_size(calls, 3000, 32 << 20, &small);
    if is_large {
        let large =
            Bars { before: 50.0, straight: 50.0, after: 10.0, first_seconds: 4.0, memory: 120.0 };
        of_size(calls, 50_000, 1 << 30, &large);
    }
    disk();
}

fn of_size(calls: usize, files: usize, bytes: u64, bars: &Bars) {
    let mut scene = Scene::new(files, bytes);
    let git = Git::init(scene.place.path().join("git"), scene.tree.folder());
    let first = seconds(|| {
        scene.hook("SessionStart", None);
        scene.settle();
    });
    scene.check();
    let first_git = seconds(|| git.write_tree());
    let name = format!("hooks, {files} files: first capture, s");
    row(
        &name,
        format!("{first:.2}"),
        format!("git {first_git:.2}"),
        first,
        bars.first_seconds,
        true,
    );
    let mut figures = [const { Vec::new() }; 5];
    for _ in 0..calls {
        let call = scene.next();
        figures[0].push(scene.hook("PreToolUse", Some(call)));
        scene.tree.change(CHANGED);
        figures[1].push(scene.hook("PostToolUse", Some(call)));
        figures[2].push(1e3 * seconds(|| git.write_tree()));
        // A turn of the model is longer than the capture behind a call.
        scene.settle();
        scene.tree.change(CHANGED);
        let call = scene.next();
        figures[3].push(scene.hook("PreToolUse", Some(call)));
        scene.hook("PostToolUse", Some(call));
        let mut nothing = scene.shell(":");
        figures[4].push(1e3 * seconds(|| assert!(nothing.status().unwrap().success())));
        scene.settle();
    }
    let [before, after, git, straight, shell] = figures.map(percentiles);
    let peer = format!("git {:.0} ms, sh {:.1} ms", git.0, shell.0);
    let line = |what: &str, (p50, p95): (f64, f64), bar: f64| {
        let name = format!("hooks, {files} files: {what}, p50 p95");
        row(&name, format!("{p50:.1} {p95:.1} ms"), peer.clone(), p95, bar, true);
    };
    line("before a call", before, bars.before);
    line("before, behind 5 changes", straight, bars.straight);
    line("after a call", after, bars.after);
    let memory = scene.memory();
    let name = format!("hooks, {files} files: memory of the daemon, MiB");
    row(&name, format!("{memory:.0}"), String::new(), memory, bars.memory, true);
}

/// The disk of 1,000 captures with five changes each, in 3,000 files.
fn disk() {
    let mut scene = Scene::new(3000, 32 << 20);
    scene.hook("SessionStart", None);
    scene.settle();
    let store = scene.home.path().join(".local/share/milepost");
    let first = blocks(&store);
    for _ in 0..1000 {
        let call = scene.next();
        scene.hook("PreToolUse", Some(call));
        scene.tree.change(CHANGED);
        scene.hook("PostToolUse", Some(call));
    }
    scene.settle();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let grown = mib(blocks(&store).saturating_sub(first));
    let peer = format!("first {:.1} MiB", mib(first));
    row("hooks: 1,000 captures of 5 changes, MiB", format!("{grown:.1}"), peer, grown, 40.0, true);
}

/// A session of Claude Code with 20 calls, without hooks, with hooks that do nothing, and with
/// ours.
pub fn agent_session(rounds: usize) {
    let program = program();
    let homes = [(); 3].map(|()| AgentHome::new(Agent::ClaudeCode, &program));
    let [Some(plain), Some(idle), Some(ours)] = homes else { return };
    idle.install_hooks();
    idle.replace_program(Path::new("/bin/true"));
    ours.install_hooks();
    let mut prompt = String::new();
    for call in 0..20 {
        prompt.push_str(&format!("[[shell echo {call} > f{call}.txt]] "));
    }
    prompt.push_str("[[say done]]");
    let run = |home: &AgentHome| seconds(|| drop(home.prompt(&prompt).ok()));
    // The first one starts the daemon.
    run(&ours);
    let [plain, idle, ours] =
        alternate(rounds, [&mut || run(&plain), &mut || run(&idle), &mut || run(&ours)]);
    let peer = format!("none {plain:.2} s, idle {idle:.2} s");
    let more = ours - plain;
    row("a session of 20 calls, s more with hooks", format!("{ours:.2} s"), peer, more, 0.3, true);
}

/// The median and the 95th percentile.
fn percentiles(mut figures: Vec<f64>) -> (f64, f64) {
    figures.sort_by(f64::total_cmp);
    let at = |part: usize| figures[(figures.len() * part).div_ceil(100).saturating_sub(1)];
    (at(50), at(95))
}
