//! Impossible requests: a clear error, the next step, the right exit code, nothing half written.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufWriter, Write};
use std::os::unix::ffi::OsStrExt as _;

use milepost::events::{MarkCause, MarkStatus};
use milepost::ids::Origin;
use milepost::{CheckpointId, Engine, Json, Lineage, Mark, Options};
use milepost_agent_tests::skipped;
use milepost_codec::{CheckpointMarked, checkpoint_id};

use crate::common::{Place, Ran, fixture};

#[test]
fn what_is_not_there_is_named() {
    let place = Place::recorded();
    for command in ["log nope", "show nope@1", "state nope", "lineages nope", "undo nope"] {
        place.say(command).failed(1, "`nope`");
    }
    for command in ["checkpoints nope", "verify nope", "restore nope", "mark nope x"] {
        place.say(command).failed(1, "`nope`");
    }
    place.say("show run/7").failed(1, "lineage 7");
    place.say("show run@nope").failed(1, "`nope`");
    place.say("show run~9").failed(1, "run");
    place.say("show @0123456789abcdef").failed(1, "0123456789abcdef");
    place.say("diff run nope").failed(1, "`nope`");
}

#[test]
fn what_is_no_address_is_refused_with_the_forms_there_are() {
    let place = Place::recorded();
    place.say("show @beef").failed(1, "@beef");
    place.say("show run/x").failed(1, "run/x");
    place.say("show run~x").failed(1, "run~x");
    place.say("show run%zz").failed(1, "%");
}

#[test]
fn a_restore_to_no_point_is_refused_and_the_points_are_named() {
    let place = Place::recorded();
    let lineages = place.say("lineages run").ok();
    let refused = place.say("restore run");
    refused.failed(1, "is at this point already");
    assert!(refused.err.contains("`run~1`"), "{refused:?}");
    assert_eq!(place.say("lineages run").ok(), lineages);
}

#[test]
fn an_offset_past_the_head_is_refused_and_the_head_is_named() {
    let place = Place::recorded();
    for command in ["log run@18", "show run@18", "state run@99", "restore run@18"] {
        place.say(command).failed(1, "17");
    }
    place.say("show run@17").failed(1, "head");
    place.say("log run@17").ok();
}

#[test]
fn a_label_that_would_be_an_offset_is_refused() {
    let place = Place::recorded();
    place.say("mark run 12").failed(1, "`12`");
    place.run(["mark", "run", "x", "--metadata", "[1]"]).failed(2, "[1]");
    place.say("undo run").failed(1, "run");
    place.say("tasks --cursor zz").failed(1, "`zz`");
    place.say("checkpoints --where step").failed(2, "`step`");
}

#[test]
fn a_store_that_is_open_elsewhere_is_not_written_to() {
    let place = Place::recorded();
    let engine = Engine::open(place.store(), Options::default()).unwrap();
    let pid = std::process::id().to_string();
    place.say("--wait 0s mark run here").failed(1, &pid);
    let file = fixture("run.jsonl");
    place.run([OsStr::new("--wait=0s"), OsStr::new("record"), file.as_os_str()]).failed(1, &pid);
    engine.close().unwrap();
    place.say("tasks").ok();
}

#[test]
fn a_folder_that_is_no_store_is_left_alone() {
    let place = Place::new();
    place.say("tasks").failed(1, "no store");
    place.write("file.txt", "mine");
    place.say("--store . tasks").failed(1, "store");
    place.say("--store missing tasks").failed(1, "missing");
    let file = fixture("run.jsonl");
    let args = [OsStr::new("--store"), OsStr::new("."), OsStr::new("record"), file.as_os_str()];
    place.run(args).failed(1, "no Milepost store");
    let names: Vec<_> = fs::read_dir(place.dir.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing was written beside the file: {names:?}");
}

#[test]
fn a_store_of_a_newer_format_is_refused() {
    let place = Place::recorded();
    for name in ["store", "store.copy"] {
        let settings = place.store().join(name);
        let text = fs::read_to_string(&settings).unwrap();
        let newer = text.replace("\"milepost\": 1", "\"milepost\": 99");
        let newer = newer.replace("\"check\": \"", "\"check\": \"of another form");
        fs::write(&settings, newer).unwrap();
    }
    place.say("tasks").failed(1, "99");
    place.say("tasks").failed(1, "update milepost");
}

#[test]
fn damage_has_an_exit_code_of_its_own() {
    let place = Place::recorded();
    fs::write(place.store().join("store"), "{\"milepost\":").unwrap();
    fs::remove_file(place.store().join("store.copy")).unwrap();
    place.say("tasks").failed(3, "damaged");
}

#[test]
fn verify_finds_damage_in_a_chunk() {
    let place = Place::new();
    let long = "x y z ".repeat(100_000);
    place.write("long.jsonl", format!("{{\"kind\":\"prompt_changed\",\"prompt\":\"{long}\"}}\n"));
    place.say("record long.jsonl").ok();
    let packs = place.store().join("packs");
    let pack = fs::read_dir(packs).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&pack, bytes).unwrap();
    let ran = place.say("verify");
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("fault") && ran.err.contains("hint: "), "{ran:?}");
    let ran = place.say("verify --json");
    assert_eq!(ran.code, 3, "{ran:?}");
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["ok"], false);
    assert!(!report["faults"].as_array().unwrap().is_empty());
}

#[test]
fn a_store_of_another_user_is_opened_only_on_trust() {
    let place = Place::recorded();
    // Only root can give a folder away.
    if std::os::unix::fs::chown(place.store(), Some(12_345), None).is_err() {
        skipped("only root can make a store of another user");
        return;
    }
    place.say("tasks").failed(1, "12345");
    place.say("tasks").failed(1, "--trust");
    place.say("--trust tasks").ok();
}

#[test]
fn an_empty_input_is_an_error_and_leaves_nothing() {
    let place = Place::new();
    place.write("empty.jsonl", "");
    place.say("record empty.jsonl").failed(1, "empty.jsonl: empty");
    assert!(!place.store().exists());
    place.say("record -").failed(1, "standard input: empty");
    place.write("blank.jsonl", "\n\n  \n");
    place.say("record blank.jsonl").failed(1, "nothing but empty lines");
    place.say("record missing.jsonl").failed(1, "missing.jsonl");
    fs::create_dir(place.path("folder")).unwrap();
    place.say("record folder").failed(1, "folder");
    assert!(place.ids("tasks").is_empty());
}

#[test]
fn a_trajectory_that_cannot_be_read_writes_nothing() {
    let place = Place::new();
    place.write("bad.traj", "{\n  \"trajectory\": [\n    oops\n");
    place.say("record bad.traj").failed(1, "bad.traj:3:");
    place.write("other.traj", "{\"trajectory\": 3}");
    place.say("record other.traj").failed(1, "`trajectory`");
    place.write("none.traj", "{\"a\": 3}");
    place.say("record none.traj").failed(1, "no `trajectory`");
    place.write("latin.traj", b"{\"history\":[\n\"\xe9\"]}");
    place.say("record latin.traj").failed(1, "latin.traj:2: invalid UTF-8");
    place.write("results.json", "[{\"task_id\": 1, \"traj\": [{\"content\": \"x\"}]}]");
    place.say("record results.json").failed(1, "no `role`");
    assert!(place.ids("tasks").is_empty());
}

#[test]
fn a_trajectory_is_not_recorded_into_a_task_that_exists() {
    let place = Place::recorded();
    let before = place.items("tasks");
    for name in ["react.traj", "airline.json"] {
        let file = fixture(name);
        place.run([OsStr::new("record"), file.as_os_str()]).failed(4, "exists already");
    }
    assert_eq!(place.items("tasks"), before);
}

#[test]
fn a_line_of_100_megabytes_is_skipped_without_being_held() {
    let place = Place::new();
    let mut file = BufWriter::new(fs::File::create(place.path("long.jsonl")).unwrap());
    let message = |file: &mut dyn Write, content: &[u8], times: usize| {
        file.write_all(b"{\"kind\":\"message\",\"role\":\"user\",\"content\":\"").unwrap();
        (0..times).for_each(|_| file.write_all(content).unwrap());
        file.write_all(b"\"}\n").unwrap();
    };
    message(&mut file, b"before", 1);
    message(&mut file, &[b'x'; 1_000_000], 100);
    message(&mut file, b"after", 1);
    file.flush().unwrap();
    let ran = place.say("record long.jsonl");
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains("long.jsonl:2: a line of 100000046 bytes is over the limit"),
        "{ran:?}"
    );
    let events = place.lines("log long");
    assert_eq!(events[1]["body"]["content"], "before");
    assert_eq!(events[2]["body"]["content"], "after");
}

#[test]
fn an_event_over_the_limit_is_refused_and_the_limit_can_be_raised() {
    let place = Place::new();
    let content = "x".repeat(2_000_000);
    let line = format!("{{\"kind\":\"message\",\"role\":\"user\",\"content\":\"{content}\"}}\n");
    place.write("large.jsonl", &line);
    let ran = place.say("record --event-max 1900000 large.jsonl");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("large.jsonl:1: an event of 20000"), "{ran:?}");
    assert!(place.ids("tasks").is_empty());
    place.say("record --event-max 2100000 large.jsonl").ok();
    place.write(
        "large.traj",
        format!("{{\"history\":[{{\"role\":\"user\",\"content\":\"{content}\"}}]}}"),
    );
    place.say("record --task t --event-max 1000 large.traj").failed(1, "over the limit of 1000");
    assert_eq!(place.ids("tasks"), ["large"]);
}

/// Two checkpoints whose ids begin alike are rare, but can be looked for: the id is a digest of
/// things that are known before the mark is made.
#[test]
fn a_prefix_of_two_checkpoints_is_ambiguous() {
    let place = Place::new();
    let engine = Engine::open(place.store(), Options::default()).unwrap();
    let tasks = ["first-of-two", "second-of-two"].map(|id| engine.start_task(id, "ada").unwrap());
    let origins = tasks.each_ref().map(|task| origin(&place, task.id()));
    let mut seen = HashMap::new();
    for number in 0..200_000_u32 {
        seen.insert(prefix(id_of(tasks[0].lineage(), origins[0], number)), number);
    }
    let pair = (0..2_000_000).find_map(|number| {
        let found = seen.get(&prefix(id_of(tasks[1].lineage(), origins[1], number)))?;
        Some([*found, number])
    });
    let pair = pair.expect("200,000 times 2,000,000 pairs meet in 32 bits");
    let marked = [0, 1].map(|at| tasks[at].checkpoint(mark(pair[at])).unwrap().id);
    assert_eq!(prefix(marked[0]), prefix(marked[1]));
    drop(tasks);
    engine.close().unwrap();
    let id = marked[0].to_string();
    place.say(&format!("show @{}", &id[..8])).failed(1, "several");
    place
        .say(&format!("restore @{}", &id[..8]))
        .failed(1, "`milepost checkpoints --json` lists whole ids");
    place.say(&format!("show @{id}")).ok();
}

const TIME_US: u64 = 1_700_000_000_000_000;

fn metadata(number: u32) -> Json {
    Json::new(format!("{{\"n\":{number}}}")).unwrap()
}

fn mark(number: u32) -> Mark {
    Mark::new().metadata(metadata(number)).time_us(TIME_US)
}

fn id_of(lineage: &Lineage, origin: Origin, number: u32) -> CheckpointId {
    let body = CheckpointMarked {
        cause: MarkCause::Manual,
        status: MarkStatus::Success,
        metadata: Some(metadata(number)),
        ..CheckpointMarked::default()
    };
    checkpoint_id(origin, lineage.id(), lineage.head().unwrap(), TIME_US, &body)
}

fn prefix(id: CheckpointId) -> [u8; 4] {
    *id.0.first_chunk().unwrap()
}

/// Returns the random origin of a task, which follows its name and user in the journal.
fn origin(place: &Place, task: &str) -> Origin {
    let mut needle = task.as_bytes().to_vec();
    needle.extend(b"\x03ada");
    for entry in fs::read_dir(place.store().join("journal")).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let at = bytes.windows(needle.len()).position(|window| window == needle);
        if let Some(rest) = at.and_then(|at| bytes.get(at + needle.len()..)) {
            return Origin(*rest.first_chunk().unwrap());
        }
    }
    panic!("{task} is not in the journal");
}

#[test]
fn a_wrong_key_is_told_with_the_option_that_names_another() {
    let place = Place::new();
    place.write("run.jsonl", "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"go\"}\n");
    for key in ["key", "other"] {
        place.say(&format!("key {key}")).ok();
    }
    place.say("--key-file key record run.jsonl").ok();
    for line in ["tasks", "--key-file other tasks"] {
        let ran = place.say(line);
        ran.failed(1, "key");
        assert!(ran.err.contains("hint: `--key-file FILE` names"), "{ran:?}");
    }
    place.say("--store plain record run.jsonl").ok();
    let ran = place.say("--store plain --key-file key tasks");
    ran.failed(1, "without a key");
    assert!(ran.err.contains("hint: leave out --key-file"), "{ran:?}");
}

#[test]
fn the_hint_at_help_names_the_command_that_was_refused() {
    let place = Place::recorded();
    let ran = place.run(["start", ""]);
    assert!(ran.err.contains("`milepost help start` says what it takes"), "{ran:?}");
}

#[test]
fn a_folder_without_a_name_that_a_task_can_have_needs_a_task() {
    let place = Place::new();
    place.say("init").ok();
    let folder = place.path("x").with_file_name(OsStr::from_bytes(b"b\xff"));
    fs::create_dir(&folder).unwrap();
    for args in [&["capture", "."][..], &["run", "--", "true"]] {
        let run = |args: &[&str]| {
            let mut command = place.command(args);
            Ran::of(command.current_dir(&folder).output().unwrap())
        };
        let ran = run(args);
        ran.failed(1, "has no name that a task can have");
        assert!(ran.err.contains("hint: --task NAME names the task"), "{ran:?}");
        let named = [&args[..1], &["--task", "t"], &args[1..]].concat();
        assert_eq!(run(&named).code, 0);
    }
}
