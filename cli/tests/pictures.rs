//! docs/pictures shows real output: the pictures are made from the output of the command.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::Place;

/// Width of a character and height of a line, in pixels.
const CHAR: usize = 8;
const LINE: usize = 20;
const MARGIN: usize = 16;

fn picture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs/pictures").join(name)
}

/// The output of the demo, without its times and with the numbers of one run: a process that is
/// killed has recorded a few steps more or less.
fn timeless(out: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in out.lines() {
        // Commands to look further follow, which name the folder.
        if line.starts_with("Look around") {
            break;
        }
        let line = match line.rsplit_once("  (") {
            Some((line, time)) if time.ends_with("s)") => line,
            _ => line,
        };
        lines.push(fixed(line));
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// Parts of the output that vary, as `*`, and what one run had there.
const VARYING: [(&str, &[&str]); 7] = [
    ("An optimizer records itself in *", &["/tmp/milepost-demo"]),
    ("  acknowledged before the kill: * events; lost: 0", &["3,468"]),
    ("  picked up from its last checkpoint, at iteration *", &["1100"]),
    ("  verified * events: 0 faults", &["12,212"]),
    ("0 root, head @*, * events (killed)  score *", &["3469", "3,469", "75.640"]),
    (
        "├─ 1 restore at @*, head @*, * events, picked up after the kill  score *",
        &["3318", "6030", "2,712", "75.618"],
    ),
    (
        "└─ 2 restore at @*, head @*, * events, with larger steps  (active)  score *",
        &["1509", "7534", "6,025", "15.656"],
    ),
];

/// A line with what one run had.
fn fixed(line: &str) -> String {
    for (pattern, values) in VARYING {
        if matches(pattern, line) {
            let mut fixed = pattern.to_owned();
            for value in values {
                fixed = fixed.replacen('*', value, 1);
            }
            return fixed;
        }
    }
    line.to_owned()
}

/// Compares a line with a pattern, whose `*` is a word.
fn matches(pattern: &str, line: &str) -> bool {
    let (mut pattern, mut line) = (pattern, line);
    while let Some((before, after)) = pattern.split_once('*') {
        let Some(rest) = line.strip_prefix(before) else { return false };
        pattern = after;
        line = rest.trim_start_matches(|c: char| c != ' ' && !after.starts_with(c));
        // A comma is also within a number.
        while after.starts_with(',') && !line.starts_with(", ") && !line.is_empty() {
            line = line[1..].trim_start_matches(|c: char| c != ' ' && c != ',');
        }
    }
    pattern == line
}

/// Returns the colour of a line, by its content.
fn color(line: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| line.contains(word));
    match line {
        _ if line.starts_with("$ ") => "#ffffff",
        _ if says(&["killed behind"]) => "#ff7b72",
        _ if says(&["lost: 0", "0 faults", "Lost: nothing", "ended better", "(active)"]) => {
            "#7ee787"
        }
        _ if says(&["guidance:", "paused"]) => "#e3b341",
        _ if says(&["rolled back", "picked up", "restore at"]) => "#79c0ff",
        _ => "#c9d1d9",
    }
}

/// Lines as on a terminal.
fn svg(lines: &[String]) -> String {
    let columns = lines.iter().map(|line| line.chars().count()).max().unwrap();
    let width = columns * CHAR + 2 * MARGIN;
    let height = lines.len() * LINE + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-size=\"13\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n"
    );
    for (n, line) in lines.iter().enumerate() {
        if line.is_empty() {
            continue;
        }
        let text = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        // The length keeps columns under each other whatever the font is.
        let length = line.chars().count() * CHAR;
        writeln!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{}\" fill=\"{}\" textLength=\"{length}\" \
             xml:space=\"preserve\">{text}</text>",
            MARGIN + n * LINE + 14,
            color(line),
        )
        .unwrap();
    }
    svg.push_str("</svg>\n");
    svg
}

#[test]
fn the_picture_of_the_demo_shows_what_it_prints() {
    let place = Place::new();
    let out = place.say("--store kept --color never demo").ok();
    let mut lines = vec!["$ milepost demo".to_owned()];
    lines.extend(timeless(&out));
    let now = svg(&lines);
    let file = picture("demo.svg");
    if std::env::var_os("MILEPOST_PICTURES").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, now).unwrap();
        return;
    }
    let shown = fs::read_to_string(file).unwrap();
    let again = "`MILEPOST_PICTURES=write cargo test -p milepost-cli --test runner pictures::`";
    assert_eq!(shown, now, "{again} writes it");
    assert!(lines.len() <= 25, "{} lines", lines.len());
}

#[test]
fn only_what_varies_is_replaced() {
    let line = "  acknowledged before the kill: 3,501 events; lost: 0";
    assert_eq!(fixed(line), "  acknowledged before the kill: 3,468 events; lost: 0");
    let lost = "  acknowledged before the kill: 3,501 events; lost: 2";
    assert_eq!(fixed(lost), lost);
    let root = "0 root, head @3,502, 3,502 events (killed)  score 75.1";
    assert_eq!(fixed(root), "0 root, head @3469, 3,469 events (killed)  score 75.640");
}
