//! Runs of every format, whole and damaged: an import that says that it is complete has left
//! nothing out, its counts are those of the log, and the same input again adds nothing.

use std::path::Path;

use milepost::{Body, Engine, Options};
use milepost_formats::input::RunInput;
use milepost_formats::record::{RecordOptions, RecordReport, record};
use milepost_formats::{Note, Progress};
use serde_json::{Value, json};

const SESSION: &str = "11111111-1111-4111-8111-111111111111";
/// A text of each message: `word0` to `word3`.
const WORDS: usize = 4;

/// The notes of an import.
#[derive(Default)]
struct Notes(Vec<String>);

impl Progress for Notes {
    fn note(&mut self, note: Note<'_>) {
        self.0.push(format!("{note:?}"));
    }
}

/// A run, and whether a second import adds its lines again.
struct Sample {
    name: &'static str,
    records: Vec<Value>,
    /// One document of all records, or `None` for lines.
    document: Option<fn(&[Value]) -> Value>,
    is_appended: bool,
}

fn role(at: usize) -> &'static str {
    if at.is_multiple_of(2) { "user" } else { "assistant" }
}

fn time(at: usize) -> String {
    format!("2026-03-01T10:00:{at:02}.000Z")
}

fn claude() -> Vec<Value> {
    let id = |at: usize| format!("00000000-0000-4000-8000-00000000000{at}");
    let line = |at: usize| {
        let message = match role(at) {
            "user" => json!({"role": "user", "content": format!("word{at}")}),
            _ => json!({"id": format!("msg{at}"), "type": "message", "role": "assistant",
                "model": "m", "content": [{"type": "text", "text": format!("word{at}")}],
                "usage": {"input_tokens": 1, "output_tokens": 2}}),
        };
        json!({"parentUuid": at.checked_sub(1).map(id), "isSidechain": false,
            "userType": "external", "cwd": "/x", "sessionId": SESSION, "version": "2.1.330",
            "type": role(at), "message": message, "uuid": id(at), "timestamp": time(at)})
    };
    (0..WORDS).map(line).collect()
}

fn codex() -> Vec<Value> {
    let line = |at: usize, kind: &str, payload: Value| {
        let timestamp = time(at);
        json!({"timestamp": timestamp, "type": kind, "payload": payload})
    };
    let first = line(0, "session_meta", json!({"id": SESSION, "cwd": "/x", "cli_version": "0"}));
    let said = |at: usize| {
        let kind = if role(at) == "user" { "input_text" } else { "output_text" };
        let content = json!([{"type": kind, "text": format!("word{at}")}]);
        line(at, "response_item", json!({"type": "message", "role": role(at), "content": content}))
    };
    [first].into_iter().chain((0..WORDS).map(said)).collect()
}

fn gemini_messages() -> Vec<Value> {
    let line = |at: usize| {
        let (kind, content) = match role(at) {
            "user" => ("user", json!([{"text": format!("word{at}")}])),
            _ => ("gemini", json!(format!("word{at}"))),
        };
        json!({"id": format!("m{at}"), "timestamp": time(at), "type": kind, "content": content})
    };
    (0..WORDS).map(line).collect()
}

fn gemini() -> Vec<Value> {
    let first = json!({"sessionId": SESSION, "projectHash": "h", "kind": "main"});
    [first].into_iter().chain(gemini_messages()).collect()
}

fn qwen() -> Vec<Value> {
    let line = |at: usize| {
        let name = if role(at) == "user" { "user" } else { "model" };
        json!({"uuid": format!("u{at}"), "parentUuid": at.checked_sub(1).map(|at| format!("u{at}")),
            "sessionId": SESSION, "timestamp": time(at), "type": role(at), "cwd": "/x",
            "version": "0", "message": {"role": name, "parts": [{"text": format!("word{at}")}]}})
    };
    (0..WORDS).map(line).collect()
}

fn copilot() -> Vec<Value> {
    let line = |at: usize, kind: &str, data: Value| {
        json!({"type": kind, "data": data, "id": format!("e{at}"), "timestamp": time(at),
            "parentId": at.checked_sub(1).map(|at| format!("e{at}"))})
    };
    let start = json!({"sessionId": SESSION, "version": 1, "producer": "copilot-agent",
        "copilotVersion": "1", "selectedModel": "m", "context": {"cwd": "/x"}});
    let said = |at: usize| {
        let text = format!("word{at}");
        match role(at) {
            "user" => line(
                at + 1,
                "user.message",
                json!({"content": text, "transformedContent": text, "messageId": format!("m{at}")}),
            ),
            _ => line(
                at + 1,
                "assistant.message",
                json!({"messageId": format!("m{at}"), "content": text, "toolRequests": []}),
            ),
        }
    };
    [line(0, "session.start", start)].into_iter().chain((0..WORDS).map(said)).collect()
}

fn messages() -> Vec<Value> {
    (0..WORDS).map(|at| json!({"role": role(at), "content": format!("word{at}")})).collect()
}

fn events() -> Vec<Value> {
    let line =
        |at: usize| json!({"kind": "message", "role": role(at), "content": format!("word{at}")});
    (0..WORDS).map(line).collect()
}

fn turns() -> Vec<Value> {
    let turn = |at: usize| {
        json!({"action": format!("ls word{at}"), "observation": "o", "thought": "t",
            "response": "r", "state": "{}"})
    };
    (0..WORDS).map(turn).collect()
}

fn results() -> Vec<Value> {
    let result = |at: usize| {
        json!({"task_id": at, "reward": 1.0, "info": {}, "trial": 0,
            "traj": [{"role": "user", "content": format!("word{at}")}]})
    };
    (0..WORDS).map(result).collect()
}

fn opencode() -> Vec<Value> {
    let said = |at: usize| {
        let time = json!({"created": 1_772_359_200_000_u64, "completed": 1_772_359_200_001_u64});
        let (id, text) = (format!("msg_{at}"), format!("word{at}"));
        json!({"info": {"id": id, "sessionID": "ses_1", "role": role(at), "time": time,
                "finish": "stop"},
            "parts": [{"id": format!("prt_{at}"), "sessionID": "ses_1", "messageID": id,
                "type": "text", "text": text}]})
    };
    (0..WORDS).map(said).collect()
}

fn samples() -> Vec<Sample> {
    let lines = |name, records| Sample { name, records, document: None, is_appended: false };
    let document = |name, records, document: fn(&[Value]) -> Value| Sample {
        name,
        records,
        document: Some(document),
        is_appended: false,
    };
    vec![
        Sample { is_appended: true, ..lines("events.jsonl", events()) },
        lines("claude.jsonl", claude()),
        lines("codex.jsonl", codex()),
        lines("gemini.jsonl", gemini()),
        lines("qwen.jsonl", qwen()),
        lines("copilot.jsonl", copilot()),
        lines("messages.jsonl", messages()),
        document("messages.json", messages(), |all| json!(all)),
        document("chat.json", messages(), |all| json!({"model": "m", "messages": all})),
        document("airline.json", results(), |all| json!(all)),
        document(
            "steps.traj",
            turns(),
            |all| json!({"environment": "x", "trajectory": all, "history": [], "info": {}}),
        ),
        document("session-1.json", gemini_messages(), |all| {
            json!({"sessionId": SESSION, "projectHash": "h", "startTime": time(0),
                "lastUpdated": time(0), "messages": all})
        }),
        // opencode writes `info` first; the order of fields is that of their names.
        document("opencode.json", opencode(), |all| {
            json!({"info": {"id": "ses_1", "projectID": "p", "directory": "/x", "title": "t",
                "version": "1", "time": {"created": 1, "updated": 1}}, "messages": all})
        }),
        document("paused.json", messages(), |all| {
            json!({"task_id": "t1", "run_control_state": "paused", "paused_at": 1.0,
                "pause_context": {"messages": all}})
        }),
    ]
}

impl Sample {
    fn text(&self, records: &[Value]) -> String {
        match self.document {
            Some(document) => format!("{:#}\n", document(records)),
            None => records.iter().map(|record| format!("{record}\n")).collect(),
        }
    }
}

/// Imports a file. Returns its report, or `None` if it is refused, and the notes.
fn import(engine: &Engine, path: &Path) -> (Option<RecordReport>, Vec<String>) {
    let options = RecordOptions {
        user: "ana".to_owned(),
        task: None,
        stem: None,
        format: None,
        strict: false,
        acknowledge: false,
        allow_unknown: false,
        event_max: 1 << 20,
    };
    let mut notes = Notes::default();
    let input = RunInput::open(path);
    let done = input.and_then(|input| record(engine, input, &options, &mut notes));
    match done {
        Ok(report) => (Some(report), notes.0),
        Err(error) => (None, [notes.0, vec![error.to_string()]].concat()),
    }
}

/// The texts of a task's log, and its numbers of events and of checkpoints.
fn log(engine: &Engine, id: &str) -> (String, u64, u64) {
    let (mut text, mut events, mut marks) = (String::new(), 0, 0);
    for info in engine.task(id).unwrap().lineages().unwrap() {
        let lineage = engine.task(id).unwrap().lineage_named(info.id).unwrap();
        let (begin, head) = (info.parent.map_or(0, |at| at.offset), lineage.head().unwrap().next);
        for event in lineage.read(begin..head).unwrap() {
            match event.unwrap().body.unwrap() {
                Body::LineageOpened(_) => {}
                Body::CheckpointMarked(_) => marks += 1,
                body => {
                    text.push_str(&body.to_json().unwrap());
                    events += 1;
                }
            }
        }
    }
    (text, events, marks)
}

/// Imports bytes twice. Nothing is left out in silence; `is_damaged` is not complete.
fn check(sample: &Sample, case: &str, bytes: &[u8], is_damaged: bool) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(sample.name);
    std::fs::write(&path, bytes).unwrap();
    let engine = Engine::in_memory(Options::default()).unwrap();
    let (report, notes) = import(&engine, &path);
    let case = format!("{}: {case}: {report:?} {notes:?}", sample.name);
    let is_complete = report.as_ref().is_some_and(RecordReport::is_complete);
    let tasks = engine.query().tasks(&milepost::query::TaskQuery::default()).unwrap().items;
    let mut said = String::new();
    for task in &tasks {
        let (text, events, checkpoints) = log(&engine, &task.id);
        said.push_str(&text);
        if let Some(report) = &report {
            let own = report.tasks.iter().find(|own| own.task == task.id);
            let own = own.unwrap_or_else(|| panic!("{case}: {} is not reported", task.id));
            assert_eq!((own.events, own.checkpoints), (events, checkpoints), "{case}");
        }
    }
    if is_complete {
        assert!(!tasks.is_empty(), "{case}: nothing is recorded");
        for word in (0..WORDS).map(|at| format!("word{at}")) {
            let is_there = String::from_utf8_lossy(bytes).contains(&word);
            assert!(!is_there || said.contains(&word), "{case}: {word} is left out");
        }
    } else {
        assert!(!notes.is_empty(), "{case}: nothing says why");
    }
    assert!(!is_damaged || !is_complete, "{case}: the damage is not told");
    if sample.is_appended || report.is_none() {
        return;
    }
    let (again, _) = import(&engine, &path);
    for task in again.iter().flat_map(|report| &report.tasks) {
        assert_eq!((task.events, task.checkpoints), (0, 0), "{case}: again");
    }
    let after: String = tasks.iter().map(|task| log(&engine, &task.id).0).collect();
    assert_eq!(after, said, "{case}: again");
}

#[test]
fn an_import_of_any_format_that_is_complete_has_left_nothing_out() {
    for sample in samples() {
        let text = sample.text(&sample.records);
        check(&sample, "whole", text.as_bytes(), false);
        check(&sample, "CRLF", text.replace('\n', "\r\n").as_bytes(), false);
        check(&sample, "byte order mark", format!("\u{feff}{text}").as_bytes(), false);
        check(&sample, "no line break", text.trim_end().as_bytes(), false);
        check(&sample, "more behind the end", format!("{text}garbage\n").as_bytes(), true);
        check(&sample, "empty", b"", true);
        let large = text.replace("word2", &format!("word2{}", "x".repeat(3 << 20)));
        check(&sample, "an event over the limit", large.as_bytes(), false);
        for at in 0..sample.records.len() {
            let with = |more: &[Value]| {
                let mut records = sample.records.clone();
                records.splice(at..at, more.iter().cloned());
                sample.text(&records)
            };
            let twice = with(&sample.records[at..=at]);
            check(&sample, "an entry twice", twice.as_bytes(), false);
            for odd in [json!({"unknown": 1}), json!(17), json!("x"), json!([]), Value::Null] {
                check(&sample, &format!("{odd} at {at}"), with(&[odd]).as_bytes(), false);
            }
        }
    }
}

#[test]
fn an_import_of_a_damaged_line_says_so_and_has_the_other_lines() {
    for sample in samples().into_iter().filter(|sample| sample.document.is_none()) {
        let lines: Vec<String> = sample.records.iter().map(Value::to_string).collect();
        for at in 0..lines.len() {
            let half = &lines[at][..lines[at].len() / 2];
            let behind = format!("{} garbage", lines[at]);
            for damage in [half, "not JSON", "17", "null", "[1]", &behind] {
                let mut damaged = lines.clone();
                damage.clone_into(&mut damaged[at]);
                let text = format!("{}\n", damaged.join("\n"));
                check(&sample, &format!("{damage} at {at}"), text.as_bytes(), true);
            }
        }
    }
}

#[test]
fn an_import_of_the_beginning_of_a_file_says_what_is_torn() {
    for sample in samples() {
        let text = sample.text(&sample.records);
        let text = text.trim_end();
        for end in (1..text.len()).step_by(7) {
            let last = text[..end].rsplit('\n').next().unwrap_or_default();
            let is_whole = |text: &str| serde_json::from_str::<Value>(text).is_ok();
            let is_torn = match sample.document {
                Some(_) => true,
                None => !last.trim().is_empty() && !is_whole(last),
            };
            check(&sample, &format!("cut at {end}"), &text.as_bytes()[..end], is_torn);
        }
    }
}
