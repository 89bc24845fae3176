//! Sessions that no program would write, and some that one does.

use serde_json::{Value, json};

use crate::common::Place;
use crate::sessions::made::{Made, SESSION, said};
use crate::sessions::{conversation, import_limited, rewound};

#[test]
fn lines_that_cannot_be_read_are_named_and_the_rest_goes_in() {
    let place = Place::new();
    let mut made = Made::new();
    made.user("a", None, "first");
    made.lines.push("{\"uuid\":\"b\",".into());
    made.lines.push("[1,2]".into());
    made.lines.push(format!("{{\"uuid\":\"c\",\"deep\":{}{}}}", "[".repeat(200), "]".repeat(200)));
    made.lines.push("{\"uuid\":7,\"type\":{\"a\":1},\"message\":[]}".into());
    made.assistant("d", "b", json!([said("behind a line that is lost")]));
    made.save(&place);
    let ran = place.say("import session.jsonl");
    assert_eq!(ran.code, 1, "{ran:?}");
    for why in [
        "session.jsonl:2: not JSON: EOF",
        "session.jsonl:3: not a JSON object",
        "session.jsonl:4: JSON nested deeper than 96 levels",
        "1 line behind one that is not there",
        "3 lines could not be recorded",
    ] {
        assert!(ran.err.contains(why), "{why}: {}", ran.err);
    }
    assert_eq!(conversation(&place, SESSION), ["first", "behind a line that is lost"]);
    let strict = Place::new();
    made.save(&strict);
    assert_eq!(strict.say("import session.jsonl --strict").code, 1);
    assert_eq!(conversation(&strict, SESSION), ["first"]);
}

#[test]
fn circles_ids_that_come_twice_and_lines_in_another_order_end() {
    let place = Place::new();
    let mut made = Made::new();
    made.user("a", Some("c"), "one");
    made.user("b", Some("a"), "two");
    made.user("c", Some("b"), "three");
    made.user("b", Some("a"), "two again");
    made.user("d", Some("d"), "four");
    made.user("f", Some("e"), "before its parent");
    made.user("e", Some("d"), "parent");
    made.save(&place);
    let ran = place.say("import session.jsonl");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("1 line with an id that came before"), "{}", ran.err);
    assert!(ran.err.contains("3 lines behind one that is not there"), "{}", ran.err);
    assert_eq!(conversation(&place, SESSION), ["one", "two", "three", "four", "parent"]);
    assert_eq!(
        conversation(&place, &format!("{SESSION}/0")),
        ["one", "two", "three", "four", "before its parent"]
    );
    let kept = place.lines(&format!("log {SESSION}/0 --kind application"));
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0]["body"]["data"]["message"]["content"], "two again");
}

#[test]
fn unicode_windows_line_ends_and_long_lines_come_back_as_they_were() {
    let place = Place::new();
    let mut made = Made::new();
    made.user("a", None, "grüße \u{1f989} \u{202e}\"\\\n\u{7f}");
    made.user("b", Some("a"), &"lang ".repeat(2 << 20));
    made.lines.push(
        "{\"type\":\"user\",\"uuid\":\"c\",\"parentUuid\":\"b\",\"message\":{\"role\":\"user\",\"content\":\"half \\ud83d a pair\"}}"
            .into(),
    );
    let text = format!("\u{feff}{}", made.text().replace('\n', "\r\n"));
    place.write("session.jsonl", text);
    place.say("import session.jsonl").ok();
    let log = format!("log {SESSION}/0 --kind message --reverse --json");
    let out = place.say(&log).ok();
    let lines: Vec<&str> = out.lines().collect();
    // Half a pair is JSON, and has no value.
    assert!(lines[2].contains(r"half \ud83d a pair"));
    let read = |line: &&str| serde_json::from_str(line).unwrap();
    let events: Vec<Value> = lines[..2].iter().map(read).collect();
    assert_eq!(events[0]["body"]["content"], "grüße \u{1f989} \u{202e}\"\\\n\u{7f}");
    assert_eq!(events[1]["body"]["content"].as_str().unwrap().len(), 10 << 20);
    assert_eq!(place.json("verify")["faults"], json!([]));
}

#[test]
fn a_line_over_the_limit_is_named_and_what_goes_on_from_it_does_so_before_it() {
    let place = Place::new();
    let mut made = Made::new();
    made.user("a", None, "first");
    made.user("b", Some("a"), &"x".repeat(20_000));
    made.user("c", Some("b"), "third");
    made.user("d", Some("b"), "third, otherwise");
    made.save(&place);
    let ran = place.say("record session.jsonl --event-max 10000");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("session.jsonl:2: an event of"), "{}", ran.err);
    assert_eq!(conversation(&place, SESSION), ["first", "third, otherwise"]);
    assert_eq!(conversation(&place, &format!("{SESSION}/0")), ["first", "third"]);
}

#[test]
fn a_line_over_the_limit_is_left_out_by_each_import() {
    let place = Place::new();
    let mut made = rewound();
    let at = made.lines.iter().position(|line| line.contains("\"a b\"")).unwrap();
    made.lines[at] = made.lines[at].replace("a b", &"x".repeat(20_000));
    made.save(&place);
    let line = format!("session.jsonl:{}: an event of", at + 1);
    let lineages = import_limited(&place, "session.jsonl", &line)[1];
    assert_eq!(import_limited(&place, "session.jsonl", &line), [0, lineages]);
    made.assistant("i", "h", json!([said("further")]));
    made.save(&place);
    assert_eq!(import_limited(&place, "session.jsonl", &line), [1, lineages]);
    let said =
        ["first", "on it", "call t1", "done", "second, otherwise", "otherwise done", "further"];
    assert_eq!(conversation(&place, SESSION), said);
}

#[test]
fn odd_ids_and_types_do_no_harm() {
    let place = Place::new();
    let mut made = Made::new();
    let long = "u".repeat(5000);
    made.user("", None, "an empty id");
    made.user(&long, Some(""), "a long one");
    made.user("\n", Some(&long), "a newline");
    made.other(json!({"type": "assistant", "uuid": "x", "parentUuid": "\n",
        "message": {"role": 7, "content": [{"type": "tool_use", "id": 7}, {"type": "image"}, 7]}}));
    made.other(json!({"type": "user", "uuid": "y", "parentUuid": "x", "isSidechain": "yes",
        "message": {"role": "user", "content": []}, "timestamp": "yesterday",
        "kind": "message", "role": "?"}));
    made.save(&place);
    place.say("import session.jsonl").ok();
    assert_eq!(place.json(&format!("state {SESSION}"))["message_count"], 5);
    place.say("import session.jsonl").ok();
    assert_eq!(place.json(&format!("state {SESSION}"))["message_count"], 5);
    assert_eq!(place.json("verify")["faults"], json!([]));
}
