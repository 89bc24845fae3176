//! Sessions of Gemini CLI.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Place, number, text};
use crate::sessions::conversation;

const SESSION: &str = "22222222-2222-4222-8222-222222222222";

/// The lines of a session.
#[derive(Default, Clone)]
struct Chat(Vec<Value>);

impl Chat {
    fn new() -> Self {
        let mut chat = Self::default();
        chat.line(json!({"sessionId": SESSION, "projectHash": "h", "kind": "main"}));
        let context = json!({"id": "context", "type": "user",
            "content": [{"text": "<session_context>\nLinux"}]});
        chat.line(json!({"$set": {"messages": [context]}}));
        chat
    }

    fn line(&mut self, line: Value) {
        self.0.push(line);
    }

    /// A prompt with a call and an answer, each message with a line after it that sets a time.
    fn turn(&mut self, name: &str) {
        let (call, first, last) =
            (format!("call-{name}"), format!("{name}-1"), format!("{name}-2"));
        let tokens = json!({"input": 100, "output": 20, "cached": 10, "total": 120});
        let answer = json!({"id": first, "type": "gemini", "content": "on it", "thoughts": [],
            "tokens": tokens, "model": "gemini-x"});
        let result = json!([{"functionResponse": {"id": call, "name": "shell",
            "response": {"output": "a b"}}}]);
        let mut with_call = answer.clone();
        with_call["toolCalls"] = json!([{"id": call, "name": "shell", "args": {"command": "ls"},
            "result": result, "status": "success"}]);
        let messages = [
            json!({"id": name, "timestamp": "2026-03-01T10:00:00.500Z", "type": "user",
                "content": [{"text": name}]}),
            answer,
            with_call,
            json!({"id": format!("{name}-r"), "type": "user", "content": result}),
            json!({"id": last, "type": "gemini", "content": format!("{name} done"),
                "thoughts": [], "tokens": tokens, "model": "gemini-x"}),
        ];
        for message in messages {
            self.line(message);
            self.line(json!({"$set": {"lastUpdated": "2026-03-01T10:00:00.500Z"}}));
        }
    }

    fn text(&self) -> String {
        self.0.iter().map(|line| format!("{line}\n")).collect()
    }

    fn save(&self, place: &Place) {
        place.write("session-2026-03-01T10-00-22222222.jsonl", self.text());
    }
}

fn import(place: &Place) -> [u64; 2] {
    let said = place.json("import session-2026-03-01T10-00-22222222.jsonl");
    assert_eq!(said["tasks"][0]["id"], SESSION);
    assert_eq!(said["tasks"][0]["format"], "gemini-cli");
    ["events", "checkpoints"].map(|name| number(&said["tasks"][0], name))
}

/// Texts of a turn.
fn told(name: &str) -> [String; 5] {
    ["{}", "on it", "call call-{}", "result call-{}", "{} done"]
        .map(|part| part.replace("{}", name))
}

#[test]
fn a_chat_becomes_steps_with_messages_and_tools() {
    let place = Place::new();
    let mut chat = Chat::new();
    chat.turn("first");
    chat.turn("second");
    chat.save(&place);
    import(&place);
    let events = place.lines(&format!("log {SESSION}"));
    let kinds: Vec<&str> = events.iter().map(|event| text(event, "kind")).collect();
    let expected = [
        "lineage_opened",
        "application",
        "message",
        "application",
        "checkpoint_marked",
        "step_started",
        "message",
        "application",
        "message",
        "application",
        "tool_called",
        "tool_returned",
        "application",
        "application",
        "application",
        "application",
        "message",
        "application",
        "step_finished",
        "checkpoint_marked",
    ];
    assert_eq!(kinds[..20], expected);
    assert_eq!(events[5]["key"], "gemini-cli:first");
    let mark = &events[19]["body"];
    assert_eq!((text(mark, "label"), &mark["aliases"]), ("prompt-2", &json!(["second"])));
    assert_eq!(conversation(&place, SESSION)[1..], [told("first"), told("second")].concat());
    // An answer whose line is written again counts once.
    let tasks = place.items("tasks");
    assert_eq!(tasks[0]["title"], "first");
    let usage = &tasks[0]["usage"];
    assert_eq!((number(usage, "input"), text(usage, "model")), (400, "gemini-x"), "{usage}");
    place.say(&format!("restore {SESSION}@second")).ok();
    assert_eq!(conversation(&place, SESSION)[1..], told("first"));
    assert_eq!(place.json("verify")["faults"], json!([]));
}

#[test]
fn imported_again_nothing_is_new_and_a_longer_chat_adds_its_lines() {
    let place = Place::new();
    let mut chat = Chat::new();
    chat.turn("first");
    chat.save(&place);
    let [events, checkpoints] = import(&place);
    assert_eq!((events > 10, checkpoints), (true, 1));
    assert_eq!(import(&place), [0, 0]);
    chat.turn("second");
    chat.save(&place);
    assert_eq!(import(&place), [14, 1]);
    assert_eq!(import(&place), [0, 0]);
}

#[test]
fn a_session_that_is_resumed_repeats_nothing() {
    let place = Place::new();
    let mut chat = Chat::new();
    chat.turn("first");
    let messages: Vec<Value> =
        chat.0.iter().filter(|line| line["id"].is_string()).cloned().collect();
    chat.line(json!({"$set": {"sessionId": SESSION}}));
    chat.line(json!({"$set": {"messages": messages}}));
    chat.line(json!({"sessionId": SESSION, "projectHash": "h", "kind": "main"}));
    chat.turn("second");
    chat.save(&place);
    import(&place);
    assert_eq!(conversation(&place, SESSION)[1..], [told("first"), told("second")].concat());
}

#[test]
fn a_rewind_is_a_lineage_before_its_message() {
    let place = Place::new();
    let mut chat = Chat::new();
    chat.turn("one");
    chat.turn("two");
    chat.line(json!({"$rewindTo": "two"}));
    chat.turn("otherwise");
    chat.save(&place);
    import(&place);
    assert_eq!(conversation(&place, SESSION)[1..], [told("one"), told("otherwise")].concat());
    let before = conversation(&place, &format!("{SESSION}/0"));
    assert_eq!(before[1..], [told("one"), told("two")].concat());
    assert_eq!(import(&place), [0, 0]);
}

#[test]
fn lines_that_cannot_be_read_are_named_and_the_rest_goes_in() {
    let place = Place::new();
    let mut chat = Chat::new();
    chat.line(json!({"id": 7, "type": [], "content": {"a": 1}}));
    chat.line(json!({"id": "x", "type": "not yet known", "content": "kept"}));
    chat.turn("first");
    place.write("broken.jsonl", format!("{}[]\n{{\"id\"\n", chat.text()));
    let ran = place.say("import broken.jsonl");
    assert_eq!(ran.code, 1, "{ran:?}");
    for why in ["broken.jsonl:15: not a JSON object", "broken.jsonl:16: not JSON: EOF"] {
        assert!(ran.err.contains(why), "{why}: {}", ran.err);
    }
    assert_eq!(conversation(&place, SESSION)[1..], told("first"));
    let log = place.say(&format!("log {SESSION} --kind application --json")).ok();
    assert!(log.contains("not yet known"), "{log}");
}

#[test]
fn the_folders_of_all_projects_are_searched() {
    let place = Place::new();
    let mut chat = Chat::new();
    chat.turn("first");
    for (project, id) in [("p1", SESSION), ("p2", "other")] {
        let folder = place.path("tmp").join(project).join("chats");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("session-x.jsonl"), chat.text().replace(SESSION, id)).unwrap();
        fs::write(folder.join("../logs.json"), "[]\n").unwrap();
    }
    let said: Value =
        serde_json::from_str(&place.say("import tmp --format gemini-cli --json").out).unwrap();
    let ids: Vec<&str> =
        said["tasks"].as_array().unwrap().iter().map(|task| text(task, "id")).collect();
    assert_eq!(ids, [SESSION, "other"]);
}
