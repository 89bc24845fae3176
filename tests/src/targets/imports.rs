//! Inputs of `milepost record`.

use std::io::BufReader;

use milepost_formats::Format;
use milepost_formats::fuzzing::{EventLine, Item, Lines, common_prefix, detect, plans};

use crate::targets::bounds::bounded;
use crate::targets::texts;

/// The longest line that is read here; longer ones are skipped.
const LINE_MAX: usize = 2000;

/// Memory that a reader may use besides the input's content: its buffers.
const BUFFERS: usize = 256 << 10;

/// The bytes behind a first byte that says which format they are: 0 JSON Lines, 1 SWE-agent,
/// 2 tau-bench, otherwise what their beginning tells.
pub fn imports(bytes: &[u8]) {
    let Some((selector, rest)) = bytes.split_first() else {
        return;
    };
    let format = match selector % 4 {
        0 => Format::Jsonl,
        1 => Format::SweAgent,
        2 => Format::TauBench,
        _ => detect(rest, Some("traj").filter(|_| selector & 4 != 0)),
    };
    use Format::{CheckpointTable, LangGraph, PauseState};
    if format.is_session() || matches!(format, LangGraph | CheckpointTable | PauseState) {
        return;
    }
    if format == Format::Jsonl {
        lines(rest, usize::from(selector >> 3) + 1);
        return;
    }
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    let plans = bounded("imports", text.len(), BUFFERS, || plans(format, text));
    for plan in plans.unwrap_or_default() {
        for (earlier, later) in plan.runs.iter().zip(plan.runs.iter().skip(1)) {
            let shared = common_prefix(&earlier.items, &later.items);
            assert!(shared <= earlier.items.len().min(later.items.len()));
        }
        for run in &plan.runs {
            assert!(run.event_max() <= 16 * text.len() + 1000);
            let events = run.items.iter().filter_map(|item| match item {
                Item::Event(body) => Some(body.clone()),
                Item::Mark { .. } => None,
            });
            let events: Vec<_> = events.collect();
            for body in &events {
                let (kind, payload) = body.encode();
                let decoded = milepost::Body::decode(kind, &payload);
                assert_eq!(decoded.as_ref().ok(), Some(body), "{decoded:?}");
            }
            if !events.is_empty() {
                texts::append(events);
            }
        }
    }
}

/// Lines, from a reader that gives a few bytes at a time.
fn lines(bytes: &[u8], at_once: usize) {
    let reader = BufReader::with_capacity(at_once, bytes);
    let mut lines = Lines::new(reader, LINE_MAX, LINE_MAX);
    loop {
        let line = bounded("lines", LINE_MAX, 0, || lines.next_line());
        match line.expect("bytes in memory") {
            EventLine::Event(body) | EventLine::Unknown(_, body) => {
                texts::comes_back(&body);
                texts::append(vec![body]);
            }
            EventLine::End => break,
            EventLine::Blank | EventLine::Bad(_) => {}
        }
    }
    assert_eq!(lines.bytes_read(), bytes.len() as u64);
}
