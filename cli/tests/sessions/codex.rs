//! Sessions of Codex.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Place, number, text};
use crate::sessions::{conversation, import_limited};

const THREAD: &str = "019f0000-0000-7000-8000-000000000001";

/// The lines of a rollout.
#[derive(Default, Clone)]
struct Rollout(Vec<String>);

impl Rollout {
    fn new() -> Self {
        let mut rollout = Self::default();
        rollout.line("session_meta", json!({"id": THREAD, "cwd": "/x", "cli_version": "0.169.0"}));
        rollout.item(json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "<environment_context>\n</environment_context>"}]}));
        rollout
    }

    fn line(&mut self, kind: &str, payload: Value) {
        let at = self.0.len();
        let time = format!("2026-03-01T10:{:02}:{:02}.500Z", at / 60, at % 60);
        self.0.push(
            json!({"timestamp": time, "ordinal": at, "type": kind, "payload": payload}).to_string(),
        );
    }

    fn item(&mut self, payload: Value) {
        self.line("response_item", payload);
    }

    fn event(&mut self, payload: Value) {
        self.line("event_msg", payload);
    }

    /// A turn with a prompt, a call and an answer.
    fn turn(&mut self, name: &str) {
        self.event(json!({"type": "task_started", "turn_id": format!("turn-{name}")}));
        self.item(json!({"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": name}],
            "internal_chat_message_metadata_passthrough": {"content_item_kinds": ["user.text"]}}));
        let call = format!("call-{name}");
        self.item(json!({"type": "function_call", "name": "exec_command", "call_id": call,
            "arguments": "{\"cmd\":\"ls\"}"}));
        self.line(
            "token_usage_record",
            json!({"usage": {"input_tokens": 100, "output_tokens": 20}}),
        );
        self.item(json!({"type": "function_call_output", "call_id": call, "output": "a b"}));
        self.item(json!({"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": format!("{name} done")}]}));
        self.event(json!({"type": "task_complete", "turn_id": format!("turn-{name}")}));
    }

    fn rollback(&mut self, turns: u64) {
        self.event(json!({"type": "thread_rolled_back", "num_turns": turns}));
    }

    fn save(&self, place: &Place) {
        place.write(&format!("rollout-2026-03-01T10-00-00-{THREAD}.jsonl"), self.text());
    }

    fn text(&self) -> String {
        format!("{}\n", self.0.join("\n"))
    }
}

fn import(place: &Place) -> [u64; 2] {
    let file = format!("import rollout-2026-03-01T10-00-00-{THREAD}.jsonl");
    let said = place.json(&file);
    assert_eq!(said["tasks"][0]["id"], THREAD);
    assert_eq!(said["tasks"][0]["format"], "codex");
    ["events", "checkpoints"].map(|name| number(&said["tasks"][0], name))
}

/// Texts of a turn.
fn told(name: &str) -> [String; 4] {
    ["{}", "call call-{}", "result call-{}", "{} done"].map(|part| part.replace("{}", name))
}

#[test]
fn a_rollout_becomes_steps_with_messages_and_tools() {
    let place = Place::new();
    let mut rollout = Rollout::new();
    rollout.turn("first");
    rollout.turn("second");
    rollout.save(&place);
    assert_eq!(import(&place), [23, 2]);
    let events = place.lines(&format!("log {THREAD}"));
    let kinds: Vec<&str> = events.iter().map(|event| text(event, "kind")).collect();
    let expected = [
        "lineage_opened",
        "application",
        "message",
        "application",
        "checkpoint_marked",
        "step_started",
        "message",
        "tool_called",
        "application",
        "application",
        "tool_returned",
        "application",
        "message",
        "application",
        "application",
        "step_finished",
        "checkpoint_marked",
    ];
    assert_eq!(kinds[..17], expected);
    let mark = &events[16]["body"];
    assert_eq!((text(mark, "label"), &mark["aliases"]), ("prompt-2", &json!(["turn-second"])));
    assert_eq!(events[7]["body"]["arguments"], json!({"cmd": "ls"}));
    assert_eq!(events[5]["time"], "2026-03-01T10:00:03.500000Z");
    let said = conversation(&place, THREAD);
    assert_eq!(said[1..], [told("first"), told("second")].concat());
    let tasks = place.items("tasks");
    assert_eq!(tasks[0]["title"], "first", "not what Codex says before it");
    let usage = &tasks[0]["usage"];
    assert_eq!((number(usage, "input"), number(usage, "output")), (200, 40), "{usage}");
    // Back to before a turn, by its id.
    place.say(&format!("restore {THREAD}@turn-second")).ok();
    assert_eq!(conversation(&place, THREAD)[1..], told("first"));
    assert_eq!(place.json("verify")["faults"], json!([]));
}

#[test]
fn imported_again_nothing_is_new_and_a_longer_rollout_adds_its_lines() {
    let place = Place::new();
    let mut rollout = Rollout::new();
    rollout.turn("first");
    rollout.save(&place);
    assert_eq!(import(&place), [12, 1]);
    assert_eq!(import(&place), [0, 0]);
    rollout.turn("second");
    rollout.save(&place);
    assert_eq!(import(&place), [11, 1]);
    assert_eq!(import(&place), [0, 0]);
}

#[test]
fn a_rollback_is_a_lineage_before_its_prompts() {
    let place = Place::new();
    let mut rollout = Rollout::new();
    for name in ["one", "two", "three"] {
        rollout.turn(name);
    }
    rollout.rollback(2);
    rollout.turn("otherwise");
    rollout.save(&place);
    import(&place);
    assert_eq!(conversation(&place, THREAD)[1..], [told("one"), told("otherwise")].concat());
    let before = format!("{THREAD}/0");
    let all = [told("one"), told("two"), told("three")].concat();
    assert_eq!(conversation(&place, &before)[1..], all);
    let lineages = place.json(&format!("lineages {THREAD}"));
    assert_eq!(lineages[1]["description"], "turn-otherwise");
    assert_eq!(place.json(&format!("state {THREAD}"))["step"]["number"], 2);
    assert_eq!(import(&place), [0, 0]);
}

#[test]
fn wherever_a_rollout_ended_the_rest_gives_what_one_import_gives() {
    let whole = Place::new();
    let mut rollout = Rollout::new();
    rollout.turn("one");
    rollout.rollback(1);
    rollout.turn("two");
    rollout.save(&whole);
    import(&whole);
    let events = |place: &Place| {
        let log = |lineage| place.lines(&format!("log {THREAD}/{lineage}")).into_iter();
        let told = |event: Value| json!([event["offset"], event["kind"], event["key"]]);
        [0, 1].map(|lineage| log(lineage).map(told).collect::<Vec<_>>())
    };
    for count in [1, 3, 4, 5, 9, 10, 11, 12, 15] {
        let place = Place::new();
        Rollout(rollout.0[..count].to_vec()).save(&place);
        import(&place);
        rollout.save(&place);
        import(&place);
        assert_eq!(events(&place), events(&whole), "after {count} lines");
    }
}

#[test]
fn lines_that_cannot_be_read_are_named_and_the_rest_goes_in() {
    let place = Place::new();
    let mut rollout = Rollout::new();
    rollout.0.push("{\"timestamp\":".into());
    rollout.0.push("7".into());
    rollout.line("response_item", json!({"type": "message", "role": 7, "content": {}}));
    rollout.line("not yet known", json!([1, 2]));
    rollout.turn("first");
    place.write("broken.jsonl", rollout.text());
    let ran = place.say("import broken.jsonl");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("broken.jsonl:3: not JSON: EOF"), "{}", ran.err);
    assert!(ran.err.contains("broken.jsonl:4: not a JSON object"), "{}", ran.err);
    assert_eq!(conversation(&place, THREAD)[1..], told("first"));
}

#[test]
fn folders_of_days_are_searched_and_other_files_are_counted() {
    let place = Place::new();
    let mut rollout = Rollout::new();
    rollout.turn("first");
    for (day, id) in [("2026/03/01", THREAD), ("2026/03/02", "other")] {
        let folder = place.path("sessions").join(day);
        fs::create_dir_all(&folder).unwrap();
        let text = rollout.text().replace(THREAD, id);
        fs::write(folder.join(format!("rollout-x-{id}.jsonl")), text).unwrap();
    }
    fs::write(place.path("sessions/notes.jsonl"), "{\"type\":\"x\"}\n").unwrap();
    let ran = place.say("import sessions --format codex --json");
    assert!(ran.err.contains("sessions: 1 other file in it"), "{ran:?}");
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    let mut ids: Vec<&str> =
        said["tasks"].as_array().unwrap().iter().map(|task| text(task, "id")).collect();
    ids.sort_unstable();
    assert_eq!(ids, [THREAD, "other"]);
    // A forked thread has the head of the other one as well: the file's name tells.
    let mut forked = Rollout::new();
    forked.0.extend(rollout.0.iter().map(|line| line.replace(THREAD, "fork-1")));
    place.write("rollout-x-fork-1.jsonl", forked.text());
    assert_eq!(place.json("import rollout-x-fork-1.jsonl")["tasks"][0]["id"], "fork-1");
}

#[test]
fn a_prompt_over_the_limit_is_left_out_by_each_import_and_taken_back() {
    let place = Place::new();
    let mut rollout = Rollout::new();
    rollout.turn("first");
    let at = rollout.0.len() + 1;
    rollout.turn("second");
    rollout.0[at] = rollout.0[at]
        .replace("\"text\":\"second\"", &format!("\"text\":\"{}\"", "x".repeat(20_000)));
    rollout.rollback(1);
    rollout.turn("third");
    rollout.save(&place);
    let file = format!("rollout-2026-03-01T10-00-00-{THREAD}.jsonl");
    let line = format!("{file}:{}: an event of", at + 1);
    let [events, lineages] = import_limited(&place, &file, &line);
    assert_eq!((events > 0, lineages), (true, 2));
    assert_eq!(import_limited(&place, &file, &line), [0, 2]);
    rollout.turn("fourth");
    rollout.save(&place);
    assert_eq!(import_limited(&place, &file, &line)[1], 2);
    let all = [told("first"), told("third"), told("fourth")].concat();
    assert_eq!(conversation(&place, THREAD)[1..], all);
}
