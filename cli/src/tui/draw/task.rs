//! A task: lanes above, turns or events at the left, documents at the right.

use milepost_api::{RowForm, TurnForm};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::panes::{next_to, tabs};
use crate::output::{count, excerpt, grouped, printable};
use crate::terminal::{
    Line, Looks, Tone, behind, choose, fitting, line_of, put, rule, split_below, split_right,
};
use crate::tui::app::{App, document};
use crate::tui::compare::{result, what};
use crate::tui::lanes::{Lane, visible};
use crate::tui::task::{Pane, StepList, TABS, Tab, TaskView};

/// Rows of a screen with lanes, rows for each lane, and the most lanes.
const LANES_FROM: u16 = 14;
const ROWS_OF_LANE: u16 = 6;
const LANES: u16 = 8;

/// Columns of the name of a lane, and of its outcome.
const LANE_NAME: u16 = 14;
const LANE_END: u16 = 18;

/// Rows of a list in which a turn takes two lines.
const TWO_LINES: u16 = 8;

/// Columns of a text in a list.
const TEXT: usize = 400;

pub fn draw(app: &mut App, looks: Looks, area: Rect, buf: &mut Buffer) {
    let panes = app.panes;
    let Some(view) = &app.task else { return };
    let wanted = match area.height + 2 {
        ..LANES_FROM => 0,
        rows => (rows / ROWS_OF_LANE).min(LANES),
    };
    let room = usize::from(wanted).min(view.lineages.len());
    let (above, body) = split_below(area, u16::try_from(room).unwrap_or(0));
    let shown = visible(&view.lineages, view.lineage, room);
    let ids = shown.iter().map(|lineage| lineage.id).collect();
    lanes(view, looks, above, buf);
    app.lanes = ids;
    let (line, body) = split_below(body, u16::from(room > 0));
    rule(looks, line, buf);
    let tabs = app.task.as_ref().map(|view| app.tabs(view)).unwrap_or_default();
    let Some(view) = &mut app.task else { return };
    if panes < 3 && view.pane == Pane::Next {
        view.pane = Pane::Document;
    }
    match panes {
        1 if view.pane == Pane::List => list(view, looks, body, buf),
        1 => pane(view, (tabs.first().copied(), Pane::Document), looks, body, buf),
        _ => {
            let parts = if panes > 2 { 34 } else { 45 };
            let columns = u32::from(body.width) * parts / 100;
            let left = u16::try_from(columns).unwrap_or(body.width);
            let (left, right) = next_to(body, left, looks, buf);
            list(view, looks, left, buf);
            let (middle, last) = match panes {
                2 => (right, Rect::default()),
                _ => next_to(right, right.width * 3 / 5, looks, buf),
            };
            pane(view, (tabs.first().copied(), Pane::Document), looks, middle, buf);
            if !last.is_empty() {
                pane(view, (tabs.get(1).copied(), Pane::Next), looks, last, buf);
            }
        }
    }
}

fn lanes(view: &TaskView, looks: Looks, area: Rect, buf: &mut Buffer) {
    let most = view.lineages.iter().map(|lineage| lineage.head.0).max().unwrap_or(0);
    let shown = visible(&view.lineages, view.lineage, area.height.into());
    for (at, lineage) in shown.iter().enumerate() {
        let is_own = lineage.id == view.lineage;
        let lane = Lane {
            lineage,
            summary: view.outcome_of(lineage.id),
            overview: view.overviews.get(&lineage.id),
            cursor: is_own.then(|| view.range().map_or(view.head(), |range| range.first)),
        };
        let line = line_of(area, at);
        let tone = if is_own { Tone::Title } else { Tone::Plain };
        let (name, rest) = split_right(line, LANE_NAME);
        let (middle, end) = split_right(rest, rest.width.saturating_sub(LANE_END));
        put(buf, Rect { width: LANE_NAME - 1, ..name }, &lane.name(), looks.style(tone));
        let drawn = lane.line(usize::from(middle.width), most);
        put(buf, middle, &drawn, looks.style(tone));
        put(buf, behind(end, 1), &lane.end(), looks.style(tone));
    }
}

fn list(view: &mut TaskView, looks: Looks, area: Rect, buf: &mut Buffer) {
    let (top, rows) = split_below(area, u16::from(area.height > 2));
    let place = match view.is_events {
        true => format!("{} of {}", position(view.rows.cursor, view.rows.end), view.rows.end),
        false => format!(
            "{} of {}",
            position(view.steps.cursor.turn, view.steps.count()),
            view.steps.count()
        ),
    };
    let [steps, events] =
        if view.is_events { ["Steps", "[Events]"] } else { ["[Steps]", "Events"] };
    put(buf, behind(top, 1), &format!("{steps}  {events} v   {place}"), looks.style(Tone::Dim));
    let failed = match view.is_events || view.is_waiting() {
        true => view.rows.failed.as_deref(),
        false => view.steps.turns.failed.as_deref(),
    };
    if let Some(failed) = failed {
        put(buf, behind(line_of(rows, 0), 2), failed, looks.style(Tone::Removed));
        return;
    }
    match view.is_events || view.is_waiting() {
        true => events_list(view, looks, rows, buf),
        false => steps_list(view, looks, rows, buf),
    }
}

/// Returns the position of a cursor, counted from 1.
fn position(cursor: u64, end: u64) -> u64 {
    (cursor + 1).min(end)
}

fn events_list(view: &mut TaskView, looks: Looks, area: Rect, buf: &mut Buffer) {
    view.rows.set_height(area.height.into());
    if view.rows.is_empty() {
        put(buf, behind(line_of(area, 0), 2), "no events yet", looks.style(Tone::Dim));
    }
    for (at, index) in view.rows.visible().enumerate() {
        let line = line_of(area, at);
        match view.rows.get(index) {
            Some(row) => event_row(row, looks, behind(line, 2), buf),
            None => put(buf, behind(line, 2), "…", looks.style(Tone::Dim)),
        }
        if index == view.rows.cursor {
            choose(line, view.pane == Pane::List, buf);
        }
    }
}

fn event_row(row: &RowForm, looks: Looks, line: Rect, buf: &mut Buffer) {
    let tone = match (row.ok, &row.mark, row.erased) {
        (Some(false), ..) => Tone::Removed,
        (_, Some(_), _) => Tone::Title,
        (_, _, true) => Tone::Dim,
        _ => Tone::Plain,
    };
    let sign = match (row.ok, &row.mark) {
        (Some(false), _) => "✗",
        (_, Some(_)) => "◆",
        _ => " ",
    };
    let text = excerpt(&row.text, TEXT);
    let text = format!("{sign} @{:<5} {:<14} {text}", row.offset, short_kind(&row.kind));
    put(buf, line, &text, looks.style(tone));
}

/// Returns the kind of an event without its usual endings.
fn short_kind(kind: &str) -> String {
    let kind = printable(kind);
    let kind = kind.trim_start_matches("checkpoint_").trim_end_matches("_patched");
    excerpt(kind, 14)
}

fn steps_list(view: &mut TaskView, looks: Looks, area: Rect, buf: &mut Buffer) {
    let lines = if area.height >= TWO_LINES { 2 } else { 1 };
    view.steps.set_height(area.height, lines);
    if view.placing.is_some() || view.steps.is_empty() {
        let text = match view.placing {
            Some(_) => "reading…",
            None => "no steps: `v` shows the events",
        };
        return put(buf, behind(line_of(area, 0), 2), text, looks.style(Tone::Dim));
    }
    let mut rest = area;
    for row in view.steps.visible() {
        let (place, below) = split_below(rest, if row.event.is_some() { 1 } else { lines });
        rest = below;
        let (turn, event) = (view.steps.turns.get(row.turn), row.event);
        match (event, event.and_then(|event| view.rows.get(event)), turn) {
            (Some(_), Some(row), _) => event_row(row, looks, behind(place, 7), buf),
            (None, _, Some(turn)) => turn_row(turn, &view.steps, looks, place, buf),
            (Some(_), None, _) => put(buf, behind(place, 7), "…", looks.style(Tone::Dim)),
            (None, _, None) => put(buf, behind(place, 2), "…", looks.style(Tone::Dim)),
        }
        if row == view.steps.cursor {
            choose(place, view.pane == Pane::List, buf);
        }
    }
}

fn turn_row(turn: &TurnForm, list: &StepList, looks: Looks, area: Rect, buf: &mut Buffer) {
    let sign = match (&turn.failed, &turn.mark) {
        (Some(_), _) => "✗",
        (None, Some(_)) => "◆",
        (None, None) => " ",
    };
    let folded = list.folded_turns(turn.number.0);
    let fold = match (folded, list.is_open(turn.number.0)) {
        (Some(_), _) => "+",
        (None, true) => "▾",
        (None, false) => "▸",
    };
    let tone = if turn.failed.is_some() { Tone::Removed } else { Tone::Plain };
    let label = turn.mark.as_ref().and_then(|mark| mark.label.as_deref());
    let label = label.map(|label| format!("[{}] ", excerpt(label, 40))).unwrap_or_default();
    let folded = folded.map(|turns| format!("({}) ", count(turns, "turn"))).unwrap_or_default();
    let text = excerpt(&what(turn), TEXT);
    let text = format!("{sign}{fold}{:>4} {folded}{label}{text}", number(turn));
    put(buf, behind(line_of(area, 0), 1), &text, looks.style(tone));
    let text = format!("→ {}", excerpt(&result(turn), TEXT));
    put(buf, behind(line_of(area, 1), 8), &text, looks.style(Tone::Dim));
}

/// Returns the number of a turn's step, with that of the turn in the step.
fn number(turn: &TurnForm) -> String {
    match (turn.step, turn.turn.0) {
        (None, _) => "-".into(),
        (Some(step), 0) => step.to_string(),
        (Some(step), at) => format!("{step}.{}", at + 1),
    }
}

/// Draws a document, with its tabs if it is the first one.
fn pane(
    view: &mut TaskView,
    (tab, which): (Option<Tab>, Pane),
    looks: Looks,
    area: Rect,
    buf: &mut Buffer,
) {
    let (top, rest) = split_below(area, u16::from(area.height > 2));
    let is_first = which == Pane::Document;
    let names = TABS.iter().map(|(own, name)| (*name, Some(*own) == tab));
    match is_first {
        true => tabs(names, looks, top, buf),
        false => {
            let name = TABS.iter().find(|(own, _)| Some(*own) == tab).map_or("", |it| it.1);
            put(buf, top, name, looks.style(Tone::Dim));
        }
    }
    let key = tab.and_then(|tab| document(view, tab));
    let Some(lines) = key.and_then(|key| view.documents.get(&key)) else {
        let text = if key.is_some() { "reading…" } else { "nothing is chosen" };
        return put(buf, line_of(rest, 0), text, looks.style(Tone::Dim));
    };
    let [first, second] = &mut view.scroll;
    let scroll = if is_first { first } else { second };
    let (text, foot) = split_below(rest, rest.height.saturating_sub(1));
    let shown = folded(lines, text.width, text.height, scroll);
    for (at, (tone, piece)) in shown.iter().enumerate() {
        put(buf, line_of(text, at), piece, looks.style(*tone));
    }
    let is_cut = shown.len() == usize::from(text.height);
    let focus = if view.pane == which { "▸ " } else { "" };
    let hint = match (is_cut, *scroll) {
        (false, 0) => focus.to_owned(),
        (_, 0) => format!("{focus}… more below: l, then j k"),
        (_, line) => format!("{focus}from {}", count_line(line)),
    };
    put(buf, foot, &hint, looks.style(Tone::Dim));
}

/// Cuts lines to a width, and returns those from one on that have room. `scroll` is kept in its
/// range.
fn folded(lines: &[Line], width: u16, height: u16, scroll: &mut usize) -> Vec<(Tone, String)> {
    let mut all = Vec::new();
    for line in lines {
        let mut rest = line.text.as_str();
        loop {
            let (piece, behind) = rest.split_at(fitting(rest, usize::from(width).max(1)));
            all.push((line.tone, piece));
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
    }
    *scroll = (*scroll).min(all.len().saturating_sub(usize::from(height)));
    let shown = all.into_iter().skip(*scroll).take(height.into());
    shown.map(|(tone, text)| (tone, text.to_owned())).collect()
}

fn count_line(line: usize) -> String {
    format!("line {} of the document", grouped(line as u64 + 1))
}
