//! Sessions of coding agents, line by line: the events of each, and their places.

use std::io::BufReader;

use milepost_formats::fuzzing::{
    Chat, EachAlone, LineParser, Lines, Part, Rollout, SessionLine, Spot, Text, Tree, compact,
    read, read_copilot, read_opencode, read_qwen,
};
use milepost_formats::{Format, session_line};

use crate::targets::bounds::bounded;
use crate::targets::texts;

/// The longest line that is read here; longer ones are skipped.
const LINE_MAX: usize = 4000;

/// Memory for the place of a line: a key, a place, and the spare space of tables.
const PLACE: usize = 400;

/// The lines of a session of Claude Code.
pub fn sessions(bytes: &[u8]) {
    session(bytes, Format::ClaudeCode, &mut EachAlone(read));
}

/// The lines of a session of Codex.
pub fn codex_sessions(bytes: &[u8]) {
    session(bytes, Format::Codex, &mut Rollout::default());
}

/// The lines of a session of Gemini CLI.
pub fn gemini_sessions(bytes: &[u8]) {
    session(bytes, Format::GeminiCli, &mut Chat::default());
}

/// The lines of a session of qwen-code.
pub fn qwen_sessions(bytes: &[u8]) {
    session(bytes, Format::QwenCode, &mut EachAlone(read_qwen));
}

/// The lines of a session of Copilot CLI.
pub fn copilot_sessions(bytes: &[u8]) {
    session(bytes, Format::Copilot, &mut EachAlone(read_copilot));
}

/// An export of a session of opencode: each of its lines follows the one before it.
pub fn opencode_exports(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let read = bounded("an export", bytes.len(), 0, || read_opencode(text));
    let Ok(document) = read else { return };
    let mut last = None;
    for line in &document.lines {
        assert_eq!(line.parent, last);
        last.clone_from(&line.uuid);
        let kept = session_line(Format::Opencode, &line.events).expect("the line is kept");
        assert!(!line.name(kept.text()).is_empty());
        for body in &line.events {
            let (kind, payload) = body.encode();
            let decoded = milepost::Body::decode(kind, &payload);
            assert_eq!(decoded.as_ref().ok(), Some(body), "{decoded:?}");
        }
        texts::append(line.events.clone());
    }
}

fn session(bytes: &[u8], format: Format, parser: &mut dyn LineParser) {
    let mut lines = Lines::new(BufReader::with_capacity(64, bytes), LINE_MAX, LINE_MAX);
    let mut tree = Tree::new(1);
    // The branches, each with how many lines went to its end.
    let mut ends = vec![0_u64];
    loop {
        let text = match lines.next_text().expect("bytes in memory") {
            Text::End => break,
            Text::Line(text) => text.to_owned(),
            Text::Blank | Text::Bad(_) => continue,
        };
        let line = bounded("a line", LINE_MAX, 0, || parser.read(&text));
        let Ok(mut line) = line else { continue };
        let name = line.name(&text);
        assert!((1..=200).contains(&name.len()), "{name:?}");
        assert!(!line.events.is_empty(), "every line is kept: {text}");
        for body in &line.events {
            let (kind, payload) = body.encode();
            let decoded = milepost::Body::decode(kind, &payload);
            assert_eq!(decoded.as_ref().ok(), Some(body), "{decoded:?}");
        }
        if format != Format::ClaudeCode {
            let again = session_line(format, &line.events).expect("the line is kept");
            assert_eq!(compact(again.text()), compact(&text));
        }
        texts::append(line.events.clone());
        if line.uuid.as_deref().is_some_and(|uuid| tree.has(uuid)) {
            let written = |events: &[milepost::Body]| session_line(format, events);
            line = line.into_whole("session", &text, written).expect("it was read before");
        }
        place(&mut tree, &line, &mut ends);
    }
}

/// A line has a place on a branch that is there, or on the next one.
fn place(tree: &mut Tree, line: &SessionLine, ends: &mut Vec<u64>) {
    let (spot, place) = bounded("a place", PLACE, PLACE * ends.len(), || tree.place(line));
    let branch = match spot {
        Spot::End(branch) => branch,
        Spot::Fork { branch, behind, .. } => {
            let (from, offset) = tree.at(behind);
            assert!((from as usize) < ends.len() && offset.is_some(), "{spot:?}");
            assert_eq!(branch as usize, ends.len());
            ends.push(0);
            branch
        }
        Spot::Alone(branch) => {
            assert_eq!(branch as usize, ends.len());
            ends.push(0);
            branch
        }
    };
    let end = ends.get_mut(branch as usize).expect("a branch that is there");
    *end += 1;
    assert_eq!(place.is_some(), line.follows || matches!(line.part, Part::Message(_)));
    if let Some(place) = place {
        assert_eq!(tree.at(place), (branch, None));
        tree.settle(place, *end);
    }
    assert!((tree.current() as usize) < ends.len());
}
