//! Output of every command on one store, which does not change: `screens/store.jsonl`, made by
//! `screens/make`.
//!
//! `cargo insta review` accepts the current screens, and so does
//! `INSTA_UPDATE=always cargo test -p milepost-cli --test runner screens::`.

use std::path::Path;

use crate::common::Place;

/// The store, as `import` makes it of its file: with the same hashes and times each time.
fn place() -> Place {
    let place = Place::new();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screens/store.jsonl");
    place.run(["import".as_ref(), file.as_os_str()]).ok();
    place
}

/// The words of a line, with those in quotes as one.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words
}

/// Returns command lines, their output, and each exit code other than 0.
fn shown(place: &Place, lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let ran = place.run(words(line));
        text.push_str(&format!("$ milepost {line}\n{}{}", ran.out, ran.err));
        if ran.code != 0 {
            text.push_str(&format!("[exit code {}]\n", ran.code));
        }
        text.push('\n');
    }
    text
}

/// Compares with the accepted screens. Sizes on the disk and new ids and times differ each time,
/// and are left out.
fn same(name: &str, place: &Place, text: &str) {
    let dir = place.dir.path().canonicalize().unwrap();
    let text = text.replace(&*dir.to_string_lossy(), "[here]");
    let text = text.replace(&*place.dir.path().to_string_lossy(), "[here]");
    insta::with_settings!({
        filters => [
            (r"\b\d+(\.\d+)? (B|KiB|MiB|GiB)\b", "[size]"),
            (r"\b\d+(\.\d+)? m?s\b", "[duration]"),
            (r"\bpid \d+\b", "[pid]"),
        ],
        omit_expression => true,
        prepend_module_to_snapshot => false,
        snapshot_path => "screens",
    }, { insta::assert_snapshot!(name, text) });
}

/// Compares what these lines show, on a store of their own.
fn screen(name: &str, lines: &[&str]) {
    let place = place();
    same(name, &place, &shown(&place, lines));
}

#[test]
fn lists() {
    screen(
        "lists",
        &[
            "tasks --utc",
            "tasks --utc --limit 2",
            "tasks --user nobody",
            "tasks --json --limit 1",
            "lineages run",
            "lineages airline-0",
            "lineages run --json",
            "checkpoints",
            "checkpoints run",
            "checkpoints run --where score=1",
            "checkpoints run --status failure",
            "checkpoints run --json --limit 1",
            "pins run",
            "pins react",
        ],
    );
}

#[test]
fn log() {
    screen(
        "log",
        &[
            "log run --utc",
            "log run/0 --utc",
            "log run/0 --events --utc",
            "log run -n 3 --reverse --events --utc",
            "log run --graph --utc",
            "log airline-0 --graph -n 20 --utc",
            "log run --step 9 --full",
            "log run --kind message --grep wide --utc",
            "log react -n 4 --utc",
            "log run -n 2 --json",
        ],
    );
}

#[test]
fn events_and_states() {
    screen(
        "events_and_states",
        &[
            "show run@early",
            "show run@10",
            "show react@3",
            "show run@10 --json",
            "state run",
            "state run@early --messages 1",
            "state run --messages none --json",
        ],
    );
}

#[test]
fn differences() {
    screen(
        "differences",
        &[
            "diff run@early run",
            "diff run@early run --color always",
            "diff run@early run --json",
            "diff run react@2",
            "diff run run",
            "diff run/0@with-files run/0 --files",
            "diff run/0@with-files run/0 --files --json",
        ],
    );
}

#[test]
fn story() {
    screen(
        "story",
        &[
            "blame run /variables/score",
            "blame run /variables --history",
            "blame run /messages/0 --json",
            "bisect run --when '/variables/score < 0.5'",
            "bisect run --when '/variables/score < 0.5' --json",
            "replay run --speed max --longest 0ms",
            "replay run --check",
        ],
    );
}

#[test]
fn files() {
    screen(
        "files",
        &[
            "files run/0@with-files",
            "files run/0",
            "files run/0 --json",
            "files react",
            "cat run/0 text",
            "cat run/0 nothing",
            "cleanup --keep 1 --dry-run",
        ],
    );
}

#[test]
fn health() {
    screen(
        "health",
        &[
            "verify",
            "verify run --states",
            "stats",
            "stats --user ada",
            "compact --dry-run",
            "recover",
            "trust --show",
        ],
    );
}

#[test]
fn refusals() {
    screen(
        "refusals",
        &[
            "show run@99",
            "show run@16",
            "log nope",
            "loog run",
            "log run --kind messag",
            "log run --steps 3",
            "state run@nope",
            "state run@with-files",
            "show @0123456789",
            "blame run variables",
            "bisect run --when 'score <'",
            "bisect run --when '/nothing = 1'",
            "checkpoints run --where score",
            "mark run@3 17",
            "restore run@nope",
            "undo react",
            "redo react",
            "switch run",
            "switch run@3",
            "switch run/9",
            "start run",
            "start other --initial nothing.json",
            "checkout run",
            "new other",
            "pin run@2",
            "resume react",
            "export nope",
            "import nothing.jsonl",
            "import --as other .milepost",
            "record nothing.jsonl",
            "--store elsewhere tasks",
            "--server nowhere tasks",
            "chekpoints run",
            "delete run",
            "erase run@5",
        ],
    );
}

/// Commands whose help is shown.
const HELP: &[&str] = &[
    "",
    "demo",
    "record",
    "start",
    "import",
    "export",
    "tasks",
    "lineages",
    "log",
    "replay",
    "show",
    "state",
    "blame",
    "bisect",
    "checkpoint",
    "checkpoints",
    "mark",
    "branch",
    "switch",
    "restore",
    "rollback",
    "undo",
    "redo",
    "recover",
    "diff",
    "capture",
    "run",
    "files",
    "cat",
    "verify",
    "doctor",
    "repair",
    "anchor",
    "key",
    "trust",
    "pause",
    "resume",
    "stop",
    "guide",
    "edit",
    "cleanup",
    "pin",
    "unpin",
    "pins",
    "delete",
    "erase",
    "compact",
    "stats",
    "serve",
    "config",
    "token",
    "completions",
    "man",
    "openapi",
];

#[test]
fn help() {
    let place = Place::new();
    let mut text = String::new();
    for name in HELP {
        let line = format!("{name} -h");
        let shown = shown(&place, &[line.trim()]);
        // Options of every command are listed once.
        let own = shown.split("\nEverywhere:\n").collect::<Vec<_>>();
        match own[..] {
            [before, after] if !name.is_empty() => {
                let behind = after.find("\n\n").map_or("", |at| &after[at..]);
                text.push_str(&format!("{before}{behind}"));
            }
            _ => text.push_str(&shown),
        }
    }
    same("help", &place, &text);
}
