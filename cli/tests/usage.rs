//! `stats TASK` and `stats --by`: tokens and cost.

use serde_json::{Value, json};

use crate::common::{Place, number, row};

/// An answer of a model with its usage.
fn answer(id: &str, model: &str, (input, read): (u32, u32), cost: f64) -> Value {
    json!({
        "kind": "message", "role": "assistant", "content": "x",
        "extra": {"id": id, "model": model, "usage": {
            "input_tokens": input, "output_tokens": 1, "cache_read_input_tokens": read,
            "cost_usd": cost,
        }},
    })
}

/// Two tasks with three answers, one of which is stored in two events, and a branch.
fn place() -> Place {
    let place = Place::new();
    let of = |lines: &[Value]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let first = answer("a", "small", (10, 4), 0.5);
    place.write("one.jsonl", of(&[first.clone(), first, answer("b", "large", (20, 0), 2.0)]));
    place.write("two.jsonl", of(&[answer("c", "small", (30, 5), 0.25)]));
    place.say("record one.jsonl").ok();
    place.say("record two.jsonl").ok();
    place.say("restore one@2").ok();
    // A fork within what that lineage inherits, and answers of its own.
    place.say("restore one/1@1").ok();
    place
}

#[test]
fn tokens_and_cost_are_summed_by_model_and_by_task() {
    let place = place();
    let input = |line: &str| {
        let report = place.json(line);
        let rows = report["rows"].as_array().unwrap();
        let rows = rows.iter().map(|row| (row["name"].clone(), number(row, "input")));
        (rows.collect::<Vec<_>>(), number(&report["total"], "input"))
    };
    assert_eq!(input("stats one"), (vec![(json!("large"), 20), (json!("small"), 10)], 30));
    assert_eq!(input("stats --by task"), (vec![(json!("one"), 30), (json!("two"), 30)], 60));
    assert_eq!(input("stats t* --by model"), (vec![(json!("small"), 30)], 30));
    let out = place.say("stats --by model").ok();
    assert_eq!(row(&out, "small")[1..], ["40", "2", "9", "-", "$0.750"], "{out}");
    assert_eq!(row(&out, "total")[1..], ["60", "3", "9", "-", "$2.75"], "{out}");
}

/// The parts of an answer count once, for the day of the first one.
#[test]
fn a_day_is_that_of_the_event_of_an_answer() {
    let place = Place::new();
    let line = |(id, uuid): (&str, &str), parent: Option<&str>, time: &str, input: u32| {
        let usage = json!({"input_tokens": input, "output_tokens": 1});
        let content = json!([{"type": "text", "text": "x"}]);
        let message = json!({"id": id, "role": "assistant", "model": "m", "content": content,
            "usage": usage});
        let line = json!({"type": "assistant", "uuid": uuid, "sessionId": "s",
            "parentUuid": parent, "timestamp": time, "message": message});
        format!("{line}\n")
    };
    let lines = [
        line(("a", "u1"), None, "2026-01-01T23:59:59.000Z", 10),
        line(("a", "u2"), Some("u1"), "2026-01-02T00:00:01.000Z", 10),
        line(("b", "u3"), Some("u2"), "2026-01-02T10:00:00.000Z", 20),
    ];
    place.write("s.jsonl", lines.concat());
    place.say("import s.jsonl").ok();
    let days = place.json("stats --by day");
    let days = days["rows"].as_array().unwrap();
    let days: Vec<_> = days.iter().map(|day| (day["name"].clone(), number(day, "input"))).collect();
    assert_eq!(days, [(json!("2026-01-01"), 10), (json!("2026-01-02"), 20)]);
}

#[test]
fn the_sums_are_those_of_the_list_of_tasks() {
    let place = place();
    for task in place.items("tasks").as_array().unwrap() {
        let id = task["id"].as_str().unwrap();
        let total = &place.json(&format!("stats {id}"))["total"];
        for name in ["input", "output", "cache_read"] {
            assert_eq!(total[name], task["usage"][name], "{id}: {name}");
        }
        assert_eq!(total["cost"], task["usage"]["cost"], "{id}");
    }
}

#[test]
fn a_task_without_usage_and_a_name_without_a_task_are_told() {
    let place = Place::recorded();
    let none = place.say("stats run");
    assert_eq!((none.code, none.out.as_str()), (0, ""), "{none:?}");
    assert!(none.err.contains("no tokens and no cost were recorded"), "{none:?}");
    assert!(place.say("stats x* --by day").err.contains("no such task"));
    assert!(place.say("stats run --user bob").err.contains("no such task of user `bob`"));
    place.say("stats nope").failed(1, "nope");
}

#[test]
fn a_limit_prints_the_last_entries_and_says_how_many_came_before() {
    let place = Place::recorded();
    let whole = place.say("transcript run").ok();
    let last = place.say("transcript run -n 2");
    assert!(whole.ends_with(&last.out) && whole.len() > last.out.len(), "{last:?}");
    assert!(last.err.contains("earlier: a larger --limit prints more"), "{last:?}");
    for (line, count) in [("transcript run -n 2", 2), ("states airline-0 -n 1", 1)] {
        let limited = place.say(&format!("{line} --json"));
        assert_eq!(limited.out.lines().count(), count, "{limited:?}");
    }
    assert_eq!(place.say("transcript run -2").out, last.out);
    assert_eq!(place.say("states airline-0 -1 --json").out.lines().count(), 1);
    let newest = place.say("lineages airline-0 -1");
    assert_eq!(newest.out.lines().count(), 2, "{newest:?}");
    assert!(newest.err.contains("3 older lineages"), "{newest:?}");
}
