//! Sessions of qwen-code.

use serde_json::{Value, json};

use crate::common::{Place, number};
use crate::sessions::{conversation, import_limited};

const SESSION: &str = "33333333-3333-4333-8333-333333333333";

/// The lines of a session.
#[derive(Default)]
struct Chat(Vec<Value>);

impl Chat {
    fn line(&mut self, uuid: &str, parent: Option<&str>, kind: &str, parts: Value) {
        let second = self.0.len();
        self.0.push(json!({
            "uuid": uuid, "parentUuid": parent, "sessionId": SESSION, "cwd": "/x", "type": kind,
            "timestamp": format!("2026-03-01T10:00:{second:02}.500Z"), "version": "0.15.10",
            "message": {"role": "x", "parts": parts},
        }));
    }

    /// A prompt with a call and an answer.
    fn turn(&mut self, name: &str, parent: Option<&str>) {
        let id = |part: &str| format!("{name}-{part}");
        let call = json!({"id": id("t"), "name": "shell", "args": {"command": "ls"}});
        let response = json!({"id": id("t"), "name": "shell", "response": {"output": "a b"}});
        self.line(name, parent, "user", json!([{"text": name}]));
        let system = json!({"uuid": id("s"), "parentUuid": name, "sessionId": SESSION,
            "type": "system", "systemPayload": {}});
        self.0.push(system);
        let parts = json!([{"text": "on it"}, {"functionCall": call}]);
        self.line(&id("a"), Some(&id("s")), "assistant", parts);
        let usage = json!({"promptTokenCount": 100, "candidatesTokenCount": 20});
        self.0.last_mut().unwrap()["usageMetadata"] = usage;
        let parts = json!([{"functionResponse": response}]);
        self.line(&id("r"), Some(&id("a")), "tool_result", parts);
        self.line(&id("z"), Some(&id("r")), "assistant", json!([{"text": id("done")}]));
    }

    fn save(&self, place: &Place) {
        let text: String = self.0.iter().map(|line| format!("{line}\n")).collect();
        place.write(&format!("{SESSION}.jsonl"), text);
    }
}

fn import(place: &Place) -> [u64; 2] {
    let said = place.json(&format!("import {SESSION}.jsonl"));
    assert_eq!(said["tasks"][0]["id"], SESSION);
    assert_eq!(said["tasks"][0]["format"], "qwen-code");
    ["events", "checkpoints"].map(|name| number(&said["tasks"][0], name))
}

/// Texts of a turn.
fn told(name: &str) -> [String; 5] {
    let parts = ["{}", "on it", "call {}-t", "result {}-t", "{}-done"];
    parts.map(|part| part.replace("{}", name))
}

#[test]
fn a_chat_becomes_steps_and_a_longer_one_adds_its_lines() {
    let place = Place::new();
    let mut chat = Chat::default();
    chat.turn("one", None);
    chat.save(&place);
    // A step, five lines, two messages, a prompt, a call and its result.
    assert_eq!(import(&place), [11, 1]);
    assert_eq!(import(&place), [0, 0]);
    chat.turn("two", Some("one-z"));
    chat.save(&place);
    assert_eq!(import(&place), [12, 1]);
    assert_eq!(conversation(&place, SESSION), [told("one"), told("two")].concat());
    let tasks = place.items("tasks");
    assert_eq!((&tasks[0]["title"], &tasks[0]["usage"]["input"]), (&json!("one"), &json!(200)));
    place.say(&format!("restore {SESSION}@two")).ok();
    assert_eq!(conversation(&place, SESSION), told("one"));
    assert_eq!(place.json("verify")["faults"], json!([]));
}

#[test]
fn a_prompt_behind_an_earlier_line_is_a_lineage() {
    let place = Place::new();
    let mut chat = Chat::default();
    chat.turn("one", None);
    chat.turn("two", Some("one-z"));
    chat.turn("otherwise", Some("one-z"));
    chat.save(&place);
    import(&place);
    assert_eq!(conversation(&place, SESSION), [told("one"), told("otherwise")].concat());
    let before = conversation(&place, &format!("{SESSION}/0"));
    assert_eq!(before, [told("one"), told("two")].concat());
}

#[test]
fn lines_that_cannot_be_read_are_named_and_the_rest_goes_in() {
    let place = Place::new();
    let mut chat = Chat::default();
    chat.turn("one", None);
    chat.0.push(json!([1]));
    chat.0.push(json!({"uuid": 7, "type": {}, "message": {"parts": {}}}));
    chat.save(&place);
    let ran = place.say(&format!("import {SESSION}.jsonl"));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains(".jsonl:6: not a JSON object"), "{}", ran.err);
    assert_eq!(conversation(&place, SESSION), told("one"));
}

#[test]
fn a_line_over_the_limit_is_left_out_by_each_import() {
    let place = Place::new();
    let mut chat = Chat::default();
    chat.turn("one", None);
    let parts = json!([{"functionResponse": {"id": "one-t", "response": "x".repeat(20_000)}}]);
    chat.0[3]["message"]["parts"] = parts;
    chat.save(&place);
    let file = format!("{SESSION}.jsonl");
    let line = format!("{file}:4: an event of");
    assert_eq!(import_limited(&place, &file, &line), [9, 1]);
    assert_eq!(import_limited(&place, &file, &line), [0, 1]);
    chat.turn("two", Some("one-z"));
    chat.save(&place);
    assert_eq!(import_limited(&place, &file, &line), [12, 1]);
    let all: Vec<String> =
        told("one").into_iter().filter(|said| said != "result one-t").chain(told("two")).collect();
    assert_eq!(conversation(&place, SESSION), all);
}

#[test]
fn documents_among_the_sessions_in_a_folder_are_none() {
    let place = Place::new();
    let mut chat = Chat::default();
    chat.turn("one", None);
    chat.save(&place);
    std::fs::create_dir_all(place.path("projects/x/memory")).unwrap();
    let from = place.path(&format!("{SESSION}.jsonl"));
    std::fs::rename(from, place.path(&format!("projects/x/{SESSION}.jsonl"))).unwrap();
    let cursor = json!({"sessionId": SESSION, "processedOffset": 1, "updatedAt": "x"});
    let cursor = serde_json::to_string_pretty(&cursor).unwrap();
    place.write("projects/x/memory/extract-cursor.json", cursor);
    let ran = place.say("import projects --json");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("projects: 1 other file in it without a run or an export"), "{ran:?}");
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((said["tasks"].as_array().unwrap().len(), number(&said, "bad_lines")), (1, 0));
    place.say("import projects/x/memory --format claude-code").failed(1, "no session in it");
}
