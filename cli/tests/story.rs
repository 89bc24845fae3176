//! `blame` and `bisect`: which event it was.

use serde_json::{Value, json};

use crate::common::{Place, Ran, text};

/// A task `t` of 40 steps, whose score falls below 5 at the 23rd. Event 0 opens the lineage.
fn scored() -> Place {
    let place = Place::new();
    let line = |step: u64| {
        let score = if step < 23 { 10 } else { 1 };
        let patch = json!({"score": score, "step": step});
        json!({"kind": "variables_patched", "form": "merge", "patch": patch}).to_string()
    };
    let lines: Vec<String> = (1..=40).map(line).collect();
    place.write("t.jsonl", lines.join("\n"));
    place.say("record --user ana t.jsonl").ok();
    place
}

fn bisect(place: &Place, args: &[&str]) -> Ran {
    place.run(["bisect"].iter().chain(args))
}

/// The event that set the score to 1.
fn culprit(place: &Place) -> String {
    let blamed = place.json("blame t /variables/score");
    text(&blamed["changes"][0], "point").to_owned()
}

#[test]
fn blame_prints_the_last_event_and_with_history_all_of_them() {
    let place = scored();
    let out = place.say("blame t /variables/score").ok();
    assert_eq!(out.lines().count(), 2, "{out}");
    assert!(out.contains("variables_patched") && out.contains("10 -> 1"), "{out}");
    let out = place.say("blame t /variables/score --history").ok();
    assert_eq!(out.lines().count(), 4, "{out}");
    assert!(out.contains("(nothing) -> 10"), "{out}");
    let blamed = place.json("blame t /variables/step --history");
    assert_eq!(blamed["changes"].as_array().unwrap().len(), 40);
    assert_eq!(blamed["value"], 40);
    assert_eq!(blamed["changes"][39].get("before"), None);
    let shown = place.json(&format!("show {}", culprit(&place)));
    assert_eq!(shown["body"]["patch"]["step"], 23);
}

#[test]
fn blame_says_where_no_event_set_it_and_what_is_no_pointer() {
    let place = scored();
    let out = place.say("blame t /prompt").ok();
    assert_eq!(out, "no event set /prompt: null, as a run begins\n");
    let out = place.say("blame t /variables/best").ok();
    assert_eq!(out, "no event set /variables/best: it was never there\n");
    place.say("blame t score").failed(1, "one begins with `/`");
    place.say("blame t /score").failed(1, "a state has no field");
    place.say("blame none /prompt").failed(1, "none");
}

#[test]
fn bisect_prints_the_event_its_changes_and_what_to_do_next() {
    let place = scored();
    let found = culprit(&place);
    let out = bisect(&place, &["t", "--when", "/variables/score < 5"]).ok();
    for said in [
        format!("{found} is the first event"),
        "~ /variables/score: 10 -> 1".into(),
        "~ /variables/step: 22 -> 23".into(),
        "7 states looked at".into(),
        format!("`milepost show {found}`"),
        format!("`milepost restore {found}`"),
    ] {
        assert!(out.contains(&said), "{said}: {out}");
    }
    let out = bisect(&place, &["t", "--json", "--when", "/variables/score < 5"]).ok();
    let form: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(form["found"], found.as_str());
    assert_eq!(form["states"], 7);
    assert_eq!(form["event"]["body"]["patch"]["step"], 23);
}

#[test]
fn bisect_over_captured_files_names_the_capture_that_broke_the_tests() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("proj")).unwrap();
    std::fs::create_dir_all(place.path("other")).unwrap();
    place.write("proj/check.sh", "echo x >> \"$LOOKED\"; grep -q ok result");
    place.write("proj/result", "ok");
    place.write("other/note", "n");
    let run = |label: &str, line: &str| {
        let words = ["run", "--task", "t", "--dir", "proj", "--label", label, "--"];
        assert_eq!(place.run(words.iter().chain(&["sh", "-c", line])).code, 0);
    };
    run("one", "echo 1 > a");
    place.say("capture other --task t --label elsewhere").ok();
    run("two", "echo wrong > result");
    run("three", "echo 3 > c");
    // The last capture of the task is one of another folder.
    place.say("capture other --task t").ok();
    let search = |good: &[&str]| {
        let words = ["bisect", "t", "--json", "--files", "proj"].iter().chain(good);
        let mut command = place.command(words.chain(&["--run", "--", "sh", "check.sh"]));
        let out = Ran::of(command.env("LOOKED", place.path("looked")).output().unwrap()).ok();
        serde_json::from_str::<Value>(&out).unwrap()
    };
    let found = search(&[]);
    assert_eq!(found["event"]["kind"], "workspace_captured", "{found}");
    let before = place.json("show t@before-two")["offset"].to_string().replace('"', "");
    let after = place.json("show t@after-two")["offset"].to_string().replace('"', "");
    let at = found["event"]["offset"].to_string().replace('"', "");
    let [before, at, after] = [before, at, after].map(|text| text.parse::<u64>().unwrap());
    assert!(before < at && at < after, "{before} {at} {after}");
    // Each capture is judged once, however many events see it.
    let looked = std::fs::read_to_string(place.path("looked")).unwrap().lines().count();
    assert!(looked <= 4, "{looked}");
    for good in ["t@before-two", "t@elsewhere"] {
        assert_eq!(search(&["--good", good])["found"], found["found"], "{good}");
    }
    // Nothing is recorded, and the folder is as it was.
    assert_eq!(std::fs::read_to_string(place.path("proj/result")).unwrap(), "wrong\n");
    let words = ["bisect", "t", "--files", "nowhere", "--run", "--", "true"];
    place.run(words).failed(1, "was not captured before");
    let ran = place.run(["bisect", "t", "--files", "proj", "--when", "exists /phase"]);
    assert!(ran.code == 2 && ran.err.contains("--when"), "{ran:?}");
}

#[test]
fn what_held_before_and_does_not_hold_at_the_end_is_found_and_not_denied() {
    let place = scored();
    let found = culprit(&place);
    let out = bisect(&place, &["t", "--when", "/variables/score == 10"]).ok();
    assert!(out.contains("t/0@1 is the first event"), "{out}");
    assert!(out.contains(&format!("so for 22 events: after {found} it is not so")), "{out}");
    let out = bisect(&place, &["t", "--json", "--when", "/variables/step == 7"]).ok();
    let form: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&form["found"], &form["until"]), (&json!("t/0@7"), &json!("t/0@8")));
    let ran = bisect(&place, &["t", "--run", "--", "true"]);
    ran.failed(1, "it may have been so before");
}

#[test]
fn bisect_refuses_what_it_cannot_search() {
    let place = scored();
    bisect(&place, &["t", "--when", "/variables/score <"]).failed(2, "at character 19");
    bisect(&place, &["t", "--when", "/variables/score > 100"]).failed(1, "it is so nowhere from");
    bisect(&place, &["t", "--when", "/message_count == 0"]).failed(1, "already");
    bisect(&place, &["t@3", "--good", "t@9", "--when", "exists /phase"]).failed(1, "comes first");
    for usage in [&["t"][..], &["t", "--run"], &["t", "--when", "x", "--run", "--", "true"], &[]] {
        assert_eq!(bisect(&place, usage).code, 2, "{usage:?}");
    }
}

#[test]
fn a_command_says_what_a_state_is_with_its_exit_code() {
    let place = scored();
    let found = culprit(&place);
    // Its answer is unknown for each fourth step, which includes the one in the middle.
    let script = r#"
        step=$(tr ',{' '\n\n' | sed -n 's/.*"step":\([0-9][0-9]*\).*/\1/p' | head -n 1)
        echo "asked of $step"
        [ "${step:-0}" -lt 23 ] || exit 1
        [ $((${step:-1} % 4)) -ne 0 ] || { echo skipped; exit 125; }
    "#;
    let ran = bisect(&place, &["t", "--run", "--", "sh", "-c", script]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("asked of"), "what it prints is told: {ran:?}");
    assert!(!ran.out.contains("asked of"), "{ran:?}");
    assert!(ran.err.contains("skipped"), "{ran:?}");
    assert!(ran.out.contains(&format!("{found} is the first event")), "{ran:?}");
}

#[test]
fn where_a_command_cannot_say_of_the_neighbours_the_events_it_may_be_are_named() {
    let place = scored();
    let script = r#"
        step=$(tr ',{' '\n\n' | sed -n 's/.*"step":\([0-9][0-9]*\).*/\1/p' | head -n 1)
        [ "${step:-0}" != 22 ] && [ "${step:-0}" != 23 ] || exit 125
        [ "${step:-0}" -lt 23 ]
    "#;
    let ran = bisect(&place, &["t", "--run", "--", "sh", "-c", script]);
    ran.failed(1, "it is one of the events from t/0@22 to t/0@24");
}

#[test]
fn a_command_that_a_signal_ends_or_that_is_not_there_ends_the_search() {
    let place = scored();
    let ran = bisect(&place, &["t", "--run", "--", "sh", "-c", "kill -9 $$"]);
    ran.failed(1, "signal 9 ended sh");
    let ran = bisect(&place, &["t", "--run", "--", "./no-such-command"]);
    ran.failed(1, "cannot be started");
    let ran = bisect(&place, &["t", "--run", "--", "sh", "-c", "exit 200"]);
    ran.failed(1, "ended with 200");
}

#[test]
fn a_search_by_hand_goes_on_from_command_to_command() {
    let place = scored();
    let found = culprit(&place);
    bisect(&place, &["good"]).failed(1, "no search by hand");
    bisect(&place, &["reset"]).failed(1, "no search by hand");
    let mut out = bisect(&place, &["start", "t", "t@0"]).ok();
    bisect(&place, &["start", "t", "t@0"]).failed(4, "is going on");
    let mut asked = 0;
    while let Some(rest) = out.strip_prefix("look at ") {
        let (at, _) = rest.split_once(';').unwrap();
        let state = place.json(&format!("state {at}"));
        let verdict = match state["variables"]["step"].as_u64() {
            Some(step) if step >= 23 => "bad",
            _ => "good",
        };
        out = bisect(&place, &[verdict]).ok();
        asked += 1;
    }
    assert!(out.contains(&format!("{found} is the first event")), "{out}");
    assert!((1..=6).contains(&asked), "{asked}");
    let again = bisect(&place, &["good"]).ok();
    assert_eq!(again, out, "what was found is told again");
    assert!(place.store().join("bisect.json").exists());
    bisect(&place, &["reset"]).ok();
    assert!(!place.store().join("bisect.json").exists());
    bisect(&place, &["start", "t", "t@0", "--json"]).ok();
    let skipped: Value = serde_json::from_str(&bisect(&place, &["skip", "--json"]).ok()).unwrap();
    assert!(text(&skipped, "next").starts_with("t/0@"));
}

#[test]
fn a_file_of_a_search_that_is_damaged_is_told_and_can_be_reset() {
    let place = scored();
    for damaged in ["", "{", "{\"task\": 1}", "[]"] {
        std::fs::write(place.store().join("bisect.json"), damaged).unwrap();
        bisect(&place, &["good"]).failed(1, "bisect.json");
    }
    let gone = r#"{"task":"t","lineage":0,"good":5,"bad":999,"skipped":[]}"#;
    std::fs::write(place.store().join("bisect.json"), gone).unwrap();
    bisect(&place, &["good"]).failed(1, "past the head");
    bisect(&place, &["reset"]).ok();
}
