//! Session files that another program wrote: an agent continues from them, and tells the model
//! nothing that is not in them.
//!
//! The forms here have the fields that docs/AGENTS.md lists, and no others.

use std::fs;
use std::path::PathBuf;

use milepost_agent_tests::{Agent, AgentHome};
use serde_json::{Value, json};

use crate::{home, session};

/// The time in the name of a new file, which is not that of its session.
const TIME: &str = "2026-01-01T00-00";

/// Cuts a session of two prompts before the second one, under a new id, and says a third prompt.
fn continues(agent: Agent, new: &str, cut: fn(&[Value], &str) -> Vec<Value>) {
    let Some(home) = home(agent) else { return };
    home.record_hooks();
    home.prompt("[[shell echo one > one.txt]] [[say first done]]").ok();
    let id = session(&home);
    home.resume(&id, "[[shell echo quince > two.txt]] [[say second done]]").ok();
    let files = home.session_files();
    // Gemini CLI has a second file without a message, if the minute has changed.
    let read = |file: &PathBuf| (file.clone(), fs::read_to_string(file).unwrap());
    let found = files.iter().map(read).find(|(_, text)| text.contains("quince"));
    let (old, before) = found.unwrap();
    let lines: Vec<Value> =
        before.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_behind = |line: &Value| line.to_string().contains("quince");
    let at = lines.iter().position(is_behind).unwrap();
    let text: String = cut(&lines[..at], new).iter().map(|line| format!("{line}\n")).collect();
    assert!(!text.contains(&id), "the id is a new one everywhere: {text}");
    let name = match agent {
        Agent::ClaudeCode => format!("{new}.jsonl"),
        Agent::Codex => format!("rollout-{TIME}-00-{new}.jsonl"),
        _ => format!("session-{TIME}-{}.jsonl", &new[..8]),
    };
    fs::write(old.with_file_name(name), text).unwrap();
    let so_far = home.requests().len();
    let run = home.resume(new, "third [[say third done]]").ok();
    assert!(run.out.contains("third done"), "{run:#?}");
    let requests = home.requests();
    let request = requests[so_far..].iter().rfind(|request| request.has_tools).unwrap();
    for text in ["echo one", "first done", "third"] {
        assert!(request.says(text), "{text}");
    }
    for text in ["quince", "second done"] {
        assert!(!requests[so_far..].iter().any(|request| request.says(text)), "{text}");
    }
    let is_deleted = files.len() > 1 && !old.exists();
    assert!(is_deleted || fs::read_to_string(&old).unwrap() == before, "it is as it was");
    assert_eq!(home.events().last().unwrap().session, new);
    let log = home.milepost(&["log", new, "--json"]).ok().out;
    assert!(log.contains("third done"), "the daemon records what continues");
    if agent == Agent::GeminiCli {
        loses_what_continued(&home, new);
    }
}

/// Gemini CLI deletes a session that continued in another minute, at its next start.
fn loses_what_continued(home: &AgentHome, id: &str) {
    let of = |files: Vec<PathBuf>| {
        let end = format!("-{}.jsonl", &id[..8]);
        files.into_iter().filter(|file| file.to_string_lossy().ends_with(&end)).count()
    };
    assert_eq!(of(home.session_files()), 2, "docs/AGENTS.md has a second file");
    home.prompt("[[say another done]]").ok();
    assert_eq!(of(home.session_files()), 0, "docs/AGENTS.md says that both are deleted");
}

fn cut_of_claude_code(lines: &[Value], id: &str) -> Vec<Value> {
    let mut parent = Value::Null;
    let messages =
        lines.iter().filter(|line| line["type"] == "user" || line["type"] == "assistant");
    let line = |line: &Value| {
        let message =
            json!({"role": line["message"]["role"], "content": line["message"]["content"]});
        let parent = std::mem::replace(&mut parent, line["uuid"].clone());
        json!({"type": line["type"], "uuid": line["uuid"], "parentUuid": parent, "sessionId": id,
            "message": message})
    };
    messages.map(line).collect()
}

fn cut_of_codex(lines: &[Value], id: &str) -> Vec<Value> {
    let old = &lines[0]["payload"];
    let mut meta = json!({"id": id});
    for name in ["timestamp", "cwd", "originator", "cli_version", "source", "model_provider"] {
        meta[name] = old[name].clone();
    }
    let first =
        json!({"timestamp": lines[0]["timestamp"], "type": "session_meta", "payload": meta});
    let items = lines.iter().filter(|line| line["type"] == "response_item");
    let item = |line: &Value| {
        let mut payload = line["payload"].clone();
        payload.as_object_mut().unwrap().remove("internal_chat_message_metadata_passthrough");
        json!({"timestamp": line["timestamp"], "type": "response_item", "payload": payload})
    };
    std::iter::once(first).chain(items.map(item)).collect()
}

fn cut_of_gemini_cli(lines: &[Value], id: &str) -> Vec<Value> {
    let mut first = json!({"sessionId": id, "projectHash": "any", "kind": "main"});
    for name in ["startTime", "lastUpdated"] {
        first[name] = lines[0][name].clone();
    }
    let mut all = vec![first];
    for line in lines.iter().filter(|line| line.get("content").is_some()) {
        let mut message = json!({});
        for name in ["id", "timestamp", "type", "content", "toolCalls"] {
            if let Some(value) = line.get(name) {
                message[name] = value.clone();
            }
        }
        // A message that got the results of its calls is there again, whole.
        all.retain(|line| line["id"] != message["id"]);
        all.push(message);
    }
    all
}

#[test]
fn claude_code_continues_from_a_file_that_was_written_for_it() {
    let new = "5a1e0c3e-1111-4222-8333-00000000000a";
    continues(Agent::ClaudeCode, new, cut_of_claude_code);
}

#[test]
fn codex_continues_from_a_file_that_was_written_for_it() {
    continues(Agent::Codex, "01a21938-9289-7851-91a6-00000000000a", cut_of_codex);
}

#[test]
fn gemini_cli_continues_from_a_file_that_was_written_for_it() {
    let new = "5a1e0c3e-1111-4222-8333-00000000000a";
    continues(Agent::GeminiCli, new, cut_of_gemini_cli);
}
