//! Checkpoints and events that a policy removes or keeps: `cleanup`, pins, and their effect on
//! other commands.

use milepost::events::Message;
use milepost::retention::Policy;
use milepost::state::Chunks;
use milepost::{Engine, Event, Mark, Options, Reducer};
use serde_json::{Value, json};

use crate::common::{Place, lists, number, row, text};

#[test]
fn a_cleanup_keeps_the_newest_and_the_rest_goes() {
    let place = Place::recorded();
    let before = place.json("state run");
    let out = place.say("cleanup --task run --keep 1 --yes").ok();
    assert_eq!(row(&out, "run")[1..8], ["ada", "3", "2", "1", "0", "1", "0"]);
    assert!(out.contains("1 of 1 task: 2 checkpoints and 16 events are gone"), "{out}");
    assert!(out.contains("kept: 1 checkpoint\n"), "{out}");
    assert!(out.ends_with("`milepost compact` gives the bytes back\n"), "{out}");
    assert_eq!(place.ids("checkpoints run").len(), 1);
    assert_eq!(place.ids("checkpoints airline-0").len(), 11, "other tasks stay");
    assert_eq!(place.json("state run"), before);
    place.say("show run@2").failed(1, "trimmed");
    let out = place.say("cleanup --task run --keep 1 --yes").ok();
    assert_eq!(out, "nothing goes; kept: 1 checkpoint of 1 task\n");
    assert_eq!(place.json("verify --states")["ok"], true);
}

#[test]
fn seed_003_a_backup_before_a_cleanup_holds_what_goes_and_comes_back_as_a_copy() {
    let place = Place::recorded();
    let log = |task: &str| {
        // The ids of checkpoints are those of the copy.
        let same = |mut event: Value| {
            event["body"].as_object_mut().unwrap().remove("parent");
            event["body"].take()
        };
        place.lines(&format!("log {task}")).into_iter().map(same).collect::<Vec<_>>()
    };
    let (events, checkpoints) = (log("run"), place.ids("checkpoints run").len());
    let done = place.json("cleanup --task run --keep 1 --yes --backup");
    let file = place.store().join(done["backup"].as_str().unwrap());
    assert_eq!(file.parent().unwrap(), place.store().join("backups"));
    assert!(log("run").len() < events.len());
    let import = ["import", file.to_str().unwrap(), "--as", "before"];
    place.run(import).ok();
    assert_eq!(log("before")[1..], events[1..], "the copy's first event names its origin");
    assert_eq!(place.ids("checkpoints before").len(), checkpoints);
    // A compaction names it, and leaves it there.
    let compacted = place.json("compact");
    assert_eq!(compacted["untouched"], json!([file.display().to_string()]));
    assert!(file.is_file());
    assert_eq!(place.json("verify --states")["ok"], true);
    // Nothing goes any more: no backup.
    let done = place.json("cleanup --task run --keep 1 --yes --backup");
    assert!(done.get("backup").is_none(), "{done}");
}

#[test]
fn a_cleanup_whose_backup_fails_removes_nothing() {
    let place = Place::recorded();
    std::fs::write(place.store().join("backups"), "a file").unwrap();
    let before = place.ids("checkpoints");
    let failed = place.say("cleanup --keep 1 --yes --backup");
    assert!(failed.code == 1 && failed.err.contains("backups"), "{failed:?}");
    assert_eq!(place.ids("checkpoints"), before);
}

#[test]
fn programs_get_every_task_and_people_those_of_which_something_goes() {
    let place = Place::recorded();
    let out = place.say("cleanup --keep 3 --marks-only --dry-run").ok();
    assert!(!out.lines().any(|line| line.starts_with("run")), "{out}");
    assert!(out.contains("3 of 6 tasks: 10 checkpoints and 0 events"), "{out}");
    let done = place.json("cleanup --keep 3 --marks-only --yes");
    assert_eq!(done["dry_run"], false);
    let tasks = done["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 6);
    let named = |name: &str| tasks.iter().find(|task| task["id"] == name).unwrap();
    let (run, react) = (named("run"), named("react"));
    assert_eq!((number(run, "go"), number(run, "stay")), (0, 3));
    assert_eq!((number(react, "go"), number(react, "stay")), (1, 3));
    assert_eq!(react["removed"].as_array().unwrap().len(), 1);
    assert_eq!(react["error"], Value::Null);
    assert_eq!(number(&done["total"], "tasks"), 6);
    assert_eq!(number(&done["total"], "go"), 10);
}

#[test]
fn a_dry_run_of_a_cleanup_says_what_would_go_and_changes_nothing() {
    let place = Place::recorded();
    let before = lists(&place);
    let out = place.say("cleanup --keep 1 --dry-run").ok();
    assert!(out.starts_with("TASK") && out.contains("would go"), "{out}");
    assert!(out.contains("nothing was changed"), "{out}");
    let planned = place.json("cleanup --keep 1 --dry-run");
    assert_eq!(planned["dry_run"], true);
    assert_eq!(lists(&place), before);
    let mut done = place.json("cleanup --keep 1 --yes");
    done["dry_run"] = json!(true);
    // Only a plan counts what goes with captured folders.
    done["captures"] = planned["captures"].clone();
    assert_eq!(done, planned, "what was planned is what was done");
}

#[test]
fn a_cleanup_without_a_policy_says_what_each_would_remove_and_removes_nothing() {
    let place = Place::recorded();
    let before = lists(&place);
    for line in ["cleanup", "cleanup --yes", "cleanup --undo 0 --yes", "cleanup --dry-run"] {
        let ran = place.say(line);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert_eq!(row(&ran.out, "--keep 1 ")[2..4], ["20", "6"], "{ran:?}");
        assert!(ran.out.contains("--younger-than 30d") && ran.out.contains("--drop-lineages"));
        assert!(ran.err.contains("hint: say what is kept"), "{ran:?}");
    }
    let ran = place.say("cleanup --task run --json");
    assert_eq!(ran.code, 2, "{ran:?}");
    let forms: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(forms[1]["policy"], "--keep 1");
    assert_eq!(number(&forms[1]["total"], "go"), 2);
    assert_eq!(lists(&place), before);
}

#[test]
fn a_cleanup_that_nobody_confirmed_shows_its_plan_and_removes_nothing() {
    let place = Place::recorded();
    let before = lists(&place);
    let ran = place.say("cleanup --keep 1");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.out.contains("would go") && ran.err.contains("--yes"), "{ran:?}");
    let ran = place.say("cleanup --keep 1 --json");
    assert_eq!(ran.code, 2, "{ran:?}");
    let plan: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(plan["dry_run"], true);
    assert_eq!(lists(&place), before);
    // A cleanup that removes nothing asks no question.
    place.say("cleanup --keep 1000").ok();
}

#[test]
fn lineages_stay_unless_the_command_line_gives_them_away() {
    let place = Place::recorded();
    place.say("restore run@7").ok();
    place.say("mark run here").ok();
    place.say("restore run@here").ok();
    let lineages = place.json("lineages run").as_array().unwrap().len();
    place.say("cleanup --task run --keep 1 --undo 0 --yes").ok();
    assert_eq!(place.json("lineages run").as_array().unwrap().len(), lineages);
    let done = place.json("cleanup --task run --keep 1 --undo 0 --drop-lineages --yes");
    assert_eq!(done["tasks"][0]["dropped"], json!([0]));
    let left = place.json("lineages run").as_array().unwrap().len();
    assert_eq!(left, lineages - 1);
}

#[test]
fn a_cleanup_of_marks_only_keeps_all_events() {
    let place = Place::recorded();
    let log = place.lines("log run");
    let out = place.say("cleanup --user ada --keep 1 --marks-only --yes").ok();
    assert_eq!(row(&out, "run")[1..8], ["ada", "3", "2", "1", "0", "0", "0"]);
    assert_eq!(place.ids("checkpoints run").len(), 1);
    assert_eq!(place.lines("log run"), log);
    assert_eq!(place.say("cleanup --user nobody --keep 1 --yes").ok(), "no tasks\n");
}

#[test]
fn an_age_keeps_what_is_younger() {
    let place = Place::recorded();
    for age in ["90s", "30m", "12h", "7d"] {
        let plan = place.json(&format!("cleanup --younger-than {age} --dry-run"));
        assert_eq!(number(&plan["total"], "go"), 0, "{age}");
    }
    let plan = place.json("cleanup --younger-than 0s --dry-run");
    assert_eq!(number(&plan["total"], "stay"), 0);
    let plan = place.json("cleanup --younger-than 0s --keep 2 --task run --dry-run");
    assert_eq!(number(&plan["total"], "stay"), 2);
}

#[test]
fn a_pinned_checkpoint_outlives_every_cleanup() {
    let place = Place::recorded();
    let ids = place.ids("checkpoints run");
    let before = place.json("state run@7");
    let args = ["pin", "run~3", "--reason", "the first step"];
    let out = place.run(args).ok();
    assert!(out.contains("pinned run/0@7") && out.contains(&ids[2]), "{out}");
    let pins = place.json("pins run");
    assert_eq!(pins[0]["checkpoint"], ids[2].as_str());
    assert_eq!(pins[0]["reason"], "the first step");
    assert_eq!((number(&pins[0], "at"), &pins[0]["lineage"]), (7, &json!(0)));
    let out = place.say("pins run").ok();
    assert!(out.contains("run/0@7") && out.contains("the first step"), "{out}");

    let done = place.json("cleanup --task run --keep 0 --yes");
    assert_eq!(number(&done["tasks"][0], "pinned"), 1);
    assert_eq!(number(&done["tasks"][0], "stay"), 1);
    assert_eq!(place.ids("checkpoints run"), ids[2..]);
    assert_eq!(place.json("state run@7"), before);

    let id = format!("@{}", &ids[2][..12]);
    assert!(place.say(&format!("unpin {id}")).ok().starts_with("no longer pinned"));
    assert!(place.say(&format!("unpin {id}")).ok().starts_with("was not pinned"));
    assert_eq!(place.say("pins run").ok(), "no pins\n");
    assert_eq!(place.json("pins run"), json!([]));
    let pinned = place.json(&format!("pin {id}"));
    assert_eq!(pinned["checkpoint"], ids[2].as_str());
    assert_eq!(pinned["reason"], Value::Null);
    assert_eq!(place.json(&format!("unpin {id}"))["was_pinned"], true);
}

#[test]
fn only_a_checkpoint_can_be_pinned() {
    let place = Place::recorded();
    for line in ["pin run@7", "unpin run@7", "pin run"] {
        let ran = place.say(line);
        ran.failed(1, "names no checkpoint");
        assert!(ran.err.contains("milepost mark run/0@"), "{ran:?}");
    }
    place.say("pin nope~1").failed(1, "`nope`");
    place.say("pins nope").failed(1, "`nope`");
    let reason = "x".repeat(1025);
    place.run(["pin", "run~1", "--reason", &reason]).failed(1, "1024");
}

#[test]
fn the_stats_of_a_user_are_those_of_each_task_and_a_total() {
    let place = Place::recorded();
    let stats = place.json("stats --user ada");
    assert_eq!(stats["user"], "ada");
    let tasks = stats["tasks"].as_array().unwrap();
    assert_eq!((tasks.len(), &tasks[5]["id"]), (6, &json!("run")));
    assert_eq!(number(&tasks[5], "events"), 17);
    assert_eq!(number(&tasks[1], "lineages"), 4);
    for name in ["lineages", "events", "checkpoints", "bytes", "disk_bytes"] {
        let sum: u64 = tasks.iter().map(|task| number(task, name)).sum();
        assert_eq!(number(&stats["total"], name), sum, "{name}");
    }
    let out = place.say("stats --user ada").ok();
    assert_eq!(row(&out, "run")[1..4], ["1", "17", "3"]);
    assert!(out.contains("6 tasks: 10 lineages, 168 events, 26 checkpoints"), "{out}");
    assert_eq!(place.say("stats --user bob").ok(), "no tasks of user `bob`\n");
    assert_eq!(place.json("stats --user bob")["tasks"], json!([]));
}

#[test]
fn the_last_events_of_a_trimmed_log_are_those_that_are_there() {
    let place = Place::recorded();
    place.say("cleanup --task run --keep 2 --yes").ok();
    let offsets = |line: &str| -> Vec<u64> {
        let events = place.lines(line);
        events.iter().map(|event| number(event, "offset")).collect()
    };
    assert_eq!(offsets("log run"), [13, 14, 15, 16]);
    assert_eq!(offsets("log run -n 2"), [15, 16]);
    assert_eq!(offsets("log run -n 10"), [13, 14, 15, 16]);
    let ran = place.say("show run@5");
    ran.failed(1, "offset 5");
    assert!(ran.err.contains("milepost log run/0@17"), "{ran:?}");
}

#[test]
fn a_lineage_whose_parent_was_dropped_stands_at_the_top_of_the_tree() {
    let place = Place::recorded();
    place.say("restore run@7").ok();
    place.say("mark run here").ok();
    place.say("restore run@here").ok();
    place.say("cleanup --task run --keep 1 --undo 0 --drop-lineages --yes").ok();
    let out = place.say("lineages run").ok();
    let lines: Vec<_> = out.lines().skip(1).collect();
    assert!(lines[0].starts_with("1 restore at @7"), "{out}");
    assert!(lines[1].starts_with("└─ 2 restore"), "{out}");
    place.say("undo run").ok();
    let ran = place.say("undo run");
    ran.failed(1, "dropped lineage 0");
    assert!(ran.err.contains("milepost lineages run"), "{ran:?}");
}

#[test]
fn wrong_words_are_a_usage_error() {
    let place = Place::recorded();
    for line in [
        "delete",
        "delete run --user ada",
        "cleanup --user ada --task run",
        "cleanup --keep x",
        "cleanup --keep -1",
        "pin",
        "compact now",
    ] {
        assert_eq!(place.say(line).code, 2, "{line}");
    }
    let ran = place.say("cleanup --younger-than 7w");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("s, m, h or d"), "{ran:?}");
    for line in ["cleanup --task nope --keep 1 --yes", "delete nope --yes", "erase nope@1 --yes"] {
        place.say(line).failed(1, "`nope`");
    }
}

/// Counts events.
struct Counter;

impl Reducer for Counter {
    type State = u64;
    fn name(&self) -> &str {
        "test.counter"
    }
    fn version(&self) -> u32 {
        1
    }
    fn initial(&self) -> u64 {
        0
    }
    fn apply(&self, state: &mut u64, _: &Event, _: &dyn Chunks) -> milepost::Result<()> {
        *state += 1;
        Ok(())
    }
    fn encode(&self, state: &u64) -> milepost::Result<Vec<u8>> {
        Ok(state.to_le_bytes().to_vec())
    }
    fn decode(&self, bytes: &[u8]) -> milepost::Result<u64> {
        Ok(u64::from_le_bytes(bytes.try_into().unwrap()))
    }
}

#[test]
fn a_task_that_cannot_be_cleaned_up_is_named_and_the_others_are_done() {
    let place = Place::recorded();
    let engine = Engine::open(place.store(), Options::default().reducer(Counter)).unwrap();
    let task = engine.start_task("counted", "ada").unwrap();
    for round in 0..2 {
        for n in 0..4 {
            task.append(Message::text("user", "x")).unwrap();
            task.checkpoint(Mark::new().label(format!("c-{round}-{n}"))).unwrap();
        }
        // Now its base has a state of a reducer that the command does not have.
        if round == 0 {
            engine.retention().retain(&Policy::new().keep(1).task("counted")).unwrap();
        }
    }
    engine.close().unwrap();
    let ran = place.say("cleanup --keep 1 --yes");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(row(&ran.out, "run").contains(&"2"), "{ran:?}");
    let said = ran.out.lines().find(|line| line.starts_with("counted: "));
    assert!(said.unwrap().contains("test.counter"), "{ran:?}");
    assert!(ran.err.contains("error: 1 task could not") && ran.err.contains("--marks-only"));
    let ran = place.say("cleanup --keep 1 --json --yes");
    assert_eq!(ran.code, 1, "{ran:?}");
    let form: Value = serde_json::from_str(&ran.out).unwrap();
    let failed = &form["tasks"].as_array().unwrap()[6];
    assert!(text(failed, "error").contains("test.counter"), "{form}");
    place.say("cleanup --keep 1 --marks-only --yes").ok();
}
