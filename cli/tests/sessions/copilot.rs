//! Sessions of Copilot CLI.

use serde_json::{Value, json};

use crate::common::{Place, number};
use crate::sessions::{conversation, import_limited};

const SESSION: &str = "44444444-4444-4444-8444-444444444444";

/// The lines of a session.
struct Events(Vec<Value>);

impl Events {
    fn new() -> Self {
        let mut events = Self(Vec::new());
        let context = json!({"cwd": "/x", "gitRoot": "/x", "branch": "main"});
        let data = json!({"sessionId": SESSION, "version": 1, "producer": "copilot-agent",
            "copilotVersion": "1.0.102", "selectedModel": "m", "context": context});
        events.line("start", "session.start", data);
        events
    }

    /// Adds a line, which names the last one.
    fn line(&mut self, id: &str, kind: &str, data: Value) {
        let second = self.0.len();
        self.0.push(json!({
            "type": kind, "data": data, "id": id,
            "timestamp": format!("2026-03-01T10:00:{second:02}.500Z"),
            "parentId": self.0.last().map(|line| line["id"].clone()),
        }));
    }

    /// A prompt with a call and an answer.
    fn turn(&mut self, name: &str) {
        let id = |part: &str| format!("{name}-{part}");
        let context = format!("<current_datetime>x</current_datetime>\n\n{name}");
        self.line(
            name,
            "user.message",
            json!({"content": name, "transformedContent": context, "messageId": id("m")}),
        );
        self.line(&id("b"), "assistant.turn_start", json!({"turnId": "0"}));
        let usage = json!({"model": "m", "inputTokens": 100, "outputTokens": 20, "cost": 1});
        self.line(&id("u"), "session.usage_record", json!({"usage": usage}));
        let request = json!({"toolCallId": id("t"), "name": "bash", "type": "function",
            "arguments": {"command": "ls"}});
        self.line(
            &id("a"),
            "assistant.message",
            json!({"model": "m", "content": "on it", "toolRequests": [request]}),
        );
        let running = json!({"toolCallId": id("t"), "toolName": "bash", "arguments": {}});
        self.line(&id("s"), "tool.execution_start", running);
        let done = json!({"toolCallId": id("t"), "success": true, "result": {"content": "a b"}});
        self.line(&id("r"), "tool.execution_complete", done);
        self.line(
            &id("z"),
            "assistant.message",
            json!({"model": "m", "content": id("done"), "toolRequests": []}),
        );
        self.line(&id("e"), "assistant.turn_end", json!({"turnId": "0"}));
    }

    fn save(&self, place: &Place) {
        let text: String = self.0.iter().map(|line| format!("{line}\n")).collect();
        std::fs::create_dir_all(place.path(&format!("state/{SESSION}"))).unwrap();
        place.write(&format!("state/{SESSION}/events.jsonl"), text);
    }
}

fn import(place: &Place) -> [u64; 2] {
    let said = place.json("import state");
    assert_eq!(said["tasks"][0]["id"], SESSION);
    assert_eq!(said["tasks"][0]["format"], "copilot");
    ["events", "checkpoints"].map(|name| number(&said["tasks"][0], name))
}

/// Returns the lines of a turn.
fn told(name: &str) -> [String; 5] {
    let parts = ["{}", "on it", "call {}-t", "result {}-t", "{}-done"];
    parts.map(|part| part.replace("{}", name))
}

#[test]
fn a_folder_of_sessions_becomes_steps_and_a_longer_one_adds_its_lines() {
    let place = Place::new();
    let mut events = Events::new();
    events.turn("one");
    events.save(&place);
    // A step, nine lines, a prompt, two messages, a call and its result, usage.
    assert_eq!(import(&place), [16, 1]);
    assert_eq!(import(&place), [0, 0]);
    events.turn("two");
    events.save(&place);
    assert_eq!(import(&place), [16, 1]);
    assert_eq!(conversation(&place, SESSION), [told("one"), told("two")].concat());
    let tasks = place.items("tasks");
    assert_eq!((&tasks[0]["title"], &tasks[0]["usage"]["input"]), (&json!("one"), &json!(200)));
    assert_eq!(tasks[0]["usage"].get("cost"), None);
    place.say(&format!("restore {SESSION}@two")).ok();
    assert_eq!(conversation(&place, SESSION), told("one"));
    assert_eq!(place.json("verify")["faults"], json!([]));
}

#[test]
fn what_the_agent_took_back_is_a_lineage_that_stays() {
    let place = Place::new();
    let mut events = Events::new();
    events.turn("one");
    let kept = events.0.len();
    events.turn("two");
    events.save(&place);
    import(&place);
    let resumed = json!({"eventCount": 1});
    events.line("again", "session.resume", resumed);
    let of_lost_line = events.0.last().unwrap().clone();
    // The file is written anew without the second prompt; a number has another form.
    events.0.truncate(kept);
    events.0[2]["data"]["turnId"] = json!(0);
    events.line("info", "session.info", json!({"infoType": "rewind"}));
    events.0.insert(kept, of_lost_line);
    events.turn("otherwise");
    events.save(&place);
    import(&place);
    assert_eq!(conversation(&place, SESSION), [told("one"), told("otherwise")].concat());
    let before = conversation(&place, &format!("{SESSION}/0"));
    assert_eq!(before, [told("one"), told("two")].concat());
    assert_eq!(import(&place), [0, 0]);
    events.turn("three");
    events.save(&place);
    assert_eq!(import(&place), [16, 1]);
    let all = [told("one"), told("otherwise"), told("three")].concat();
    assert_eq!(conversation(&place, SESSION), all);
    assert_eq!(place.json("verify")["faults"], json!([]));
}

#[test]
fn lines_that_cannot_be_read_are_named_and_the_rest_goes_in() {
    let place = Place::new();
    let mut events = Events::new();
    events.turn("one");
    events.0.push(json!([1]));
    events.0.push(json!({"id": 7, "type": {}, "data": []}));
    events.save(&place);
    let ran = place.say("import state");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("events.jsonl:10: not a JSON object"), "{}", ran.err);
    assert_eq!(conversation(&place, SESSION), told("one"));
}

#[test]
fn a_line_over_the_limit_is_left_out_by_each_import() {
    let place = Place::new();
    let mut events = Events::new();
    events.turn("one");
    let at = events.0.iter().position(|line| line["id"] == "one-r").unwrap();
    events.0[at]["data"]["result"]["content"] = "x".repeat(20_000).into();
    events.save(&place);
    let line = format!("events.jsonl:{}: an event of", at + 1);
    assert_eq!(import_limited(&place, "state", &line), [14, 1]);
    assert_eq!(import_limited(&place, "state", &line), [0, 1]);
    events.turn("two");
    events.save(&place);
    assert_eq!(import_limited(&place, "state", &line), [16, 1]);
    let all: Vec<String> =
        told("one").into_iter().filter(|said| said != "result one-t").chain(told("two")).collect();
    assert_eq!(conversation(&place, SESSION), all);
}

#[test]
fn a_line_of_usage_that_is_repeated_counts_once() {
    let place = Place::new();
    let mut events = Events::new();
    events.turn("one");
    let usage = events.0.iter().find(|line| line["id"] == "one-u").unwrap().clone();
    events.0.push(usage);
    events.save(&place);
    let import = || {
        let ran = place.say("import state --json");
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.err.contains("1 line with an id that came before: kept"), "{ran:?}");
        let said: Value = serde_json::from_str(&ran.out).unwrap();
        number(&said["tasks"][0], "events")
    };
    assert_eq!(import(), 17);
    let tasks = place.items("tasks");
    assert_eq!(tasks[0]["usage"]["input"], 100);
    assert_eq!(tasks[0]["usage"].get("cost"), None);
    assert_eq!(import(), 0);
}
