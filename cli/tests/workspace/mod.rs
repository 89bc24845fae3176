//! Files of a workspace: captured, listed, read and compared.

mod diff;
mod recover;
mod rollback;
mod switch;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::common::{Place, Ran, number, text};

/// A store with the task `essay`, and a folder `work` with a few files.
fn place() -> Place {
    let place = Place::new();
    place.write("run.jsonl", "{\"kind\":\"step_finished\",\"step\":1}\n");
    place.say("record --task essay --user ada run.jsonl").ok();
    fs::create_dir_all(place.path("work/src")).unwrap();
    place.write("work/draft.md", "one\ntwo\nthree\n");
    place.write("work/src/main.rs", "fn main() {}\n");
    place.write("work/picture", b"\x89PNG\0\0\xff");
    symlink("draft.md", place.path("work/link")).unwrap();
    set_mode(&place, "work/src/main.rs", 0o644);
    place
}

fn set_mode(place: &Place, name: &str, mode: u32) {
    fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
}

/// A name that is not UTF-8.
fn odd_name() -> OsString {
    OsString::from_vec(b"na\xffme".to_vec())
}

/// 3 MiB that do not get smaller.
fn noise() -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..3 << 20).map(|_| next()).collect()
}

#[track_caller]
fn capture(place: &Place, label: &str) -> String {
    place.say(&format!("capture work --task essay --label {label}")).ok()
}

#[test]
fn a_capture_says_what_it_took_and_one_of_nothing_new_says_so() {
    let place = place();
    let out = place.say("capture work --task essay").ok();
    assert!(out.starts_with("captured 3 files, 34 B: 3 read, "), "{out}");
    assert!(!out.contains("left out"), "{out}");
    assert_eq!(place.say("capture work --task essay").ok(), "nothing changed\n");
    // A mark is made all the same.
    let out = capture(&place, "same");
    assert!(out.starts_with("nothing changed\nmarked as `same`\ncheckpoint @"), "{out}");
    place.say("files essay@same").ok();
}

#[test]
fn a_capture_for_programs_has_its_numbers_as_text() {
    let place = place();
    let report = place.json("capture work --task essay --label first");
    assert_eq!(report["task"], "essay");
    assert!(text(&report, "folder").ends_with("/work"), "{report}");
    assert_eq!(number(&report, "files"), 3);
    assert_eq!(number(&report, "bytes"), 34);
    for name in ["appended", "read", "stored", "skips"] {
        number(&report, name);
    }
    assert_eq!(text(&report, "root").len(), 64);
    let ids = place.ids("checkpoints essay");
    assert_eq!(text(&report, "checkpoint"), ids[0]);
    let again = place.json("capture work --task essay");
    assert_eq!(again["root"], report["root"]);
    assert_eq!(again["appended"], Value::Null);
    assert_eq!(again["checkpoint"], Value::Null);
}

#[test]
fn the_folder_is_the_current_one_and_the_store_in_it_is_left_out() {
    let place = place();
    let out = place.say("capture --task essay --label all").ok();
    assert!(out.contains("1 left out (milepost files essay --skips)"), "{out}");
    let files = place.say("files essay").ok();
    assert!(files.contains(" work/draft.md\n"), "{files}");
    assert!(!files.contains(".milepost"), "{files}");
    let skips = place.say("files essay --skips").ok();
    assert_eq!(skips.split_whitespace().collect::<Vec<_>>(), ["store", "0", ".milepost"]);
    let skips = place.json("files essay --skips");
    assert_eq!(skips, json!([{"path": ".milepost", "reason": "store", "size": 0}]));
    assert_eq!(place.say("files essay work --skips").ok(), "nothing was left out\n");
}

#[test]
fn limits_leave_files_out_and_forgetting_lets_go_of_ignored_ones() {
    let place = place();
    let ran = place.say("capture work --task essay --max-file 13");
    assert!(ran.out.starts_with("captured 2 files, 20 B: "), "{ran:?}");
    assert!(ran.code == 0 && ran.err.contains("left out by size: draft.md (14 B);"), "{ran:?}");
    let skips = place.json("files essay --skips");
    assert_eq!(skips, json!([{"path": "draft.md", "reason": "large", "size": 14}]));
    assert_eq!(place.say("capture work --task essay --max-total 20").code, 0);
    let skips = place.json("files essay --skips");
    assert!(!skips.as_array().unwrap().is_empty(), "{skips}");
    assert_eq!(skips[0]["reason"], "limit");

    place.say("capture work --task essay").ok();
    place.write("work/.gitignore", "draft.md\n");
    place.say("capture work --task essay").ok();
    place.say("files essay draft.md").ok();
    place.say("capture work --task essay --forget-ignored").ok();
    place.say("files essay draft.md").failed(1, "draft.md is not in the capture");
    assert!(place.path("work/draft.md").exists());
}

#[test]
fn what_is_no_workspace_is_refused_and_home_unless_one_insists() {
    let place = place();
    let at_home = |args: &[&str]| {
        let mut command = place.command(args);
        Ran::of(command.env("HOME", place.path("work")).output().unwrap())
    };
    let refused = at_home(&["capture", "work", "--task", "essay"]);
    refused.failed(1, "it is your home");
    assert!(refused.err.contains("--anyway"), "{refused:?}");
    at_home(&["capture", "work", "--task", "essay", "--anyway"]).ok();
    place.say("capture nowhere --task essay").failed(1, "nowhere");
    place.say("capture run.jsonl --task essay --anyway").failed(1, "is no folder");
    let in_store = place.say("capture .milepost --task essay");
    in_store.failed(1, "inside the store");
    place.say("capture work --task essay --label 12").failed(1, "");
    assert_eq!(place.say("capture work --task essay --max-file many").code, 2);
}

#[test]
fn a_task_that_is_not_there_and_one_without_a_capture_say_what_to_do() {
    let place = place();
    let missing = place.say("files nobody");
    missing.failed(1, "nobody");
    assert!(missing.err.contains("milepost tasks"), "{missing:?}");
    for command in
        ["files essay", "files essay --skips", "cat essay draft.md", "diff essay essay --files"]
    {
        let ran = place.say(command);
        ran.failed(1, "no folder was captured before essay");
        assert!(ran.err.contains("milepost capture DIR --task essay"), "{ran:?}");
        let name = command.replace("essay", "nobody");
        place.say(&name).failed(1, "nobody");
    }
    // The capture is behind this point.
    capture(&place, "first");
    place.say("files essay@0").failed(1, "no folder was captured before essay/0@0");
}

#[test]
fn files_of_a_point_are_written_elsewhere_without_a_trace() {
    let place = place();
    capture(&place, "first");
    place.write("work/draft.md", "later");
    let before = place.json("lineages essay");
    let out = place.say("files essay@first --to look").ok();
    assert!(out.contains("3 files") && out.contains("in look"), "{out}");
    let read = |path: &str| std::fs::read_to_string(place.path(path)).unwrap();
    assert_ne!(read("look/draft.md"), "later");
    assert_eq!(read("look/src/main.rs").len(), 13);
    assert_eq!(place.json("lineages essay"), before);
    place.say("files essay@first --to look").failed(1, "is not empty");
    let form = place.json("files essay@first --to again");
    assert_eq!((&form["files"], &form["to"]), (&3.into(), &"again".into()));
    // The next roll back knows the folder that was captured.
    place.say("rollback essay@first --files work --theirs draft.md").ok();
    assert_eq!(read("work/draft.md"), read("look/draft.md"));
}

#[test]
fn files_are_listed_with_mode_and_size() {
    let place = place();
    capture(&place, "first");
    let out = place.say("files essay@first").ok();
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines.len(), 5, "{out}");
    assert_eq!(lines[4], "-rw-r--r--           13 src/main.rs");
    assert!(lines[1].starts_with('l'), "{out}");
    assert!(lines[1].ends_with(" link -> draft.md"), "{out}");
    assert!(lines[3].starts_with('d'), "{out}");
    let below = place.say("files essay ./src/").ok();
    assert_eq!(below.lines().collect::<Vec<_>>(), lines[3..], "a folder, and what is below it");

    let list = place.json("files essay");
    let paths: Vec<_> = list.as_array().unwrap().iter().map(|e| text(e, "path")).collect();
    assert_eq!(paths, ["draft.md", "link", "picture", "src", "src/main.rs"]);
    assert_eq!(list[1]["target"], "draft.md");
    assert_eq!(list[3]["kind"], "directory");
    let file = &list[4];
    assert_eq!((text(file, "mode"), number(file, "size")), ("0644", 13));
    assert_eq!(text(file, "hash").len(), 64);
    let none = place.say("files essay other");
    none.failed(1, "other is not in the capture");
    place.say("files essay ../work").failed(1, "is no path in a tree");
}

#[test]
fn one_of_something_is_said_as_one() {
    let place = place();
    for name in ["draft.md", "picture", "link"] {
        fs::remove_file(place.path("work").join(name)).unwrap();
    }
    let out = place.say("capture work --task essay").ok();
    assert!(out.starts_with("captured 1 file, 13 B: 1 read, "), "{out}");
    let log = place.say("log essay --events -n 1").ok();
    assert!(log.contains(" 1 file, 13 bytes"), "{log}");
    let checked = place.say("verify").ok();
    assert!(checked.starts_with("checked 1 task, 1 lineage, "), "{checked}");
    place.write("one.jsonl", "{\"kind\":\"step_started\",\"step\":1}\nno\n");
    let ran = place.say("record --task other --user ada one.jsonl");
    assert!(ran.err.contains("1 line could not be recorded"), "{ran:?}");
}

#[test]
fn an_empty_folder_has_no_files() {
    let place = place();
    fs::create_dir(place.path("empty")).unwrap();
    place.say("capture empty --task essay").ok();
    assert_eq!(place.say("files essay").ok(), "the folder was empty\n");
    assert_eq!(place.json("files essay"), json!([]));
}

#[test]
fn cat_prints_the_bytes_and_nothing_else() {
    let place = place();
    capture(&place, "first");
    fs::remove_file(place.path("work/draft.md")).unwrap();
    assert_eq!(place.say("cat essay@first draft.md").ok(), "one\ntwo\nthree\n");
    let picture = place.command(["cat", "essay", "picture"]).output().unwrap();
    assert_eq!(picture.stdout, b"\x89PNG\0\0\xff");
    assert_eq!(
        place.json("cat essay src/main.rs"),
        json!({"path": "src/main.rs", "mode": "0644", "size": 13, "content": "fn main() {}\n"})
    );
    let picture = place.json("cat essay picture");
    assert_eq!(picture["content"], json!({"base64": "iVBORwAA/w=="}));
    let none = place.say("cat essay other");
    none.failed(1, "other is not in the capture");
    assert!(none.err.contains("milepost files essay"), "{none:?}");
    place.say("cat essay src").failed(1, "is a folder");
    place.say("cat essay link").failed(1, "is a symlink");
    place.say("cat essay /etc/passwd").failed(1, "is no path in a tree");
}

#[test]
fn a_large_file_comes_back_as_it_was() {
    let place = place();
    let bytes = noise();
    place.write("work/large", &bytes);
    capture(&place, "large");
    let out = place.command(["cat", "essay", "large"]).output().unwrap();
    assert!(out.stdout == bytes, "{} bytes", out.stdout.len());
}

#[test]
fn a_damaged_file_is_said_to_be_so_with_its_path() {
    let place = place();
    place.write("work/large", noise());
    capture(&place, "large");
    let packs = fs::read_dir(place.store().join("packs")).unwrap();
    let pack = packs.map(|entry| entry.unwrap().path()).max().unwrap();
    let mut bytes = fs::read(&pack).unwrap();
    bytes[1 << 20] ^= 1;
    fs::write(&pack, bytes).unwrap();
    place.say("cat essay large --json").failed(3, "large: pack 1 at byte ");
    assert_eq!(place.say("cat essay draft.md").ok(), "one\ntwo\nthree\n");
}

#[test]
fn what_a_repair_lost_is_stored_again_by_the_next_capture() {
    let place = place();
    let bytes = noise();
    place.write("work/large", &bytes);
    capture(&place, "large");
    // Until the stat cache is believed.
    while number(&place.json("capture work --task essay"), "read") > 0 {}
    let pack = place.store().join("packs");
    let packs = fs::read_dir(pack).unwrap();
    let pack = packs.map(|entry| entry.unwrap().path()).max().unwrap();
    let mut packed = fs::read(&pack).unwrap();
    packed[1 << 20] ^= 1;
    fs::write(&pack, packed).unwrap();

    let says = "1 stat cache of a captured folder is dropped, because chunks are lost";
    let dry = place.say("repair --dry-run");
    assert_eq!(dry.code, 3, "{dry:?}");
    assert!(dry.out.contains(&format!("would be mended: {says}")), "{dry:?}");
    assert_eq!(number(&place.json("capture work --task essay"), "read"), 0);
    let repair = place.say("repair --json");
    assert_eq!(repair.code, 3, "{repair:?}");
    let report: Value = serde_json::from_str(&repair.out).unwrap();
    let mended = report["mended"].as_array().unwrap();
    let mended = mended.iter().filter(|one| text(one, "message").starts_with(says));
    assert_eq!(mended.count(), 1, "{report}");

    let again = place.json("capture work --task essay");
    assert_eq!((number(&again, "read"), &again["appended"]), (4, &Value::Null));
    assert!(number(&again, "stored") > 0, "{again}");
    let out = place.command(["cat", "essay", "large"]).output().unwrap();
    assert!(out.stdout == bytes, "{} bytes", out.stdout.len());
    // A repair is reported until it is acknowledged.
    assert_eq!(place.say("verify").code, 3);
    place.say("verify --acknowledge");
    place.say("verify").ok();
    // Without damage, acknowledging removes nothing.
    while number(&place.json("capture work --task essay"), "read") > 0 {}
    assert_eq!(place.say("repair").ok(), "nothing to mend\n");
    assert_eq!(number(&place.json("capture work --task essay"), "read"), 0);
}

#[test]
fn a_dry_run_of_a_cleanup_counts_what_goes_with_captures_and_compaction_takes_it() {
    let place = place();
    let chunks = || number(&place.json("verify"), "chunks");
    capture(&place, "shared");
    let shared = chunks();
    place.write("work/large", noise());
    capture(&place, "large");
    let with_large = chunks();
    fs::remove_file(place.path("work/large")).unwrap();
    place.write("work/draft.md", "other\n");
    capture(&place, "third");
    // Another task has what the first capture has, so that stays.
    place.say("record --task beside --user ada run.jsonl").ok();
    place.write("work/draft.md", "one\ntwo\nthree\n");
    place.say("capture work --task beside").ok();

    let all = chunks();
    let dry = place.json("cleanup --task essay --keep 1 --dry-run");
    let captures = &dry["captures"];
    // The first one stays too: it is what the other task captured.
    assert_eq!(number(captures, "captures"), 1);
    let (gone, bytes) = (number(captures, "chunks"), number(captures, "bytes"));
    assert!(gone > 10 && gone <= with_large - shared + 2, "{dry}");
    assert!((3 << 20..7 << 19).contains(&bytes), "{dry}");
    let out = place.say("cleanup --task essay --keep 1 --dry-run").ok();
    let line =
        format!("with them 1 capture of a folder, and {gone} chunks that nothing else needs");
    assert!(out.contains(&line), "{out}");
    let some = place.json("cleanup --task essay --keep 3 --dry-run");
    assert_eq!(number(&some["captures"], "captures"), 0);

    let done = place.json("cleanup --task essay --keep 1 --yes");
    assert_eq!(done["captures"], Value::Null);
    place.say("compact --force").ok();
    place.say("files beside").ok();
    assert_eq!(place.say("cat beside draft.md").ok(), "one\ntwo\nthree\n");
    // The base has the states of both reducers.
    let left = chunks();
    assert!((all - gone..=all - gone + 4).contains(&left), "{all} - {gone}: {left}");
    place.say("verify").ok();
}

#[test]
fn a_name_that_is_no_utf_8_is_shown_and_taken() {
    let place = place();
    let name = odd_name();
    fs::write(place.path("work").join(&name), "odd\n").unwrap();
    capture(&place, "odd");
    let out = place.say("files essay").ok();
    assert!(out.contains(" na\\xffme\n"), "{out}");
    let of = |command: &str| {
        let words = [OsStr::new(command), OsStr::new("essay"), &name];
        place.run(words).ok()
    };
    assert!(of("files").ends_with(" na\\xffme\n"));
    assert_eq!(of("cat"), "odd\n");
    let list = place.json("files essay");
    let path = json!({"base64": "bmH/bWU="});
    assert!(list.as_array().unwrap().iter().any(|e| e["path"] == path), "{list}");
    fs::write(place.path("work").join(&name), "odder\n").unwrap();
    capture(&place, "odder");
    let out = place.say("diff essay@odd essay@odder --files").ok();
    assert!(out.contains("--- a/na\\xffme\n+++ b/na\\xffme\n"), "{out}");
    let changes = place.json("diff essay@odd essay@odder --files");
    assert_eq!((&changes[0]["path"], changes.as_array().unwrap().len()), (&path, 1));
    assert_eq!(name.as_bytes(), b"na\xffme");
}
