//! A call ends when its agent reports it, however it ends: the files are as before the prompt, byte
//! for byte, or each other one is named.

use std::collections::BTreeMap;

use milepost_agent_tests::{Agent, AgentHome};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{home, rewound, session};

/// A home with a recorded project, and its files.
pub fn recorded(agent: Agent) -> Option<(AgentHome, BTreeMap<String, Vec<u8>>)> {
    let home = home(agent)?;
    home.record_hooks();
    home.write("data.txt", "alpha\n");
    home.write("mine.txt", "mine\n");
    let files = home.files("");
    Some((home, files))
}

/// Rewinds the last prompt, and checks that the files are those of before, and that the summary
/// states it.
#[track_caller]
pub fn all_goes_back(home: &AgentHome, place: &str, files: &BTreeMap<String, Vec<u8>>) {
    let done = rewound(home, &[place, "--files-only"]);
    assert_eq!(home.files(""), *files, "{done:#}");
    assert_eq!(done["stay"], serde_json::json!([]), "{done:#}");
    let summary = done["summary"].as_str().unwrap();
    assert!(summary.ends_with("the files are as they were then"), "{summary}");
}

/// The last call of a turn is a command that fails.
fn a_failed_call_goes_back(agent: Agent) {
    let Some((home, files)) = recorded(agent) else { return };
    let call = "[[shell echo 2 > data.txt; rm mine.txt; echo n > new.txt; exit 3]]";
    home.prompt(&format!("{call} [[say it failed]]")).ok();
    assert_ne!(home.files(""), files);
    all_goes_back(&home, "~1", &files);
}

#[test]
fn a_failed_call_of_claude_code_goes_back() {
    a_failed_call_goes_back(Agent::ClaudeCode);
}

#[test]
fn a_failed_call_of_codex_goes_back() {
    a_failed_call_goes_back(Agent::Codex);
}

#[test]
fn a_failed_call_of_gemini_cli_goes_back() {
    a_failed_call_goes_back(Agent::GeminiCli);
}

/// The signal of Ctrl-C ends the agent in a call.
fn an_interrupted_call_goes_back(agent: Agent) {
    let Some((home, files)) = recorded(agent) else { return };
    let call = "[[shell echo 2 > data.txt; rm mine.txt; echo n > new.txt; sleep 600]]";
    let started = home.start(home.command(None, &format!("{call} [[say never]]")));
    assert!(home.until(|| home.text("new.txt").is_some()), "{:#?}", started.wait());
    let daemons = home.running(&["agent", "serve"]);
    for process in home.processes().into_iter().filter(|process| !daemons.contains(process)) {
        let pid = i32::try_from(process).ok().and_then(Pid::from_raw).unwrap();
        let _ = kill_process(pid, Signal::INT);
    }
    assert!(home.until(|| started.has_ended()));
    started.wait();
    let session = session(&home);
    all_goes_back(&home, &format!("{session}~1"), &files);
}

#[test]
fn an_interrupted_call_of_claude_code_goes_back() {
    an_interrupted_call_goes_back(Agent::ClaudeCode);
}

/// A look at the rewind captures the changes of a call so far, and the next one the changes since.
#[test]
fn files_of_a_call_that_runs_on_behind_a_plan_go_back() {
    let Some((home, files)) = recorded(Agent::ClaudeCode) else { return };
    let on = home.path("on");
    let wait = format!("until [ -e {} ]; do sleep 0.05; done", on.display());
    let call = format!("[[shell echo n > new.txt; {wait}; echo l > later.txt; exec sleep 600]]");
    let started = home.start(home.command(None, &format!("{call} [[say never]]")));
    assert!(home.until(|| home.text("new.txt").as_deref() == Some("n\n")));
    let plan = |name: &str| {
        let plan = home.milepost(&["rewind", "~1", "--files-only", "--dry-run"]).ok().out;
        assert!(plan.contains(&format!("\n- {name}\n")), "{plan}");
    };
    plan("new.txt");
    std::fs::write(&on, "").unwrap();
    assert!(home.until(|| home.text("later.txt").as_deref() == Some("l\n")));
    plan("later.txt");
    started.kill();
    started.wait();
    all_goes_back(&home, "~1", &files);
}

/// A call removes the folder of the project, and the user makes it again.
fn a_removed_project_comes_back(agent: Agent) {
    let Some((home, files)) = recorded(agent) else { return };
    let folder = home.project("");
    // Agents refuse `rm -rf`.
    let run = home.prompt(r#"[[shell find "$PWD" -delete]] [[say it is gone]]"#);
    assert!(!run.is_late && !folder.exists(), "{run:#?}");
    std::fs::create_dir(&folder).unwrap();
    all_goes_back(&home, "~1", &files);
}

#[test]
fn a_project_that_claude_code_removed_comes_back() {
    a_removed_project_comes_back(Agent::ClaudeCode);
}

#[test]
fn a_project_that_codex_removed_comes_back() {
    a_removed_project_comes_back(Agent::Codex);
}

#[test]
fn a_project_that_gemini_cli_removed_comes_back() {
    a_removed_project_comes_back(Agent::GeminiCli);
}

/// The session enters a work tree of git in the project, which captures of the project leave out:
/// each output names it, and none says that the files are as they were.
#[test]
fn a_work_tree_that_the_session_entered_is_named() {
    let Some((home, _)) = recorded(Agent::ClaudeCode) else { return };
    home.git(&["init", "--quiet"]);
    home.git(&["add", "."]);
    home.git(&["commit", "--quiet", "--message", "first"]);
    let call = r#"[[tool EnterWorktree {"name": "other"}]] [[shell echo 2 > data.txt]]"#;
    home.prompt(&format!("{call} [[say done]]")).ok();
    let tree = home.project(".claude/worktrees/other");
    assert_eq!(std::fs::read_to_string(tree.join("data.txt")).unwrap(), "2\n");
    let tree = tree.display().to_string();
    let is_named = |said: &str| said.contains(&tree) && !said.contains("as they were then");
    let session = session(&home);
    for arguments in [
        &["--list"][..],
        &["--list", "--json"],
        &["~1", "--dry-run"],
        &["~1", "--dry-run", "--json"],
        &["~1", "--files-only", "--yes"],
    ] {
        let place = arguments[0].strip_prefix('~').map(|back| format!("{session}~{back}"));
        let mut words = vec!["rewind", place.as_deref().unwrap_or(&session)];
        words.extend(&arguments[usize::from(place.is_some())..]);
        let said = home.milepost(&words).ok().out;
        assert!(is_named(&said), "{words:?}: {said}");
    }
    let point = format!("{session}@prompt-1");
    for more in [&[][..], &["--json"]] {
        let words = [&["rollback", &point, "--dry-run"][..], more].concat();
        let said = home.milepost(&words).ok().out;
        assert!(is_named(&said), "{words:?}: {said}");
    }
}

/// A file grows over the limit of captures in a call: a rewind restores it, or names it.
#[test]
fn a_file_over_the_limit_goes_back_or_is_named() {
    let Some((home, files)) = recorded(Agent::ClaudeCode) else { return };
    let call = "head -c 70000000 /dev/zero > data.txt; head -c 70000000 /dev/zero > large.bin";
    home.prompt(&format!("[[shell {call}]] [[say large]]")).ok();
    let done: Value = rewound(&home, &["~1", "--files-only"]);
    let now = home.files("");
    let text = done.to_string();
    for name in ["data.txt", "mine.txt", "large.bin"] {
        let is_back = now.get(name) == files.get(name);
        let is_named = text.contains(name);
        assert!(is_back || is_named, "{name}: {}", done["summary"]);
    }
    let is_whole = now == files;
    let summary = done["summary"].as_str().unwrap();
    assert!(is_whole || !summary.ends_with("the files are as they were then"), "{summary}");
}

/// The daemon takes no document while a call runs: the author of its changes is not known, and each
/// line states it.
#[test]
fn a_path_that_may_have_changed_before_a_late_capture_says_so() {
    let Some((home, _)) = recorded(Agent::ClaudeCode) else { return };
    home.prompt("[[shell echo one > one.txt]] [[say done]]").ok();
    let daemons = home.running(&["agent", "serve"]);
    let signal = |signal: Signal| {
        for process in &daemons {
            let pid = i32::try_from(*process).ok().and_then(Pid::from_raw).unwrap();
            kill_process(pid, signal).unwrap();
        }
    };
    let session = session(&home);
    signal(Signal::STOP);
    home.resume(&session, "[[shell echo 2 > data.txt]] [[say done]]").ok();
    signal(Signal::CONT);
    let plan = |prompt: &str| {
        let place = format!("{session}@{prompt}");
        home.milepost(&["rewind", &place, "--dry-run"]).ok().out
    };
    let said = plan("prompt-1");
    let line = said.lines().find(|line| line.starts_with("= data.txt")).unwrap_or(&said);
    assert!(line.contains("late") && line.contains("--theirs data.txt"), "{said}");
    // The capture at the second prompt may have files from after its call.
    for said in [said, plan("prompt-2")] {
        let is_said = said.contains("came late: files may have changed before");
        assert!(is_said && !said.contains("as they were then"), "{said}");
    }
}

/// The project has a store of its own, and sessions are in another one: the printed command names
/// it.
#[test]
fn the_printed_undo_works_where_it_was_printed_also_with_two_stores() {
    let Some((home, _)) = recorded(Agent::ClaudeCode) else { return };
    home.milepost(&["init"]).ok();
    home.prompt("[[shell echo 2 > data.txt]] [[say done]]").ok();
    let said = home.milepost(&["rewind", "~1", "--files-only", "--yes"]).ok().out;
    assert_eq!(home.text("data.txt").as_deref(), Some("alpha\n"));
    let line = said.lines().rfind(|line| line.contains("takes this back")).unwrap();
    let command = line.split('`').nth(1).unwrap();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    assert_eq!(words.first(), Some(&"--store"), "{line}");
    home.milepost(&words).ok();
    assert_eq!(home.text("data.txt").as_deref(), Some("2\n"));
    let tasks = home.milepost(&["tasks"]).ok();
    assert!(tasks.err.contains("--store"), "{tasks:#?}");
}
