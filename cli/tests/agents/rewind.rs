//! The way back: changes of agents to files and conversations, undone by `milepost rewind`.

use std::collections::BTreeMap;

use milepost_agent_tests::{Agent, AgentHome};
use serde_json::Value;

use crate::{home, log, of_kind, rewound, session};

const FIRST: &str = "first [[write poem.txt roses]] [[say first done]]";
const SECOND: &str = "second [[shell sed -i s/alpha/ALPHA/ data.txt; rm mine.txt; \
    echo new > new.txt]] [[say second done]]";

/// A part of the sentence for a model whose files were restored.
pub const TOLD: &str = "took the files of this project back";

/// Returns the files of the project.
fn files(home: &AgentHome) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(home.project("")).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.path().is_file());
    let name = |entry: &std::fs::DirEntry| entry.file_name().into_string().unwrap();
    files.map(|entry| (name(&entry), std::fs::read_to_string(entry.path()).unwrap())).collect()
}

/// A session of two prompts. The user edits files between them.
fn two_prompts(agent: Agent) -> Option<(AgentHome, String)> {
    let home = home(agent)?;
    home.record_hooks();
    home.write("data.txt", "alpha\n");
    home.write("mine.txt", "mine\n");
    home.write("notes.md", "notes\n");
    home.prompt(FIRST).ok();
    let session = session(&home);
    home.write("notes.md", "notes\nher line\n");
    home.write("hers.txt", "hers\n");
    home.resume(&session, SECOND).ok();
    Some((home, session))
}

/// Files that the shell changed, deleted or made are as before the prompt, the user's changes stay,
/// and an undo brings all back.
pub fn files_go_back(agent: Agent) {
    let Some((home, session)) = two_prompts(agent) else { return };
    let after = files(&home);
    let listed = home.milepost(&["rewind", &session, "--list"]).ok().out;
    assert!(listed.contains("1 call     1 file        first"), "{listed}");
    // The edits of the user between the prompts are of neither.
    assert!(listed.contains("1 call     3 files       second"), "{listed}");
    let plan = home.milepost(&["rewind", "~1", "--dry-run"]).ok().out;
    for part in ["prompt-2", "data.txt", "mine.txt", "new.txt"] {
        assert!(plan.contains(part), "{plan}");
    }
    assert!(!plan.contains("notes.md") && !plan.contains("hers.txt"), "{plan}");
    assert_eq!(files(&home), after, "a dry run changes nothing");
    let sessions = home.session_files();
    rewound(&home, &["~1"]);
    let now = files(&home);
    let text = |name: &str| now.get(name).map(String::as_str);
    assert_eq!(text("data.txt"), Some("alpha\n"));
    assert_eq!(text("mine.txt"), Some("mine\n"));
    assert_eq!(text("new.txt"), None);
    assert_eq!(text("notes.md"), Some("notes\nher line\n"));
    assert_eq!(text("hers.txt"), Some("hers\n"));
    assert!(text("poem.txt").is_some());
    home.milepost(&["undo", &session]).ok();
    assert_eq!(files(&home), after);
    assert_eq!(home.session_files(), sessions, "a session file that was not used is removed");
}

/// The model's next request has nothing from after the point, and later events are in the rewound
/// task.
pub fn conversation_goes_back(agent: Agent) {
    let Some((home, session)) = two_prompts(agent) else { return };
    let new = rewound(&home, &["~1"])["session"].as_str().unwrap().to_owned();
    let so_far = home.requests().len();
    let run = home.resume(&new, "third [[write three.txt x]] [[say third done]]").ok();
    assert!(run.out.contains("third done"), "{run:#?}");
    let requests = home.requests();
    let request = requests[so_far..].iter().rfind(|request| request.has_tools).unwrap();
    for text in ["first", "first done", "third"] {
        assert!(request.says(text), "{text}");
    }
    let is_behind = |text: &str| requests[so_far..].iter().any(|request| request.says(text));
    assert!(!is_behind("ALPHA") && !is_behind("second done"));
    let tasks: Value = serde_json::from_str(&home.milepost(&["tasks", "--json"]).ok().out).unwrap();
    assert_eq!(tasks["items"].as_array().unwrap().len(), 1, "{tasks:#}");
    let log = home.milepost(&["transcript", &session]).ok().out;
    assert!(log.contains("third done") && !log.contains("second done"), "{log}");
    // The second way back is from there.
    rewound(&home, &["~1"]);
    assert_eq!(home.text("three.txt"), None);
    assert_eq!(home.text("data.txt").as_deref(), Some("alpha\n"));
}

#[test]
fn files_of_claude_code_go_back_to_before_a_prompt() {
    files_go_back(Agent::ClaudeCode);
}

#[test]
fn files_of_codex_go_back_to_before_a_prompt() {
    files_go_back(Agent::Codex);
}

#[test]
fn files_of_gemini_cli_go_back_to_before_a_prompt() {
    files_go_back(Agent::GeminiCli);
}

#[test]
fn a_conversation_of_claude_code_goes_back_to_before_a_prompt() {
    conversation_goes_back(Agent::ClaudeCode);
}

#[test]
fn a_conversation_of_codex_goes_back_to_before_a_prompt() {
    conversation_goes_back(Agent::Codex);
}

#[test]
fn a_conversation_of_gemini_cli_goes_back_to_before_a_prompt() {
    conversation_goes_back(Agent::GeminiCli);
}

/// A path that the agent and the user changed stays and is named, without a question; all others go
/// back. A dry run says the same.
#[test]
fn a_path_that_both_changed_stays_and_is_named() {
    let Some((home, _)) = two_prompts(Agent::ClaudeCode) else { return };
    home.write("data.txt", "ALPHA\nher line\n");
    let dry = home.milepost(&["rewind", "~1", "--dry-run", "--json"]).ok().out;
    let dry: Value = serde_json::from_str(&dry).unwrap();
    assert_eq!(dry["stay"], serde_json::json!(["data.txt"]), "{dry:#}");
    let done = rewound(&home, &["~1"]);
    assert_eq!(done["stay"], dry["stay"]);
    assert_eq!(home.text("data.txt").as_deref(), Some("ALPHA\nher line\n"));
    assert_eq!(home.text("mine.txt").as_deref(), Some("mine\n"));
    assert_eq!(home.text("new.txt"), None);
}

/// A mark of the user between two prompts is in the list, and files and conversation go back to it.
/// A mark within an answer has files, and no conversation ends there.
#[test]
fn a_mark_of_the_user_is_listed_and_gone_back_to() {
    let Some(home) = home(Agent::ClaudeCode) else { return };
    home.record_hooks();
    home.write("data.txt", "alpha\n");
    home.prompt(FIRST).ok();
    let session = session(&home);
    home.milepost(&["mark", &session, "good"]).ok();
    home.resume(&session, SECOND.replace("; rm mine.txt", "").as_str()).ok();
    let listed = home.milepost(&["rewind", &session, "--list"]).ok().out;
    let place = |part: &str| listed.find(part).unwrap_or_else(|| panic!("{part}: {listed}"));
    assert!(place("prompt-1") < place("@good") && place("@good") < place("prompt-2"), "{listed}");
    let done = rewound(&home, &["@good"]);
    assert_eq!((&done["to"], &done["stay"]), (&"good".into(), &serde_json::json!([])));
    assert_eq!((home.text("data.txt").as_deref(), home.text("new.txt")), (Some("alpha\n"), None));
    assert!(home.text("poem.txt").is_some() && done["prompt"].to_string().contains("second"));
    let new = done["session"].as_str().unwrap();
    let so_far = home.requests().len();
    home.resume(new, "third [[say third done]]").ok();
    let requests = home.requests();
    assert!(requests[so_far..].iter().any(|request| request.says("first done")));
    assert!(!requests[so_far..].iter().any(|request| request.says("second done")));
    let call = of_kind(&log(&home, &session), "tool_returned")[0]["offset"].clone();
    let at = format!("{session}@{call}");
    home.milepost(&["mark", &at, "half"]).ok();
    let half = home.milepost(&["rewind", "@half", "--yes"]);
    assert!(half.code == Some(1) && half.err.contains("--files-only"), "{half:#?}");
    let done = rewound(&home, &["@half", "--files-only"]);
    assert_eq!(done["command"], Value::Null, "{done:#}");
    let none = home.milepost(&["rewind", "@none", "--yes"]);
    assert!(none.err.contains("no such prompt or mark"), "{none:#?}");
}

/// Agents refuse a session without a message: there is no file, and a new session is begun.
#[test]
fn before_the_first_prompt_there_is_no_conversation() {
    let Some((home, session)) = two_prompts(Agent::ClaudeCode) else { return };
    let (after, sessions) = (files(&home), home.session_files());
    let done = rewound(&home, &["prompt-1"]);
    assert_eq!((&done["session"], &done["command"]), (&Value::Null, &"claude".into()));
    assert_eq!((home.text("poem.txt"), home.text("new.txt")), (None, None));
    assert_eq!(home.session_files(), sessions);
    home.milepost(&["undo", &session]).ok();
    assert_eq!(files(&home), after);
}

#[test]
fn files_and_conversation_go_back_each_alone() {
    let Some((home, session)) = two_prompts(Agent::ClaudeCode) else { return };
    let after = files(&home);
    let done = rewound(&home, &["~1", "--conversation-only"]);
    assert!(done["session"].is_string());
    assert_eq!(files(&home), after);
    let sessions = home.session_files();
    let done = rewound(&home, &["prompt-1", "--files-only"]);
    assert_eq!(done["command"], Value::Null);
    assert_eq!(home.text("poem.txt"), None);
    assert_eq!(home.session_files(), sessions);
    let so_far = home.requests().len();
    home.resume(&session, "again [[say again done]]").ok();
    assert!(home.requests()[so_far..].iter().any(|request| request.says(TOLD)));
}

/// An agent that runs `rewind` gets the plan, and the command for its user.
#[test]
fn an_agent_takes_nothing_back() {
    let Some((home, _)) = two_prompts(Agent::ClaudeCode) else { return };
    let after = files(&home);
    let mut command = home.plain(std::path::Path::new(env!("CARGO_BIN_EXE_milepost")));
    command.args(["rewind", "~1", "--yes"]).env("CLAUDECODE", "1");
    let run = home.run(command);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(run.out.contains("data.txt") && run.err.contains("the user goes back"), "{run:#?}");
    assert_eq!(files(&home), after);
}

/// The session from before the rewind continues: its model is told, its work is recorded where its
/// conversation is, and the new session stays where the rewind went.
fn the_old_session_continues(agent: Agent) {
    let Some((home, session)) = two_prompts(agent) else { return };
    let new = rewound(&home, &["~1"])["session"].as_str().unwrap().to_owned();
    let so_far = home.requests().len();
    home.resume(&session, "old again [[write four.txt x]] [[say fourth done]]").ok();
    let is_told = |from: usize| home.requests()[from..].iter().any(|request| request.says(TOLD));
    assert!(is_told(so_far), "the model of {agent:?} is told");
    let log = home.milepost(&["transcript", &session]).ok().out;
    assert!(log.contains("second done") && log.contains("fourth done"), "{log}");
    let so_far = home.requests().len();
    home.resume(&new, "new again [[write five.txt x]] [[say fifth done]]").ok();
    assert!(!home.requests()[so_far..].iter().any(|request| request.says("second done")));
    let log = home.milepost(&["transcript", &session]).ok().out;
    assert!(log.contains("fifth done") && !log.contains("fourth done"), "{log}");
}

#[test]
fn the_old_session_of_claude_code_continues_after_a_rewind() {
    the_old_session_continues(Agent::ClaudeCode);
}

#[test]
fn the_old_session_of_codex_continues_after_a_rewind() {
    the_old_session_continues(Agent::Codex);
}

#[test]
fn the_old_session_of_gemini_cli_continues_after_a_rewind() {
    the_old_session_continues(Agent::GeminiCli);
}
