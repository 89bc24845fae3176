//! Exports of sessions of opencode.

use serde_json::{Value, json};

use crate::common::{Place, number};
use crate::sessions::conversation;

const SESSION: &str = "ses_de614361effelXvmG2ld8As8Zl";

/// The messages of a session.
#[derive(Default)]
struct Session {
    messages: Vec<Value>,
    /// The number of ids so far, which are ordered by it.
    ids: usize,
}

impl Session {
    fn id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}_{:012x}qRsTuVwXyZabcd", 0x219e_bca7_2001_usize + self.ids)
    }

    fn message(&mut self, mut info: Value, parts: Vec<Value>) -> String {
        let id = self.id("msg");
        info["id"] = id.as_str().into();
        info["sessionID"] = SESSION.into();
        let parts: Vec<Value> = parts.into_iter().map(|part| self.part(&id, part)).collect();
        self.messages.push(json!({"info": info, "parts": parts}));
        id
    }

    fn part(&mut self, message: &str, mut part: Value) -> Value {
        part["id"] = self.id("prt").into();
        part["sessionID"] = SESSION.into();
        part["messageID"] = message.into();
        part
    }

    /// A prompt with a call and an answer. Returns the id of the prompt's message.
    fn turn(&mut self, name: &str) -> String {
        let time = json!({"created": 1_795_731_212_769_u64, "completed": 1_795_731_218_541_u64});
        let asked = json!({"role": "user", "time": {"created": 1_795_731_212_769_u64}});
        let parent = self.message(asked, vec![json!({"type": "text", "text": name})]);
        let answer = |finish: &str| {
            json!({"role": "assistant", "parentID": parent, "time": time, "finish": finish,
                "modelID": "m", "cost": 0, "tokens": {"input": 100, "output": 20}})
        };
        let state = json!({"status": "completed", "input": {"command": "ls"}, "output": "a b"});
        let call = json!({"type": "tool", "tool": "bash", "callID": format!("{name}-t"),
            "state": state});
        let text = json!({"type": "text", "text": "on it", "time": {"start": 1, "end": 2}});
        let step = json!({"type": "step-start", "snapshot": "x"});
        self.message(answer("tool-calls"), vec![step, text, call]);
        let done = json!({"type": "text", "text": format!("{name}-done")});
        self.message(answer("stop"), vec![done]);
        parent
    }

    fn save(&self, place: &Place) {
        let time = json!({"created": 1_795_731_212_769_u64, "updated": self.ids});
        let info = json!({"id": SESSION, "slug": "neon-knight", "projectID": "p",
            "directory": "/x", "title": format!("title {}", self.ids), "version": "1.18.33",
            "time": time});
        let document = json!({"messages": self.messages});
        // opencode prints `info` first.
        let messages = serde_json::to_string_pretty(&document).unwrap();
        let text = messages.replacen('{', &format!("{{\n\"info\": {info},"), 1);
        place.write("export.json", text);
    }
}

fn import(place: &Place) -> [u64; 2] {
    let said = place.json("import export.json");
    assert_eq!(said["tasks"][0]["id"], SESSION);
    assert_eq!(said["tasks"][0]["format"], "opencode");
    ["events", "checkpoints"].map(|name| number(&said["tasks"][0], name))
}

/// Returns the lines of a turn.
fn told(name: &str) -> [String; 5] {
    let parts = ["{}", "on it", "call {}-t", "result {}-t", "{}-done"];
    parts.map(|part| part.replace("{}", name))
}

#[test]
fn an_export_becomes_steps_and_a_longer_one_adds_what_is_new() {
    let place = Place::new();
    let mut session = Session::default();
    session.turn("one");
    session.save(&place);
    // The session; step, prompt and its end; a step's start, text, call, result and end with
    // usage; a text and its end with usage.
    assert_eq!(import(&place), [1 + 4 + 9 + 4, 1]);
    assert_eq!(import(&place), [0, 0]);
    // opencode changes existing lines.
    session.messages[0]["info"]["summary"] = json!({"diffs": []});
    let prompt = session.turn("two");
    session.save(&place);
    assert_eq!(import(&place), [1 + 4 + 9 + 4, 1]);
    assert_eq!(conversation(&place, SESSION), [told("one"), told("two")].concat());
    let tasks = place.items("tasks");
    assert_eq!((&tasks[0]["title"], &tasks[0]["usage"]["input"]), (&json!("one"), &json!(400)));
    place.say(&format!("restore {SESSION}@{prompt}")).ok();
    assert_eq!(conversation(&place, SESSION), told("one"));
    assert_eq!(place.json("verify")["faults"], json!([]));
}

#[test]
fn messages_that_were_reverted_stay_in_a_lineage() {
    let place = Place::new();
    let mut session = Session::default();
    session.turn("one");
    let kept = session.messages.len();
    session.turn("two");
    session.save(&place);
    import(&place);
    session.messages.truncate(kept);
    session.turn("otherwise");
    session.save(&place);
    import(&place);
    assert_eq!(conversation(&place, SESSION), [told("one"), told("otherwise")].concat());
    let before = conversation(&place, &format!("{SESSION}/0"));
    assert_eq!(before, [told("one"), told("two")].concat());
    assert_eq!(import(&place), [0, 0]);
}

#[test]
fn messages_that_cannot_be_read_are_named_and_the_rest_goes_in() {
    let place = Place::new();
    let mut session = Session::default();
    session.turn("one");
    session.messages.push(json!({"info": 7}));
    session.save(&place);
    let ran = place.say("import export.json");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("export.json: message 4: there is no `info`"), "{}", ran.err);
    assert_eq!(conversation(&place, SESSION), told("one"));
    place.write("other.json", "{\"a\": 1}");
    let ran = place.say("import other.json --format opencode");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("not an export"), "{}", ran.err);
}

#[test]
fn a_prompt_that_waits_for_an_answer_is_recorded_behind_all_of_it() {
    let place = Place::new();
    let mut session = Session::default();
    session.turn("one");
    let whole = session.messages.clone();
    // The call still runs, and the user wrote a further prompt.
    session.messages.truncate(2);
    session.messages[1]["info"]["finish"] = Value::Null;
    session.messages[1]["info"]["time"] = json!({"created": 1});
    session.messages[1]["parts"][2]["state"] = json!({"status": "running", "input": {}});
    let asked = json!({"role": "user", "time": {"created": 2}});
    session.message(asked, vec![json!({"type": "text", "text": "two"})]);
    let waiting = session.messages.last().unwrap().clone();
    session.save(&place);
    let said = place.say("import export.json");
    assert!(said.err.contains("export.json: message 2: it is not complete"), "{said:?}");
    assert_eq!(conversation(&place, SESSION), told("one")[..3]);
    session.messages = whole;
    session.messages.push(waiting);
    session.save(&place);
    import(&place);
    let all = [told("one").to_vec(), vec!["two".to_owned()]].concat();
    assert_eq!(conversation(&place, SESSION), all);
    assert_eq!(place.json(&format!("lineages {SESSION}")).as_array().unwrap().len(), 1);
    assert_eq!(import(&place), [0, 0]);
}

#[test]
fn an_id_that_is_no_name_does_not_end_the_import() {
    let place = Place::new();
    let mut session = Session::default();
    session.turn("one");
    session.turn("two");
    session.messages[3]["info"]["id"] = "m".repeat(300).into();
    session.messages[3]["parts"][0]["id"] = "p\n".into();
    session.save(&place);
    import(&place);
    assert_eq!(conversation(&place, SESSION), [told("one"), told("two")].concat());
    assert_eq!(import(&place), [0, 0]);
}
