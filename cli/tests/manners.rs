//! Conventions of commands for terminals, pipes and signals.

use std::io::Read as _;
use std::process::Stdio;

use crate::common::{Place, Ran};

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::new();
    let line = r#"{"kind":"message","role":"user","content":"a line that is not short"}"#;
    place.write("run.jsonl", format!("{line}\n").repeat(4000).as_bytes());
    place.say("record run.jsonl").ok();
    for asked in ["log run", "log run --json", "log run --graph", "export run"] {
        let mut command = place.command(asked.split(' '));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut begun = [0; 16];
        child.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert!(ended.stderr.is_empty(), "{asked}: {ended:?}");
        assert!(ended.status.success(), "{asked}: {ended:?}");
    }
}

#[test]
fn what_cannot_be_printed_is_an_error_that_says_where() {
    let place = Place::recorded();
    for asked in ["log run", "tasks --json", "state run", "export", "doctor"] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut command = place.command(asked.split(' '));
        let ended = command.stdout(full.unwrap()).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{asked}: {said}");
        assert!(said.contains("standard output: "), "{asked}: {said}");
    }
}

#[test]
fn columns_stand_below_each_other_where_characters_are_wide() {
    let place = Place::new();
    let line = "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"x\"}\n";
    place.write("run.jsonl", line.as_bytes());
    for task in ["日本語", "plain"] {
        place.run(["record", "run.jsonl", "--task", task, "--user", "ana"]).ok();
    }
    let out = place.say("tasks").ok();
    // A wide character takes two columns.
    let columns = |line: &str| {
        let before = line.split('✓').next().unwrap();
        before.chars().map(|c| 1 + usize::from(c > '\u{2e80}')).sum()
    };
    let rows: Vec<usize> = out.lines().filter(|line| line.contains('✓')).map(columns).collect();
    assert_eq!(rows.len(), 2, "{out}");
    assert_eq!(rows[0], rows[1], "{out}");
}

#[test]
fn no_line_of_a_report_is_longer_than_a_narrow_terminal_but_one_word_or_a_command() {
    let place = Place::recorded();
    for line in ["doctor", "compare react tools", "compare run run@4", "checkpoints run"] {
        let mut command = place.command(line.split(' '));
        let ran = Ran::of(command.env("COLUMNS", "40").output().unwrap());
        assert_eq!(ran.code, 0, "{ran:?}");
        for shown in ran.out.lines().filter(|shown| !shown.contains('`')) {
            let last = shown.split_whitespace().last().unwrap_or_default();
            let is_a_word = shown.trim_start() == last;
            assert!(shown.chars().count() <= 40 || is_a_word, "{line}: {shown:?}\n{}", ran.out);
        }
    }
}
