//! Databases, folders of checkpoint files, exports and shares, damaged at each position of a
//! sample: nothing panics, a command with omissions fails, and the input is named.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::common::{Place, Ran, fixture};

/// Positions of a file that are damaged, more of them at night, and the bytes that are overwritten
/// at each.
const POSITIONS: usize = 4;
const OVERWRITTEN: usize = 16;

/// Detection of content that an import does not have.
#[derive(Clone, Copy)]
enum Checked {
    /// The input has hashes: a complete import has every event unchanged.
    Content,
    /// A changed value may go unseen, such as the parent of a row: a complete import has as many
    /// checkpoints.
    Count,
}

/// The events of each task, or the number of all checkpoints.
fn content(place: &Place, checked: Checked) -> Vec<String> {
    if let Checked::Count = checked {
        let all = place.json("checkpoints --limit 1000");
        return vec![all["items"].as_array().unwrap().len().to_string()];
    }
    let log = |task: &String| {
        let lineages = place.json(&format!("lineages {task}"));
        let lineages = lineages.as_array().unwrap().iter();
        let events = lineages.map(|lineage| {
            let line = format!("log {task}/{} --json --reverse", lineage["id"]);
            place.run(line.split(' ')).ok()
        });
        format!("{task}: {}", events.collect::<Vec<_>>().join("\n"))
    };
    place.ids("tasks").iter().map(log).collect()
}

/// Imports into a store of its own.
fn import(path: &Path, checked: Checked) -> (Ran, Vec<String>) {
    let place = Place::new();
    place.say("init").ok();
    let ran = place.run(["import", &path.display().to_string()]);
    (ran, content(&place, checked))
}

/// Damages a file at each position of a sample, and imports `input`.
fn each_damage(input: &Path, file: &Path, checked: Checked) {
    let whole = fs::read(file).unwrap();
    let (ran, before) = import(input, checked);
    assert_eq!(ran.code, 0, "{ran:?}");
    let name = input.file_name().unwrap().to_str().unwrap();
    let positions = if std::env::var_os("MILEPOST_NIGHTLY").is_some() { 40 } else { POSITIONS };
    let step = (whole.len() / positions).max(1);
    for at in (0..whole.len()).step_by(step) {
        let mut zeros = whole.clone();
        let end = (at + OVERWRITTEN).min(whole.len());
        zeros[at..end].fill(0);
        let mut ones = whole.clone();
        ones[at..end].fill(0xFF);
        for (damage, bytes) in [("cut", &whole[..at]), ("zeros", &zeros), ("ones", &ones)] {
            fs::write(file, bytes).unwrap();
            let (ran, after) = import(input, checked);
            let case = format!("{}: {damage} at {at}: {ran:?}", file.display());
            assert!([0, 1, 3, 4].contains(&ran.code) && !ran.err.contains("panic"), "{case}");
            match ran.code {
                0 => assert_eq!(after, before, "{case}"),
                _ => assert!(ran.err.contains(name), "{case}"),
            }
        }
    }
    fs::write(file, whole).unwrap();
}

#[test]
fn a_damaged_database_is_named_where_something_of_it_is_left_out() {
    let place = Place::new();
    let database = place.path("chat.sqlite");
    fs::copy(fixture("langgraph/checkpoints.sqlite"), &database).unwrap();
    each_damage(&database, &database, Checked::Count);
}

#[test]
fn a_damaged_checkpoint_file_is_named_where_something_of_it_is_left_out() {
    let place = Place::new();
    let folder = place.path("checkpoints");
    fs::create_dir(&folder).unwrap();
    for step in 0..3 {
        let checkpoint = json!({"id": format!("ckpt-exec-{step}"), "execution_id": "exec",
            "step_name": format!("step_{step}"), "step_index": step,
            "timestamp": format!("2024-11-16T10:30:{step:02}.123456"), "state": {"at": step},
            "context": {}, "variables": {"rows": step}, "status": "success", "error": null,
            "metadata": {}});
        fs::write(folder.join(format!("ckpt-exec-{step}.json")), checkpoint.to_string()).unwrap();
    }
    for step in [0, 2] {
        let file = folder.join(format!("ckpt-exec-{step}.json"));
        each_damage(&folder, &file, Checked::Content);
    }
}

#[test]
fn a_damaged_export_or_share_is_named_and_nothing_of_it_is_imported() {
    let from = Place::new();
    let line = r#"{"kind":"message","role":"user","content":"hello"}"#;
    from.write("run.jsonl", format!("{line}\n").repeat(20));
    from.say("record run.jsonl").ok();
    from.say("mark run one").ok();
    from.say("branch run@4").ok();
    let place = Place::new();
    let export = place.write("whole.export", from.say("export").ok());
    each_damage(&export, &export, Checked::Content);
    let share = place.path("whole.html");
    from.run(["share", "run", "-o", share.to_str().unwrap()]);
    each_damage(&share, &share, Checked::Content);
}
