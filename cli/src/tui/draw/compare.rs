//! Two histories next to each other, a line for each pair of turns.

use milepost_api::{AlignOp, AlignedForm, TurnForm};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::output::{excerpt, fitted};
use crate::terminal::{Looks, NAME, Tone, choose, line_of, put, split_below};
use crate::tui::app::App;
use crate::tui::compare::{CompareView, result, sign, what};

/// Columns of a text.
const TEXT: usize = 400;

pub fn draw(app: &mut App, looks: Looks, area: Rect, buf: &mut Buffer) {
    let Some(view) = &mut app.compare else { return };
    let (above, rest) = split_below(area, if area.height > 6 { 3 } else { 0 });
    heads(view, looks, above, buf);
    // Details of the chosen line, if they have room.
    let (list, below) =
        split_below(rest, if rest.height > 12 { rest.height - 5 } else { rest.height });
    view.lines.set_height(list.height.into());
    if let Some(failed) = &view.lines.failed {
        return put(buf, line_of(list, 0), failed, looks.style(Tone::Removed));
    }
    if view.lines.is_empty() {
        let text = if view.is_read { "both are empty" } else { "aligning…" };
        return put(buf, line_of(list, 0), text, looks.style(Tone::Dim));
    }
    for (at, index) in view.lines.visible().enumerate() {
        let line = line_of(list, at);
        match view.lines.get(index) {
            Some(aligned) => pair(aligned, looks, line, buf),
            None => put(buf, line, "…", looks.style(Tone::Dim)),
        }
        if index == view.lines.cursor {
            choose(line, true, buf);
        }
    }
    if let Some(chosen) = view.lines.chosen() {
        details(chosen, looks, below, buf);
    }
}

fn heads(view: &CompareView, looks: Looks, area: Rect, buf: &mut Buffer) {
    let half = usize::from(area.width.saturating_sub(3) / 2);
    let head = |at: usize, name: &str| {
        let address = view.addresses.get(at).map(String::as_str).unwrap_or_default();
        let side = if view.side == at { "▸" } else { " " };
        format!("{side}{name} {}{}", name_of(address), place_of(address))
    };
    let line = format!("{}   {}", fitted(&head(0, "A"), half), fitted(&head(1, "B"), half));
    put(buf, line_of(area, 0), &line, looks.style(Tone::Title));
    let counts = &view.counts;
    let said = match counts.said.0 {
        0 => String::new(),
        said => format!(" ({said} said otherwise)"),
    };
    let text = match view.is_read {
        true => format!(
            "the same at the beginning: {}   same {}{said}, changed {}, only A {}, only B {}, \
             moved {}",
            view.common, counts.same, counts.changed, counts.only_a, counts.only_b, counts.moved
        ),
        false => String::new(),
    };
    put(buf, line_of(area, 1), &text, looks.style(Tone::Dim));
}

fn pair(line: &AlignedForm, looks: Looks, area: Rect, buf: &mut Buffer) {
    let half = usize::from(area.width.saturating_sub(5) / 2);
    let cell = |turn: &Option<TurnForm>| fitted(&turn.as_ref().map(text).unwrap_or_default(), half);
    let tone = match line.op {
        AlignOp::Same | AlignOp::Said => Tone::Dim,
        AlignOp::Changed | AlignOp::Moved => Tone::Changed,
        AlignOp::OnlyA => Tone::Removed,
        AlignOp::OnlyB => Tone::Added,
    };
    let text = format!("  {} {} {}", cell(&line.a), sign(line.op), cell(&line.b));
    put(buf, area, text.trim_end(), looks.style(tone));
}

fn text(turn: &TurnForm) -> String {
    let step = turn.step.map(|step| step.to_string()).unwrap_or_else(|| "-".into());
    let sign = if turn.failed.is_some() { "✗" } else { " " };
    format!("{step:>4}{sign} {}", excerpt(&what(turn), TEXT))
}

/// Draws the turns of the chosen line, with their results.
fn details(line: &AlignedForm, looks: Looks, area: Rect, buf: &mut Buffer) {
    for (at, (name, turn)) in [("A", &line.a), ("B", &line.b)].into_iter().enumerate() {
        let Some(turn) = turn else {
            put(buf, line_of(area, 1 + 2 * at), &format!("{name} -"), looks.style(Tone::Dim));
            continue;
        };
        let first = format!("{name} {}", text(turn).trim_start());
        put(buf, line_of(area, 1 + 2 * at), &first, looks.style(Tone::Plain));
        let moved = line.other.map(|other| format!("  (turn {other} of the other)"));
        let second = format!("  → {}{}", excerpt(&result(turn), TEXT), moved.unwrap_or_default());
        put(buf, line_of(area, 2 + 2 * at), &second, looks.style(Tone::Dim));
    }
}

/// Returns the lineage and the point of an address, without its task.
fn place_of(address: &str) -> &str {
    address.find(['/', '@']).and_then(|at| address.get(at..)).unwrap_or_default()
}

/// Returns the id of a task in an address, readable.
fn name_of(address: &str) -> String {
    match address.parse::<milepost::Address>() {
        Ok(milepost::Address::Task { task, .. }) => excerpt(&task, NAME),
        _ => excerpt(address, NAME),
    }
}
