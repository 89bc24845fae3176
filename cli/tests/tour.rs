//! docs/TOUR.md shows real output: every command of it is run, in its order.

use std::path::{Path, PathBuf};

use crate::common::Place;

fn page() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join("docs/TOUR.md")
}

/// The page with what each command prints here.
fn written_anew(page: &str) -> String {
    let place = Place::new();
    let mut written = String::new();
    let mut block = None;
    let mut file = String::new();
    for line in page.lines() {
        match (block, line) {
            (_, "```") => {
                if block == Some("jsonl") {
                    place.write("run.jsonl", &file);
                }
                block = None;
            }
            (None, line) => block = line.strip_prefix("```"),
            (Some("jsonl"), line) => file.push_str(&format!("{line}\n")),
            // Output of an earlier command.
            (Some("console"), line) if !line.starts_with("$ ") => continue,
            (Some(_), _) => {}
        }
        written.push_str(line);
        written.push('\n');
        if let (Some("console"), Some(command)) = (block, line.strip_prefix("$ ")) {
            written.push_str(&printed(&place, command));
        }
    }
    written
}

/// Returns the output of a command on both streams.
fn printed(place: &Place, command: &str) -> String {
    let milepost = Path::new(env!("CARGO_BIN_EXE_milepost")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut shell = place.command_of("sh", ["-ec", &format!("{command} 2>&1")]);
    shell.env("PATH", format!("{}:{path}", milepost.display()));
    let output = shell.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{command}: {text}");
    text
}

/// Returns the page without times, ids and hashes, which differ each time.
fn timeless(page: &str) -> String {
    let mut text = String::new();
    for line in page.lines() {
        // The grouping of events in blocks differs from run to run.
        if let Some((tasks, _)) = line.split_once(" lineages, ") {
            text.push_str(tasks);
            continue;
        }
        let words = line.split(' ').map(|word| {
            let bare = word.trim_start_matches('@');
            let is_id = bare.len() >= 12 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
            let is_time = bare.len() >= 20 && bare.ends_with('Z') && bare.as_bytes()[10] == b'T';
            match (is_id, is_time) {
                (true, _) => "ID",
                (_, true) => "TIME",
                _ => word,
            }
        });
        text.push_str(words.collect::<Vec<_>>().join(" ").trim_end());
        text.push('\n');
    }
    text
}

#[test]
fn the_tour_shows_what_its_commands_print() {
    let shown = std::fs::read_to_string(page()).unwrap();
    let now = written_anew(&shown);
    if std::env::var_os("MILEPOST_TOUR").is_some() {
        std::fs::write(page(), &now).unwrap();
        return;
    }
    assert_eq!(
        timeless(&shown),
        timeless(&now),
        "`MILEPOST_TOUR=write cargo test -p milepost-cli --test runner tour::` writes it anew"
    );
    assert!(now.matches("\n$ milepost ").count() >= 15);
}
