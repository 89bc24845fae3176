//! `log` by steps: a run as a person reads it.

use crate::common::{Place, Ran};

fn say(place: &Place, line: &str, columns: &str) -> String {
    let mut command = place.command(line.split(' '));
    Ran::of(command.env("COLUMNS", columns).output().unwrap()).ok()
}

#[test]
fn a_step_is_a_line_with_its_call_its_result_and_its_checkpoint() {
    let place = Place::recorded();
    let out = say(&place, "log react --reverse", "100");
    let steps: Vec<&str> = out.lines().filter(|line| !line.starts_with(' ')).collect();
    let events = place.lines("log react --kind step_started");
    assert_eq!(steps.len(), events.len(), "{out}");
    assert!(steps[0].starts_with("◆   1  ") || steps[0].starts_with("○   1  "), "{out}");
    let newest = say(&place, "log react", "100");
    let mut turned: Vec<&str> = newest.lines().collect();
    turned.reverse();
    assert_eq!(turned, out.lines().collect::<Vec<_>>());
}

#[test]
fn the_last_lines_are_counted_in_either_order() {
    let place = Place::recorded();
    let all = say(&place, "log airline-0", "80");
    let last = say(&place, "log airline-0 -n 3", "80");
    assert_eq!(last.lines().collect::<Vec<_>>(), all.lines().take(3).collect::<Vec<_>>());
    let oldest_first = say(&place, "log airline-0 -n 3 --reverse", "80");
    let turned: Vec<&str> = oldest_first.lines().rev().collect();
    assert_eq!(turned, last.lines().collect::<Vec<_>>());
    assert_eq!(say(&place, "log airline-0 -n 0", "80"), "");
}

#[test]
fn lines_fit_the_terminal_and_failures_say_why() {
    let place = Place::new();
    let event = |text: &str| format!("{text}\n");
    let lines = [
        r#"{"kind":"step_started","step":1}"#,
        r#"{"kind":"tool_called","call":"c","tool":"bash","arguments":{"command":"日本語 make test && echo \u001b[31m done"}}"#,
        r#"{"kind":"tool_returned","call":"c","ok":false,"output":"\n==\nE999 unexpected indent\nmore"}"#,
        r#"{"kind":"step_finished","step":1}"#,
        r#"{"kind":"message","role":"user","content":"try again"}"#,
    ];
    place.write("run.jsonl", lines.map(event).concat());
    place.say("record run.jsonl").ok();
    for columns in [40, 60, 80, 120, 200] {
        let out = say(&place, "log run --reverse", &columns.to_string());
        for line in out.lines() {
            let wide = line.chars().filter(|c| ('\u{3000}'..'\u{a000}').contains(c)).count();
            assert!(line.chars().count() + wide <= columns, "{columns}: {line}");
        }
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines[0].starts_with("✗   1  bash 日本語"), "{out}");
        assert!(lines[0].contains("E999"), "{out}");
        assert!(lines[1].trim_start().starts_with("user: try again"), "{out}");
        assert!(!out.contains('\u{1b}'));
    }
    let stamped = say(&place, "log run --utc", "120");
    assert!(stamped.lines().next().unwrap().trim_end().ends_with('Z'), "{stamped}");
}

#[test]
fn options_that_select_events_print_events() {
    let place = Place::recorded();
    for line in ["log run --events", "log run --kind message", "log run --grep hello"] {
        assert!(say(&place, line, "100").contains('@'), "{line}");
    }
    assert!(!say(&place, "log run", "100").contains("@1 "));
}

#[test]
fn a_study_that_records_only_the_ends_of_its_trials_has_their_values() {
    let place = Place::new();
    let log = r#"{"kind":"application","name":"optuna.log","data":{"op_code":6}}"#;
    let trial = |n: u64, value: f64| {
        let metrics = serde_json::json!({ "value": value });
        let ended = serde_json::json!({ "kind": "step_finished", "step": n, "metrics": metrics });
        format!("{log}\n{ended}")
    };
    let failed = r#"{"kind":"step_failed","step":3,"error":"trial 3 failed"}"#;
    let lines = [trial(1, 0.5), trial(2, 0.25), failed.to_owned()].join("\n");
    place.write("study.jsonl", lines);
    place.say("record study.jsonl").ok();
    let out = say(&place, "log study --reverse", "80");
    let seen: Vec<&str> = out.lines().collect();
    assert_eq!(seen.len(), 3, "{out}");
    for (line, what) in seen.iter().zip(["value=0.5", "value=0.25", "trial 3 failed"]) {
        assert!(line.contains(what), "{out}");
    }
}
