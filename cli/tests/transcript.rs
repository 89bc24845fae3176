//! `show` and `transcript`: events as text.

use crate::common::Place;

/// A run with texts of several lines.
fn place() -> Place {
    let place = Place::new();
    let lines = [
        r#"{"kind":"step_started","step":1,"name":"fix"}"#,
        r#"{"kind":"message","role":"assistant","content":"First line.\nSecond line."}"#,
        r#"{"kind":"tool_called","call":"c","tool":"edit","arguments":{"path":"a.py","text":"x\ny\u001b[31m"}}"#,
        r#"{"kind":"tool_returned","call":"c","ok":false,"output":"@@ -1 +1 @@\r\n-old\r\n+new"}"#,
        r#"{"kind":"message","role":"user","content":[{"type":"text","text":"part one"},{"type":"text","text":"part two"}]}"#,
        r#"{"kind":"variables_patched","form":"merge","patch":{"score":1.50}}"#,
        r#"{"kind":"step_finished","step":1}"#,
    ];
    place.write("run.jsonl", lines.map(|line| format!("{line}\n")).concat());
    place.say("record run.jsonl").ok();
    place
}

#[test]
fn a_body_is_text_with_its_line_breaks_and_raw_is_json() {
    let place = place();
    let said = place.say("show run@2").ok();
    assert!(said.ends_with("assistant:\n    First line.\n    Second line.\n"), "{said}");
    let called = place.say("show run@3").ok();
    let expected = "$ edit\n    path: a.py\n    text:\n        x\n        y\\u{1b}[31m\n";
    assert!(called.ends_with(expected), "{called}");
    let failed = place.say("show run@4").ok();
    assert!(failed.ends_with("failed:\n    @@ -1 +1 @@\n    -old\n    +new\n"), "{failed}");
    let colored = place.say("--color always show run@4").ok();
    assert!(colored.contains("\u{1b}[32m+new"), "{colored}");
    let parts = place.say("show run@5").ok();
    assert!(parts.ends_with("user:\n    part one\n    part two\n"), "{parts}");
    let raw = place.say("show run@2 --raw").ok();
    assert!(raw.contains("\"content\": \"First line.\\nSecond line.\""), "{raw}");
    let log = place.say("log run --full --kind message").ok();
    assert!(log.contains("    Second line.\n") && log.contains("    part two\n"), "{log}");
    assert!(place.say("log run --raw --kind message").ok().contains("\"role\": \"user\""));
}

#[test]
fn a_task_without_a_place_shows_its_last_event() {
    let place = place();
    let head: u64 = place.items("tasks")[0]["head"].as_u64().unwrap();
    let shown = place.json("show run");
    assert_eq!(shown["offset"], head - 1);
    assert_eq!(place.json("show run/0")["offset"], shown["offset"]);
    place.say(&format!("show run@{head}")).failed(1, "");
}

#[test]
fn a_transcript_is_the_run_as_a_document() {
    let place = place();
    let all = place.say("transcript run").ok();
    let parts =
        ["── step 1: fix ──", "assistant:\n    First", "$ edit", "failed:", "user:\n    part one"];
    let places: Vec<usize> = parts.iter().map(|part| all.find(part).unwrap()).collect();
    assert!(places.is_sorted(), "{all}");
    assert!(!all.contains("score"), "{all}");
    let first = place.say("transcript run@3").ok();
    assert!(first.contains("Second line.") && !first.contains("$ edit"), "{first}");
    assert_eq!(place.lines("transcript run").len(), place.lines("log run").len());
}

#[test]
fn on_a_pipe_a_line_has_all_of_a_long_text() {
    let place = Place::new();
    let text = format!("{} loud.html", "word ".repeat(200));
    let lines = [
        serde_json::json!({"kind": "message", "role": "assistant", "content": text}),
        serde_json::json!({"kind": "tool_called", "call": "c", "tool": "edit",
            "arguments": {"text": format!("{text} quiet.html")}}),
    ];
    place.write("run.jsonl", lines.map(|line| format!("{line}\n")).concat());
    place.say("record run.jsonl").ok();
    for line in ["log run", "log run --events", "log run -n 3"] {
        let out = place.say(line).ok();
        assert!(out.contains("quiet.html"), "{line}: {out}");
    }
    assert!(place.say("log run --events").ok().contains("word loud.html"));
}
