//! More than 100 typical mistakes at the command line: each gets the right message, exit code and
//! next step, as text and as JSON.

mod addresses;
mod answers;
mod files;
mod life;
mod words;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use milepost_agent_tests::skipped;
use serde_json::Value;

use crate::common::{Place, Ran, Serving};

/// A command line, its exit code, a part of its message, and a part of its hint.
pub type Row = (&'static str, i32, &'static str, &'static str);

/// A user who owns nothing here.
const OTHER: u32 = 65534;

/// The words of a line. Quotes hold spaces together, and are left out.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quoted) = (None::<String>, false);
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Runs a row as text and as JSON. Returns the errors.
fn wrong(
    (line, code, message, hint): Row,
    command: &dyn Fn(Vec<String>) -> Command,
) -> Option<String> {
    let words = split(line);
    let text = Ran::of(command(words.clone()).output().unwrap());
    let asked = [vec!["--json".to_owned()], words].concat();
    let json = Ran::of(command(asked).output().unwrap());
    let said = format!("{}\n{}", text.err, json.err);
    let fails = |what: &str| Some(format!("milepost {line}: {what}\n{said}"));
    if (text.code, json.code) != (code, code) {
        return fails(&format!("exit codes {} and {}, not {code}", text.code, json.code));
    }
    // The plan of a cleanup is what it was asked for.
    let printed = [text.out, json.out].concat();
    if !printed.is_empty() && !line.starts_with("cleanup") {
        return fails("a failure prints nothing on standard output");
    }
    let Some((before, after)) = text.err.split_once("error: ") else {
        return fails("no message");
    };
    let (first, rest) = after.split_once('\n').unwrap_or((after, ""));
    let is_of_clap = rest.contains("\nFor more information");
    let told = if is_of_clap { after } else { first };
    if !before.is_empty() || !told.contains(message) {
        return fails(&format!("the message has no {message:?}"));
    }
    let hints = rest.matches("hint: ").count();
    if !is_of_clap && (hints != 1 || !rest.starts_with("hint: ")) {
        return fails(&format!("{hints} hints, or not on the next line"));
    }
    if told.contains("see whether") || told.contains("::") {
        return fails("the message has advice, or a name of Rust");
    }
    if !(if is_of_clap { after } else { rest }).contains(hint) {
        return fails(&format!("the hint has no {hint:?}"));
    }
    let Ok(failure) = serde_json::from_str::<Value>(&json.err) else {
        return fails("standard error is no JSON object");
    };
    let of = |name: &str| failure["error"][name].as_str().unwrap_or_default().to_owned();
    if failure["error"]["code"] != code || of("kind").is_empty() {
        return fails("the JSON has another code, or no kind");
    }
    if !of("message").contains(message) {
        return fails(&format!("the JSON's message has no {message:?}"));
    }
    match of("hint").contains(hint) {
        true => None,
        false => fails(&format!("the JSON's hint has no {hint:?}")),
    }
}

#[track_caller]
fn check(groups: &[&[Row]], command: &dyn Fn(Vec<String>) -> Command) {
    let rows = groups.iter().flat_map(|rows| rows.iter());
    let wrong: Vec<String> = rows.clone().filter_map(|row| wrong(*row, command)).collect();
    let count = rows.count();
    assert!(wrong.is_empty(), "{} of {count} are wrong:\n\n{}", wrong.len(), wrong.join("\n"));
}

/// A place with runs, a label, an alias, an id as Claude Code has them, a captured folder, and
/// files that are no runs.
fn place() -> Place {
    let place = Place::recorded();
    place.say("mark run@7 before-fix --alias ckpt-1").ok();
    let line = "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"go\"}\n";
    place.write("hello.jsonl", line);
    place.say("record hello.jsonl --task 635b9f7e-3c41-4b0e-9d6a-0c9b1d2e3f40").ok();
    fs::create_dir(place.path("site")).unwrap();
    place.write("site/a.txt", "one\n");
    place.say("capture site --task airline-7 --label base").ok();
    place.write("hello.txt", "hello\n");
    place.write("empty.jsonl", "");
    place
}

#[test]
fn more_than_a_hundred_mistakes_are_listed() {
    let groups = [
        words::UNKNOWN,
        words::VALUES,
        addresses::TASKS,
        addresses::POINTS,
        files::FILES,
        files::NO_STORE,
        files::KEYS,
        files::LOCKED,
        life::ORDER,
        life::SERVICE,
    ];
    let mut lines: Vec<&str> =
        groups.iter().flat_map(|rows| rows.iter().map(|row| row.0)).collect();
    let all = lines.len();
    lines.sort_unstable();
    lines.dedup();
    assert!(lines.len() > 100, "{} mistakes", lines.len());
    assert!(all - lines.len() < 5, "a line is listed once, save where the place differs");
}

#[test]
fn words_and_values_that_no_command_takes_are_named_with_those_it_takes() {
    let place = place();
    check(&[words::UNKNOWN, words::VALUES], &|words| place.command(words));
}

#[test]
fn addresses_of_what_is_not_there_name_what_is() {
    let place = place();
    check(&[addresses::TASKS, addresses::POINTS], &|words| place.command(words));
}

#[test]
fn a_program_that_has_the_store_open_names_the_same() {
    let place = place();
    let _serving = Serving::of(&place);
    // These need the store itself.
    let itself = ["rollback", "export", "files", "cat"];
    let rows: Vec<Row> = [addresses::TASKS, addresses::POINTS].concat();
    let rows = rows.into_iter().filter(|row| {
        !itself.contains(&row.0.split(' ').next().unwrap()) && !row.0.ends_with("--files")
    });
    check(&[&rows.collect::<Vec<_>>()], &|words| place.command(words));
}

#[test]
fn files_that_are_missing_or_wrong_are_named() {
    let place = place();
    check(&[files::FILES], &|words| place.command(words));
}

#[test]
fn a_folder_without_a_store_says_how_to_make_one() {
    let place = Place::new();
    check(&[files::NO_STORE], &|words| place.command(words));
}

#[test]
fn a_wrong_key_is_told_with_its_option() {
    let place = place();
    for key in ["key", "other"] {
        place.say(&format!("key {key}")).ok();
    }
    place.say("--store keyed --key-file key record hello.jsonl").ok();
    check(&[files::KEYS], &|words| place.command(words));
}

#[test]
fn a_folder_or_file_without_permission_is_told_as_one() {
    let place = place();
    fs::create_dir(place.path("locked")).unwrap();
    place.write("secret", "0123");
    let set = |name: &str, mode| {
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("locked", 0o555);
    set("secret", 0o000);
    set("", 0o755);
    let is_root = rustix::process::geteuid().is_root();
    let command = |words: Vec<String>| {
        let mut command = place.command(words);
        if is_root {
            command.uid(OTHER).gid(OTHER);
        }
        command
    };
    let can_run = command(vec!["--version".into()]).output();
    if !can_run.is_ok_and(|ran| ran.status.success()) {
        skipped("another user cannot run the program");
        return;
    }
    check(&[files::LOCKED], &command);
}

#[test]
fn a_command_at_the_wrong_time_says_what_comes_first() {
    let place = place();
    place.say("restore run@7").ok();
    place.say("undo run").ok();
    check(&[life::ORDER], &|words| place.command(words));
}

#[test]
fn a_service_that_is_not_there_is_named_once() {
    let place = place();
    check(&[life::SERVICE], &|words| place.command(words));
}
