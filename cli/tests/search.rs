//! `search` and `compare`: over all tasks, and side by side.

use serde_json::Value;

use crate::common::{Place, Ran, number, real_runs};

#[test]
fn a_text_is_found_in_every_task_and_in_the_lineage_that_recorded_it() {
    let place = Place::recorded();
    place.say("restore run@12").ok();
    let hits = place.lines("search hello");
    let of_run: Vec<&Value> =
        hits.iter().filter(|hit| hit["address"].as_str().unwrap().starts_with("run/")).collect();
    assert!(!of_run.is_empty());
    assert!(of_run.iter().all(|hit| hit["address"].as_str().unwrap().starts_with("run/0@")));
    for hit in &hits {
        let address = hit["address"].as_str().unwrap();
        let shown = place.json(&format!("show {address}"));
        assert_eq!(shown["body"], hit["event"]["body"], "{address}");
        assert!(hit["event"].to_string().to_lowercase().contains("hello"), "{address}");
    }
    assert_eq!(place.lines("search hello -n 1"), hits[..1]);
    assert_eq!(place.lines("search HELLO"), hits);
    let messages = place.lines("search hello --kind message");
    assert!(messages.iter().all(|hit| hit["event"]["kind"] == "message"));
    let airline = place.lines("search a --task airline-* --kind step_started");
    assert!(airline.iter().all(|hit| hit["address"].as_str().unwrap().starts_with("airline-")));
}

#[test]
fn a_search_without_a_hit_says_what_it_looked_at() {
    let place = Place::recorded();
    let ran = place.say("search no-such-text-anywhere");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("nothing found in") && ran.err.contains("of 6 tasks"), "{ran:?}");
    assert_eq!(place.say("search no-such-text-anywhere --json").ok(), "");
}

#[test]
fn words_patterns_tools_and_failures_select_events() {
    let place = Place::new();
    let lines = [
        r#"{"kind":"message","role":"user","content":"confirm it, then rm the rest"}"#,
        r#"{"kind":"tool_called","call":"1","tool":"Bash","arguments":{"command":"cd x\nrm a"}}"#,
        r#"{"kind":"tool_returned","call":"1","ok":false,"output":"no such file"}"#,
        r#"{"kind":"tool_called","call":"2","tool":"Read","arguments":{"file":"confirm.md"}}"#,
        r#"{"kind":"tool_returned","call":"2","tool":"Read","ok":true,"output":"confirmed"}"#,
    ];
    place.write("t.jsonl", lines.join("\n"));
    place.say("record --user ana --task t t.jsonl").ok();
    place.write("other.jsonl", lines[0]);
    place.say("record --user ana --task other other.jsonl").ok();
    let kinds = |words: &str| -> Vec<(String, String)> {
        let hits = place.lines(&format!("search {words} --task t"));
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut of = hits.iter().map(|hit| (text(&hit["event"]["kind"]), text(&hit["address"])));
        let mut all: Vec<_> = of.by_ref().collect();
        all.iter_mut().for_each(|(_, address)| *address = address.replace("t/0@", ""));
        all
    };
    let names = |words: &str| kinds(words).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
    assert_eq!(names("confirm").len(), 3);
    assert_eq!(names("rm -w"), ["message", "tool_called"]);
    assert_eq!(names("rm -w --kind tool_called"), ["tool_called"]);
    assert_eq!(names("^rm --regex"), [""; 0]);
    assert_eq!(names("(?m)^rm --regex"), ["tool_called"]);
    // A result without a name of a tool belongs to its call.
    assert_eq!(names("--tool bash"), [""; 0]);
    assert_eq!(names("--tool Bash"), ["tool_called", "tool_returned"]);
    assert_eq!(names("--tool Ba* --failed"), ["tool_returned"]);
    assert_eq!(names("--failed"), ["tool_returned"]);
    let counts = place.lines("search rm -w --count");
    let count = |task: &str| {
        let one = counts.iter().find(|count| count["task"] == task);
        one.map_or(0, |count| number(count, "hits"))
    };
    assert_eq!((count("t"), count("other")), (2, 1));
    assert!(place.say("search rm -w --kind tool_called").ok().contains("rm a"));
    assert!(place.say("search rm -w -c").ok().contains("2  t"));
    place.say("search ( --regex").failed(2, "the regular expression");
    for words in ["search", "search --word --failed"] {
        let ran = place.say(words);
        assert!(ran.code == 2 && ran.err.contains("TEXT"), "{ran:?}");
    }
}

#[test]
fn every_run_that_called_rm_is_found_and_no_other() {
    let Some(data) = real_runs() else { return };
    let place = Place::new();
    assert_eq!(place.run(["import", data.join("swe-agent").to_str().unwrap()]).code, 0);
    let found = place.lines("search rm -w --kind tool_called --count");
    let names: Vec<&str> = found.iter().map(|count| count["task"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 9, "{names:?}");
}

#[test]
fn two_lineages_are_the_same_up_to_where_they_part() {
    let place = Place::recorded();
    let same = place.say("compare react react").ok();
    assert!(same.lines().last().unwrap().starts_with("the same: "), "{same}");
    let json = place.json("compare airline-0/0 airline-7");
    let items = json["items"].as_array().unwrap();
    let common = number(&json, "common") as usize;
    let is_alike = |item: &Value| item["op"] == "same" || item["op"] == "said";
    assert!(items[..common].iter().all(is_alike));
    assert!(items.len() > common && !is_alike(&items[common]));
    let mut command = place.command(["compare", "airline-0/0", "airline-7"]);
    let out = Ran::of(command.env("COLUMNS", "80").output().unwrap()).ok();
    assert!(out.lines().nth(1).unwrap().starts_with("A  airline-0/0@"), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    place.say("compare react nope").failed(1, "nope");
}

#[test]
fn histories_are_called_the_same_only_if_their_states_are() {
    let place = Place::new();
    let call = |arguments: &str| {
        format!(
            "{{\"kind\":\"message\",\"role\":\"assistant\",\"content\":\"I look\"}}\n\
             {{\"kind\":\"tool_called\",\"call\":\"c\",\"tool\":\"ls\",\"arguments\":{arguments}}}\n"
        )
    };
    let patch = |value| {
        format!(
            "{{\"kind\":\"variables_patched\",\"form\":\"merge\",\"patch\":{{\"x\":{value}}}}}\n"
        )
    };
    let says =
        |text| format!("{{\"kind\":\"message\",\"role\":\"assistant\",\"content\":\"{text}\"}}\n");
    for (name, lines) in [
        ("a", call("{\"p\":1,\"q\":2}") + &patch(1)),
        ("b", call("{ \"p\": 1, \"q\": 2 }") + &patch(1)),
        ("c", call("{\"p\":1,\"q\":2}") + &patch(2)),
        ("d", says("one") + &patch(1)),
        ("e", says("two") + &patch(1)),
    ] {
        place.write(&format!("{name}.jsonl"), lines);
        place.say(&format!("record --user ana --task {name} {name}.jsonl")).ok();
    }
    let last = |words: &str| place.say(words).ok().lines().last().unwrap().to_owned();
    assert!(last("compare a a").starts_with("the same: "), "{}", last("compare a a"));
    let json = place.json("compare a b");
    assert!(json["items"].as_array().unwrap().iter().all(|item| item["op"] == "same"), "{json}");
    let out = place.say("compare a c").ok();
    assert!(!out.contains("the same") && out.contains("no turn differs: 1 turn"), "{out}");
    assert!(out.contains("the states differ in 1 value: `milepost diff a"), "{out}");
    assert_eq!(place.json("compare a c")["differing_values"], 1);
    let out = place.say("compare d e").ok();
    assert!(!out.contains("the same") && out.contains("1 said otherwise"), "{out}");
    let texts = place.json("compare d e --texts");
    assert_eq!(texts["items"][0]["op"], "changed", "{texts}");
}

#[test]
fn up_to_six_histories_are_next_to_each_other_and_more_are_a_table() {
    let place = Place::recorded();
    // A task alone is all its lineages.
    let json = place.json("compare airline-0");
    assert_eq!(json["addresses"].as_array().unwrap().len(), 4);
    for item in json["items"].as_array().unwrap() {
        assert_eq!(item["turns"].as_array().unwrap().len(), 4);
        assert_eq!(item["ops"].as_array().unwrap().len(), 3);
    }
    for columns in [40, 80, 120, 200] {
        for line in ["compare airline-0", "compare --table airline-*"] {
            let words: Vec<&str> = line.split(' ').collect();
            let mut command = place.command(words);
            let out = command.env("COLUMNS", columns.to_string()).output().unwrap();
            let out = Ran::of(out).ok();
            assert!(out.lines().all(|line| line.chars().count() <= columns), "{columns}: {out}");
        }
    }
    place
        .say("compare airline-0 airline-0/1 airline-7 react run run@4 airline-0/2")
        .failed(1, "--table");
    place.say("compare react").failed(1, "one history");
    place.say("compare --table nope-*").failed(1, "nope-*");
}

#[test]
fn a_table_tells_the_outcome_of_each_lineage_and_where_it_parts() {
    let place = Place::recorded();
    let table = place.json("compare --table airline-*");
    let items = table["items"].as_array().unwrap();
    let of = |address: &str| {
        let starts = |item: &&Value| item["address"].as_str().unwrap().starts_with(address);
        items.iter().find(starts).unwrap().clone()
    };
    assert_eq!(of("airline-0/0")["summary"]["outcome"]["good"], true);
    assert_eq!(of("airline-0/0")["parts"], Value::Null);
    assert_eq!(of("airline-0/2")["summary"]["outcome"]["good"], false);
    let pair = place.json("compare airline-0/0 airline-0/2");
    assert_eq!(of("airline-0/2")["common"], pair["common"]);
    let common = number(&pair, "common") as usize;
    let at_b = |item: &&Value| item["b"] != Value::Null;
    let first = pair["items"].as_array().unwrap()[common..].iter().find(at_b).unwrap().clone();
    assert_eq!(of("airline-0/2")["parts"]["what"], first["b"]["what"]);
}
