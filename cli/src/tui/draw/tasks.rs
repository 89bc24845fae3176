//! The list of tasks, and the chosen one.

use milepost_api::SummaryForm;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::panes::{next_to, tabs};
use crate::output::{age, excerpt, grouped, grouped_short, outcomes, printable};
use crate::terminal::{
    LEAST, Line, Looks, NAME, Tone, behind, choose, line_of, put, put_cells, put_lines, split_below,
};
use crate::tui::document::usage;
use crate::tui::lanes::outcome;
use crate::tui::metrics::value_text;
use crate::tui::tasks::{SORTS, TasksView};

pub fn draw(view: &mut TasksView, panes: usize, looks: Looks, area: Rect, buf: &mut Buffer) {
    let (list, details) = match panes {
        1 => (area, Rect::default()),
        _ => next_to(area, area.width * 3 / 5, looks, buf),
    };
    let (top, rest) = split_below(list, u16::from(!is_small(area) || area.height > 4));
    let orders = SORTS.iter().map(|(sort, name)| (*name, *sort == view.sort));
    tabs(orders, looks, behind(top, 1), buf);
    counted(view, looks, top, buf);
    let (titles, rows) = split_below(rest, u16::from(rest.height > 4));
    view.shown.set_height(rows.height.into());
    cells(titles, ["TASK", "OUTCOME", "STEPS", "FAILED", "AGE"].map(str::to_owned), looks, buf);
    for (at, index) in view.shown.visible(0).iter().enumerate() {
        let line = line_of(rows, at);
        let Some(task) = view.all.get(*index) else { break };
        row(task, looks, line, buf);
        if view.shown.top + at == view.shown.cursor {
            choose(line, true, buf);
        }
    }
    if view.shown.rows.is_empty() {
        let text = match (view.is_whole(), view.words.is_empty()) {
            (false, _) => "reading…",
            (true, true) => "no tasks: `milepost record FILE` records one",
            (true, false) => "no task has all of these words: Esc, or `/` for others",
        };
        put(buf, behind(line_of(rows, 0), 2), text, looks.style(Tone::Dim));
    }
    if let Some(task) = view.chosen().filter(|_| !details.is_empty()) {
        put_lines(buf, details, &about(task), looks);
    }
}

/// Returns `true` for a screen that is smaller than the least one.
fn is_small(area: Rect) -> bool {
    area.width < LEAST.0 || area.height < LEAST.1
}

fn counted(view: &TasksView, looks: Looks, area: Rect, buf: &mut Buffer) {
    let more = if view.is_whole() { "" } else { "+" };
    let (shown, all) = (grouped(view.shown.rows.len() as u64), grouped(view.all.len() as u64));
    let text = match view.words.is_empty() {
        true => format!("{all}{more}"),
        false => format!("{} {shown}/{all}{more}", excerpt(&view.words, 30)),
    };
    let width = u16::try_from(crate::output::width(&text)).unwrap_or(u16::MAX);
    let room = area.width.saturating_sub(50);
    if width < room {
        put(buf, behind(area, area.width - width - 1), &text, looks.style(Tone::Dim));
    }
}

/// Widths of the columns after the name.
const WIDTHS: [u16; 4] = [9, 6, 6, 5];

/// Draws the columns of a row. A narrow list has the name, the outcome and the age.
fn cells(area: Rect, cells: [String; 5], looks: Looks, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let [name, rest @ ..] = cells;
    let is_narrow = area.width < 52;
    let is_shown = |at: usize| !is_narrow || at == 0 || at == 3;
    let columns = || WIDTHS.iter().zip(&rest).enumerate().filter(|(at, _)| is_shown(*at));
    let taken: u16 = columns().map(|(_, (width, _))| width + 1).sum();
    let room = area.width.saturating_sub(2 + taken);
    let rest = columns().map(|(_, (width, cell))| (*width, cell));
    let all = [(room, &name)].into_iter().chain(rest);
    put_cells(buf, behind(area, 2), all, 1, looks.style(Tone::Plain));
}

fn row(task: &SummaryForm, looks: Looks, area: Rect, buf: &mut Buffer) {
    let title = task.title.as_deref().map(|title| format!("  {}", excerpt(title, NAME)));
    let name = format!("{}{}", excerpt(&task.id, NAME), title.unwrap_or_default());
    let values = [
        name,
        outcomes(&task.lineages),
        grouped_short(task.steps.0),
        grouped_short(task.failed.0),
        age(looks.now_us.saturating_sub(task.changed_us.0)),
    ];
    cells(area, values, looks, buf);
    if task.unreadable.is_some() || task.active().is_some_and(|own| own.outcome.good == Some(false))
    {
        put(buf, Rect { width: 1, ..behind(area, 1) }, "!", looks.style(Tone::Removed));
    }
}

/// Returns the chosen task in lines.
fn about(task: &SummaryForm) -> Vec<Line> {
    let mut lines = vec![Line::new(Tone::Title, excerpt(&task.id, NAME))];
    let mut add = |tone, text: String| lines.push(Line::new(tone, text));
    if let Some(title) = &task.title {
        add(Tone::Plain, excerpt(title, NAME));
    }
    add(Tone::Plain, format!("user      {}", excerpt(&task.user, NAME)));
    add(Tone::Plain, format!("control   {}", task.control.name()));
    let (steps, calls, failed) = (task.steps, task.calls, task.failed);
    add(Tone::Plain, format!("steps     {steps}, calls {calls}, failed {failed}"));
    add(Tone::Plain, format!("usage     {}", usage(task.usage.as_ref())));
    for (name, metric) in &task.metrics {
        let (last, min, max) =
            (value_text(metric.last.0), value_text(metric.min.0), value_text(metric.max.0));
        let text = format!("{}  {last} ({min} to {max})", printable(name));
        add(Tone::Plain, text);
    }
    if let Some(error) = &task.last_error {
        add(Tone::Removed, format!("✗ {}", excerpt(error, NAME)));
    }
    if let Some(why) = &task.unreadable {
        add(Tone::Removed, format!("cannot be read: {}", excerpt(why, NAME)));
    }
    add(Tone::Plain, String::new());
    if task.older_lineages > 0 {
        add(Tone::Dim, format!("… {} older ones", task.older_lineages));
    }
    for lineage in &task.lineages {
        let active = if lineage.id == task.active { "*" } else { " " };
        let fork = lineage.fork.map(|fork| format!(" from @{fork}")).unwrap_or_default();
        let text = format!(
            "{active}lineage {}{fork}, head @{}  {}",
            lineage.id,
            lineage.head,
            outcome(&lineage.outcome)
        );
        add(Tone::Plain, text.trim_end().to_owned());
    }
    lines
}
