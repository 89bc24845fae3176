//! Every command, as people and as programs see it.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::{Place, Ran, Serving, number, text};

#[test]
fn tasks_are_listed_newest_first() {
    let place = Place::recorded();
    let ids = place.ids("tasks");
    assert_eq!(ids, ["airline-7", "airline-0", "history_only", "tools", "react", "run"]);
    let tasks = place.items("tasks");
    assert_eq!(tasks[0]["user"], "ada");
    assert_eq!(tasks[1]["lineages"].as_array().unwrap().len(), 4);
    assert!(text(&tasks[0], "created").ends_with('Z'));
    for name in ["created_us", "changed_us", "head", "events"] {
        number(&tasks[0], name);
    }
    let out = place.say("tasks").ok();
    assert!(out.starts_with("TASK"), "{out}");
    assert!(out.contains("airline-0"), "{out}");
    assert_eq!(place.items("tasks --user nobody"), json!([]));
    let none = place.say("tasks --user nobody");
    assert!(none.err.contains("no such task") && none.out.is_empty(), "{none:?}");
}

#[test]
fn tasks_are_chosen_by_name_and_outcome_and_ordered() {
    let place = Place::recorded();
    assert_eq!(place.ids("tasks airline-*"), ["airline-7", "airline-0"]);
    let failed = place.items("tasks --failed");
    let has_failed = |task: &Value| {
        let lineages = task["lineages"].as_array().unwrap();
        lineages.iter().any(|lineage| lineage["outcome"]["good"] == false)
    };
    let all = place.items("tasks");
    let all = all.as_array().unwrap();
    let expected: Vec<&Value> = all.iter().filter(|task| has_failed(task)).collect();
    assert!(!expected.is_empty() && expected.len() < all.len());
    assert_eq!(failed.as_array().unwrap().iter().collect::<Vec<_>>(), expected);
    let mut names = place.ids("tasks");
    names.sort();
    assert_eq!(place.ids("tasks --sort name"), names);
    let steps = |task: &Value| number(task, "steps");
    let by_steps = place.items("tasks --sort steps");
    assert!(by_steps.as_array().unwrap().is_sorted_by_key(|task| std::cmp::Reverse(steps(task))));
    // Entries of a sorted list that a limit leaves out are counted.
    let cut = place.say("tasks --sort name --limit 2 --json");
    assert!(cut.err.contains(&format!("{} tasks more", names.len() - 2)), "{cut:?}");
    let listed: Value = serde_json::from_str(&cut.out).unwrap();
    let ids = listed["items"].as_array().unwrap().iter().map(|task| text(task, "id"));
    assert!(ids.eq(&names[..2]), "{cut:?}");
}

#[test]
fn lists_go_on_where_a_limit_ended_them() {
    let place = Place::recorded();
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let ran = place.say(&format!("checkpoints --limit 4{cursor} --json"));
        assert_eq!(ran.code, 0, "{ran:?}");
        let page: Value = serde_json::from_str(&ran.out).unwrap();
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 4);
        found.extend(items.iter().cloned());
        let Some(next) = page["next"].as_str() else {
            break;
        };
        cursor = format!(" --cursor {next}");
    }
    assert_eq!(Value::Array(found), place.items("checkpoints"));
}

#[test]
fn lineages_are_drawn_as_a_tree() {
    let place = Place::recorded();
    let out = place.say("lineages airline-0").ok();
    let shape: Vec<&str> = out.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    let tree = ["0 root", "├─ 1 branch at @15", "│  └─ 3 branch at @20", "└─ 2 branch at @4"];
    assert_eq!(shape, tree, "{out}");
    assert!(out.contains("(active)") && out.contains("trial 3"), "{out}");
    let list = place.json("lineages airline-0");
    assert_eq!(list[3]["id"], 3);
    assert_eq!(list[3]["parent"]["lineage"], 1);
    assert_eq!(list[3]["parent"]["offset"], 20);
    assert_eq!(list[0]["parent"], Value::Null);
    assert_eq!(list[0]["active"], true);
}

#[test]
fn the_log_is_one_event_a_line_newest_first() {
    let place = Place::recorded();
    let out = place.say("log run --events").ok();
    assert_eq!(out.lines().count(), 17);
    assert!(out.lines().last().unwrap().contains("@0"), "{out}");
    assert!(out.contains("user: hello"), "{out}");
    let events = place.lines("log run");
    let offsets: Vec<u64> = events.iter().map(|event| number(event, "offset")).collect();
    assert_eq!(offsets.len(), 17);
    assert_eq!(offsets[16], 16);
    assert_eq!(events[4]["body"]["content"], "hello");
    assert_eq!(events[4]["body"]["agent"], "main");
    assert_eq!(events[4]["kind"], "message");
    let last = place.lines("log run@6 -n 2");
    assert_eq!(last, events[4..6]);
    assert_eq!(place.lines("log run@3"), events[..3]);
    assert_eq!(place.lines("log run -n 0"), [] as [Value; 0]);
}

#[test]
fn show_prints_one_event_and_its_hash() {
    let place = Place::recorded();
    let out = place.say("show run@4").ok();
    assert!(out.contains("run/0@4") && out.ends_with("user:\n    hello\n"), "{out}");
    let shown = place.json("show run@4");
    assert_eq!(shown["task"], "run");
    assert_eq!(text(&shown, "hash").len(), 64);
    assert_eq!(shown["body"]["role"], "user");
    let mark = place.json("show run~1");
    assert_eq!(mark["kind"], "checkpoint_marked");
    assert_eq!(text(&mark, "checkpoint").len(), 64);
}

#[test]
fn a_state_shows_the_last_messages_to_people_and_all_to_programs() {
    let place = Place::recorded();
    let out = place.say("state react").ok();
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(shown["messages"].as_array().unwrap().len(), 3);
    let whole = place.json("state react");
    assert_eq!(whole["messages"].as_array().unwrap().len(), 18);
    assert_eq!(whole["variables"]["info"]["exit_status"], "submitted");
    let held: Value = serde_json::from_str(&place.say("state react --messages all").ok()).unwrap();
    assert_eq!(whole, held, "what is streamed is what is held");
    let none: Value = serde_json::from_str(&place.say("state react --messages none").ok()).unwrap();
    assert!(none.get("messages").is_none_or(|list| list.as_array().is_none_or(Vec::is_empty)));
    let one: Value = serde_json::from_str(&place.say("state react --messages 1").ok()).unwrap();
    assert_eq!(one["messages"].as_array().unwrap().len(), 1);
    assert_eq!(one["message_count"], 18);
    assert_eq!(place.json("state run@6")["step"]["number"], 1);
    assert_eq!(place.say("state react --messages some").code, 2);
}

#[test]
fn checkpoints_are_found_by_metadata_and_status() {
    let place = Place::recorded();
    let all = place.items("checkpoints run");
    let offsets: Vec<u64> = all.as_array().unwrap().iter().map(|mark| number(mark, "at")).collect();
    assert_eq!(offsets, [16, 13, 7]);
    assert_eq!(all[1]["status"], "failure");
    assert_eq!(all[1]["metadata"], json!({"step": 2}));
    assert_eq!(place.items("checkpoints run --status failure").as_array().unwrap().len(), 1);
    assert_eq!(place.items("checkpoints run --where step=1").as_array().unwrap().len(), 1);
    assert_eq!(place.items("checkpoints run --where step=1 --where x=1"), json!([]));
    assert!(place.items("checkpoints").as_array().unwrap().len() > 20);
    let out = place.say("checkpoints run").ok();
    let id: String = text(&all[0], "id").chars().take(12).collect();
    assert!(out.contains(&format!("@{id}")) && out.contains("run/0@16"), "{out}");
}

#[test]
fn a_label_that_is_used_again_moves_and_the_output_names_both_points() {
    let place = Place::recorded();
    assert!(!place.say("mark run@4 good").ok().contains("moved"));
    let out = place.say("mark run@8 good").ok();
    assert!(out.contains("label `good` moved from @4 to @8\n"), "{out}");
    assert!(!place.say("mark run@8 good").ok().contains("moved"), "it stays where it was");
    // In another task it is another label.
    assert!(!place.say("mark react good").ok().contains("moved"));
    assert_eq!(place.json("mark run@4 good")["at"], 4);
}

#[test]
fn a_mark_has_a_label_and_an_address() {
    let place = Place::recorded();
    assert!(place.say("mark run@4 greeted").ok().contains("marked run/0@4 as `greeted`"));
    let marked = place.run(
        ["mark", "run", "end", "--status", "failure", "--metadata"]
            .into_iter()
            .chain(["{\"by\":\"me\"}", "--json"]),
    );
    let marked: Value = serde_json::from_str(&marked.ok()).unwrap();
    assert_eq!(marked["label"], "end");
    assert_eq!(marked["status"], "failure");
    assert_eq!(marked["metadata"], json!({"by": "me"}));
    let id = text(&marked, "id");
    assert_eq!(place.json("show run@greeted")["offset"], 4);
    let by_label = place.json("state run@end");
    assert_eq!(place.json(&format!("state @{}", &id[..8])), by_label);
    assert_eq!(place.json(&format!("state {id}")), by_label);
}

#[test]
fn a_restore_goes_back_in_a_new_lineage_and_can_be_undone() {
    let place = Place::recorded();
    let before = place.json("state run");
    let restored = place.run(["restore", "run@7", "--description", "again", "--json"]);
    let restored: Value = serde_json::from_str(&restored.ok()).unwrap();
    assert_eq!(restored["id"], 1);
    assert_eq!(restored["description"], "again");
    assert_eq!(restored["parent"]["offset"], 7);
    assert_eq!(place.json("state run")["messages"], place.json("state run/0@7")["messages"]);
    assert_eq!(place.json("state run/0"), before, "the lineage it came from is as it was");
    let out = place.say("undo run").ok();
    assert!(out.contains("continues on lineage 0"), "{out}");
    assert_eq!(place.json("state run"), before);
    let out = place.say("restore run@7").ok();
    assert!(out.contains("continues on lineage 2"), "{out}");
    assert_eq!(place.json("undo run")["id"], 0);
}

#[test]
fn a_switch_continues_on_another_lineage_and_undo_and_redo_go_there_and_back() {
    let place = Place::recorded();
    let out = place.say("branch run@7").ok();
    assert!(out.contains("`milepost switch run/1` continues on it"), "{out}");
    let out = place.say("switch run/1").ok();
    let expected = "switched to lineage 1\n\
                    run continues on lineage 1, head @8\n\
                    lineage 0 stays as it is: `milepost undo run` returns to it\n";
    assert_eq!(out, expected);
    let out = place.say("switch run/1").ok();
    assert!(out.starts_with("lineage 1 is the active one already: nothing is changed\n"), "{out}");
    let out = place.say("undo run").ok();
    assert!(out.ends_with("lineage 1 stays: `milepost redo run` takes the undo back\n"), "{out}");
    let redone = place.json("redo run");
    assert_eq!(
        (&redone["id"], &redone["left"], &redone["epoch"]),
        (&1.into(), &0.into(), &4.into())
    );
    assert_eq!(redone["files"], Value::Null);
    place.say("redo run").failed(1, "there is no undo to take back");
    assert_eq!(place.json("lineages run").as_array().unwrap().len(), 2, "none was opened");
}

#[test]
fn a_task_is_started_and_so_is_its_store() {
    let place = Place::new();
    place.write("state.json", r#"{"variables": {"score": 1}}"#);
    let out = place.say("start essay --user bob --initial state.json").ok();
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("made the store ") && lines[0].ends_with("/.milepost"), "{out}");
    assert_eq!(lines[1], "started the task essay of bob");
    assert_eq!(place.json("state essay")["variables"]["score"], 1);
    let again = place.say("start essay");
    again.failed(4, "there is a task `essay`");
    assert!(again.err.contains("`milepost log essay` shows it"), "{again:?}");
    let other = place.json("start other");
    assert_eq!((text(&other, "id"), &other["store_made"]), ("other", &Value::Null));
    let named = place.json("--store elsewhere start third");
    assert!(text(&named, "store_made").ends_with("elsewhere"), "{named}");
    place.write("wrong.json", "{");
    place.say("start fourth --initial wrong.json").failed(2, "wrong.json is not JSON");
    assert_eq!(place.items("tasks").as_array().unwrap().len(), 2);
}

#[test]
fn a_diff_lists_what_changed() {
    let place = Place::recorded();
    let out = place.say("diff run@7 run").ok();
    assert!(out.contains("+ /variables/found: 2"), "{out}");
    assert!(out.contains("~ /step"), "{out}");
    let changes = place.json("diff run@7 run");
    let found = json!({"op": "add", "path": "/variables/found", "value": 2});
    assert!(changes.as_array().unwrap().contains(&found), "{changes}");
    assert_eq!(place.json("diff run run"), json!([]));
    assert!(place.say("diff run run").ok().contains("the same"));
}

#[test]
fn the_json_of_a_diff_is_a_patch_from_one_state_to_the_other() {
    let place = Place::recorded();
    let tasks = place.items("tasks");
    let tasks = tasks.as_array().unwrap();
    let mut points: Vec<String> = ["run@0", "run@7", "run"].map(str::to_owned).to_vec();
    points.extend(tasks.iter().map(|task| task["id"].as_str().unwrap().into()));
    for before in &points {
        for after in &points {
            let patch = place.json(&format!("diff {before} {after}"));
            let patch: json_patch::Patch = serde_json::from_value(patch).unwrap();
            let mut state = place.json(&format!("state {before}"));
            json_patch::patch(&mut state, &patch).unwrap();
            assert_eq!(state, place.json(&format!("state {after}")), "{before} {after}");
        }
    }
}

#[test]
fn verify_counts_what_it_checked() {
    let place = Place::recorded();
    let report = place.json("verify");
    assert_eq!(report["ok"], true);
    assert_eq!(report["tasks"], 6);
    assert_eq!(report["faults"], json!([]));
    assert!(place.say("verify").ok().contains("no fault found"));
    assert_eq!(place.json("verify airline-0")["lineages"], 4);
}

#[test]
fn stats_are_counts_and_sizes() {
    let place = Place::recorded();
    let stats = place.json("stats");
    assert_eq!(stats["tasks"], 6);
    assert!(number(&stats["disk"], "total") > 0);
    let out = place.say("stats").ok();
    assert!(out.lines().any(|line| line.starts_with("tasks") && line.ends_with(" 6")), "{out}");
}

#[test]
fn the_store_is_the_nearest_one_upwards_unless_it_is_named() {
    let place = Place::recorded();
    let deep = place.path("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    let ran = Ran::of(place.command(["tasks"]).current_dir(&deep).output().unwrap());
    assert!(ran.ok().contains("airline-0"));
    let other = Place::new();
    let ran = other.command(["tasks"]).env("MILEPOST_STORE", place.store()).output().unwrap();
    assert!(Ran::of(ran).ok().contains("airline-0"));
    let named = ["--store", "here", "record", "-"];
    let mut child = other.command(named).stdin(Stdio::piped()).spawn().unwrap();
    let line = b"{\"kind\":\"message\",\"role\":\"user\",\"content\":\"x\"}\n";
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), line).unwrap();
    assert!(child.wait().unwrap().success());
    let ran = other.command(["--store", "here", "tasks"]);
    let ran = { ran }.env("MILEPOST_STORE", place.store()).output().unwrap();
    assert!(Ran::of(ran).ok().contains("stdin-"), "--store goes before MILEPOST_STORE");
}

#[test]
fn there_is_no_colour_off_a_terminal_unless_it_is_wanted() {
    let place = Place::recorded();
    assert!(!place.say("log run").ok().contains('\x1b'));
    assert!(place.say("--color always log run").ok().contains('\x1b'));
    let plain = place.say("log run").ok();
    assert_eq!(place.say("--color never log run").ok(), plain);
    assert!(!place.say("--color always --json log run").ok().contains('\x1b'));
}

#[test]
fn text_from_a_log_cannot_steer_the_terminal() {
    let place = Place::new();
    let evil = "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"a\\u001b[2Jb\\u202ec\"}\n";
    let file = place.write("evil.jsonl", evil);
    place.run([std::ffi::OsStr::new("record"), file.as_os_str()]).ok();
    for command in ["log evil", "show evil@1", "state evil", "diff evil@1 evil"] {
        let out = place.say(command).ok();
        assert!(!out.contains('\x1b') && !out.contains('\u{202e}'), "{command}: {out}");
    }
    assert_eq!(place.json("show evil@1")["body"]["content"], "a\u{1b}[2Jb\u{202e}c");
}

#[test]
fn a_number_that_has_no_value_is_printed_word_for_word() {
    let place = Place::new();
    let line =
        "{\"kind\":\"tool_called\",\"call\":\"c\",\"tool\":\"t\",\"arguments\":[1e400,1.50]}\n";
    let file = place.write("odd.jsonl", line);
    place.run([std::ffi::OsStr::new("record"), file.as_os_str()]).ok();
    assert!(place.say("log odd --json").ok().contains("[1e400,1.50]"));
    assert!(place.say("show odd@1").ok().contains("[1e400,1.50]"));
}

#[test]
fn every_reader_prints_numbers_and_texts_that_a_rust_value_cannot_hold() {
    let place = Place::new();
    let values = format!(r#"{{"n":1e400,"d":{},"s":"\ud83d"}}"#, "1".repeat(400));
    let lines = [
        r#"{"kind":"message","role":"user","content":"half \ud83d a pair"}"#.to_owned(),
        format!(r#"{{"kind":"tool_called","call":"c","tool":"t","arguments":{values}}}"#),
        format!(r#"{{"kind":"tool_returned","call":"c","output":{values}}}"#),
        format!(r#"{{"kind":"variables_patched","patch":{values}}}"#),
    ];
    place.write("odd.jsonl", lines.join("\n"));
    place.say("record odd.jsonl").ok();
    let readers = [
        "log odd",
        "show odd@1",
        "show odd@2",
        "show odd@4",
        "state odd",
        "states odd /variables/n",
        "diff odd@1 odd",
        "compare odd odd@2",
        "search 1e400",
        "search half",
        "blame odd /variables/n",
        "transcript odd",
        "replay odd --speed max",
        "tasks",
        "checkpoints odd",
        "lineages odd",
    ];
    let read = || {
        for reader in readers {
            place.say(reader).ok();
            let json = place.say(&format!("{reader} --json")).ok();
            // The answers of these contain the value.
            let has_value = ["show odd@2", "show odd@4", "state odd", "search 1e400"];
            assert!(!has_value.contains(&reader) || json.contains("1e400"), "{reader}: {json}");
        }
    };
    read();
    place.run(["bisect", "odd", "--when", "exists /variables/n", "--json"]).ok();
    place.say("export odd -o odd.export").ok();
    place.say("share odd -o odd.html").ok();
    place.say("import odd.export --dry-run").ok();
    // Through the socket of a program that has the store open.
    let _serving = Serving::of(&place);
    read();
}

#[test]
fn usage_errors_have_a_code_of_their_own() {
    let place = Place::new();
    for line in ["frobnicate", "log", "--color sometimes tasks", "record", "mark"] {
        let ran = place.say(line);
        assert_eq!(ran.code, 2, "{line}: {ran:?}");
    }
    assert!(place.say("--help").ok().contains("TASK@LABEL"));
    assert!(place.say("--version").ok().starts_with("milepost "));
    assert!(!place.say("--help").ok().contains("demo-worker"));
}
