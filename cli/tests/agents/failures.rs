//! Hooks that fail: the agent works on as if there were none.

use std::fs;

use milepost_agent_tests::{Agent, AgentHome};
use milepost_agents::Guard;

use crate::home;

/// A program that reads the document, says something and fails with a code.
fn failing(home: &AgentHome, code: i32) -> std::path::PathBuf {
    let text = format!("cat > /dev/null; echo a word; echo a word >&2; exit {code}");
    home.script("stand-in", &text)
}

/// Says a prompt that makes a file, and returns whether the file is there.
fn makes_a_file(home: &AgentHome, name: &str) -> bool {
    let run = home.prompt(&format!("[[shell echo it > {name}]] [[say done]]"));
    assert!(!run.is_late, "{run:#?}");
    home.text(name).is_some()
}

/// The program of the hooks is missing, or exits with any code: the agent works on.
fn works_on(agent: Agent) {
    let Some(home) = home(agent) else { return };
    home.install_hooks();
    home.replace_program(&home.path("bin/stand-in"));
    assert!(makes_a_file(&home, "missing.txt"));
    for code in [1, 2, 101] {
        failing(&home, code);
        assert!(makes_a_file(&home, &format!("{code}.txt")), "exit code {code}");
    }
}

/// A hook before a tool takes longer than the limit of the settings, which is 5 s.
pub fn works_on_behind_a_hook_that_hangs(agent: Agent, seconds: u32) {
    let Some(home) = home(agent) else { return };
    home.install_hooks();
    let text = format!("case \"$(cat)\" in *PreToolUse* | *BeforeTool*) sleep {seconds} ;; esac");
    let program = home.script("stand-in", &text);
    home.replace_program(&program);
    assert!(makes_a_file(&home, "a.txt"));
}

/// Without the guard, failing hooks refuse the tools of these agents: the guard prevents that.
fn refuses(agent: Agent, refusing: &[&str]) {
    let Some(home) = home(agent) else { return };
    home.install_hooks();
    let program = home.path("bin/stand-in");
    let guard = Guard::command(std::path::Path::new(env!("CARGO_BIN_EXE_milepost")), agent);
    let text = fs::read_to_string(home.settings_file()).unwrap();
    let bare = text.replace(&guard.unwrap(), program.to_str().unwrap());
    assert_ne!(bare, text);
    fs::write(home.settings_file(), bare).unwrap();
    let mut refused = Vec::new();
    if !makes_a_file(&home, "missing.txt") {
        refused.push("missing".to_owned());
    }
    for code in [1, 2, 101] {
        failing(&home, code);
        if !makes_a_file(&home, &format!("{code}.txt")) {
            refused.push(code.to_string());
        }
    }
    assert_eq!(refused, refusing, "docs/AGENTS.md has what agents do without the guard");
}

#[test]
fn claude_code_works_on_behind_hooks_that_fail() {
    works_on(Agent::ClaudeCode);
}

#[test]
fn codex_works_on_behind_hooks_that_fail() {
    works_on(Agent::Codex);
}

#[test]
fn gemini_cli_works_on_behind_hooks_that_fail() {
    works_on(Agent::GeminiCli);
}

#[test]
fn claude_code_works_on_behind_a_hook_that_hangs() {
    works_on_behind_a_hook_that_hangs(Agent::ClaudeCode, 600);
}

#[test]
fn codex_works_on_behind_a_hook_that_hangs() {
    works_on_behind_a_hook_that_hangs(Agent::Codex, 600);
}

#[test]
fn gemini_cli_works_on_when_a_hook_that_is_late_has_ended() {
    // At its limit it ends the shell alone, and waits for the program that has its output.
    works_on_behind_a_hook_that_hangs(Agent::GeminiCli, 7);
}

#[test]
fn claude_code_refuses_tools_for_exit_code_2_alone() {
    refuses(Agent::ClaudeCode, &["2"]);
}

#[test]
fn codex_refuses_tools_for_exit_code_2_alone() {
    refuses(Agent::Codex, &["2"]);
}

#[test]
fn gemini_cli_refuses_tools_where_a_hook_is_missing_or_panics() {
    refuses(Agent::GeminiCli, &["missing", "2", "101"]);
}
