//! Settings and projects: as before, after the hooks are removed.

use std::fs;
use std::path::Path;

use milepost_agent_tests::{Agent, AgentHome};

use crate::{home, kinds};

/// Hooks of others, in settings that are written as no program would write them.
fn others(agent: Agent) -> &'static str {
    match agent {
        Agent::ClaudeCode => concat!(
            "{ \"env\" : {\"LOUD\": \"1\"},\n\n\t\"hooks\": {\"PreToolUse\": [ ",
            "{\"matcher\": \"Write\", \"hooks\": [{\"type\": \"command\", \"command\": \":\"}]}]} }"
        ),
        Agent::Codex => concat!(
            "{\"hooks\":{\"Stop\":[{\"hooks\":[\n   {\"type\":\"command\",\"command\":\":\"}",
            "\n]}]}}\n\n"
        ),
        _ => concat!(
            "{\"security\":{\"auth\":{\"selectedType\":\"gemini-api-key\"}},\r\n",
            "  \"privacy\" : {\"usageStatisticsEnabled\":false},\r\n",
            "  \"hooks\": {\"AfterTool\":[{\"hooks\":[{\"type\":\"command\",\"command\":\":\"}]}]}}"
        ),
    }
}

/// Install, a session, uninstall: the settings are the original ones, byte for byte.
fn leaves_settings(agent: Agent) {
    let Some(home) = home(agent) else { return };
    let file = home.settings_file();
    let before = fs::read(&file).ok();
    session_with_hooks(&home, 1);
    assert_eq!(fs::read(&file).ok(), before, "{}", file.display());
    fs::write(&file, others(agent)).unwrap();
    session_with_hooks(&home, 2);
    assert_eq!(fs::read_to_string(&file).unwrap(), others(agent));
    // And nothing of ours is called any more.
    let so_far = home.documents().len();
    home.prompt("[[shell true]] [[say done]]").ok();
    assert_eq!(home.documents().len(), so_far);
}

fn session_with_hooks(home: &AgentHome, sessions: usize) {
    home.record_hooks();
    home.prompt("[[shell true]] [[say done]]").ok();
    home.uninstall_hooks();
    let ends = kinds(home).iter().filter(|kind| *kind == "ended").count();
    assert_eq!(ends, sessions, "{:?}", kinds(home));
}

#[test]
fn settings_of_claude_code_are_as_before() {
    leaves_settings(Agent::ClaudeCode);
}

#[test]
fn settings_of_codex_are_as_before() {
    leaves_settings(Agent::Codex);
}

#[test]
fn settings_of_gemini_cli_are_as_before() {
    leaves_settings(Agent::GeminiCli);
}

/// A project with Git: a session with hooks leaves no file there and no object in the repository.
fn leaves_the_project_clean(agent: Agent) {
    let Some(home) = home(agent) else { return };
    home.write("data.txt", "alpha\n");
    home.git(&["init", "--quiet"]);
    home.git(&["add", "."]);
    home.git(&["commit", "--quiet", "--message", "first"]);
    let before = objects(&home.project(".git/objects"));
    home.record_hooks();
    home.prompt("[[shell cat data.txt]] [[say done]]").ok();
    assert_eq!(kinds(&home).last().map(String::as_str), Some("ended"));
    assert_eq!(home.git(&["status", "--porcelain", "--ignored"]), "");
    home.uninstall_hooks();
    assert_eq!(home.git(&["status", "--porcelain", "--ignored"]), "");
    assert_eq!(objects(&home.project(".git/objects")), before);
}

fn objects(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        found.push(entry.path().display().to_string());
        if entry.path().is_dir() {
            found.extend(objects(&entry.path()));
        }
    }
    found.sort();
    found
}

#[test]
fn claude_code_leaves_a_project_with_git_clean() {
    leaves_the_project_clean(Agent::ClaudeCode);
}

#[test]
fn codex_leaves_a_project_with_git_clean() {
    leaves_the_project_clean(Agent::Codex);
}

#[test]
fn gemini_cli_leaves_a_project_with_git_clean() {
    leaves_the_project_clean(Agent::GeminiCli);
}
