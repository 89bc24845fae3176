//! Draws the view.
//!
//! ```text
//! tasks    the list of tasks
//! task     lanes, turns or events, documents
//! compare  two histories next to each other
//! metrics  charts
//! question the choices and answers of a plan
//! overlay  keys and actions over a screen
//! ```

mod compare;
mod metrics;
mod overlay;
mod question;
mod task;
mod tasks;
#[cfg(test)]
mod tests;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use unicode_width::UnicodeWidthStr;

use super::app::{App, Place};
use super::task::TaskView;
use crate::output::{excerpt, grouped, printable};
use crate::terminal::{
    LEAST, Line, Tone, behind, end_of, fitting, line_of, put, split_below, split_right, wrapped,
};

/// Maximum number of columns of a name.
const NAME: usize = 200;

/// Columns of a screen with two and with three panes.
const TWO: u16 = 90;
const THREE: u16 = 140;

/// Colours, and the current time.
#[derive(Debug, Clone, Copy)]
pub struct ViewLooks {
    pub color: bool,
    pub now_us: u64,
}

impl ViewLooks {
    fn style(self, tone: Tone) -> Style {
        tone.style(self.color)
    }
}

/// Draws the screen, and tells the view its size.
pub fn draw(frame: &mut Frame<'_>, app: &mut App, looks: ViewLooks) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    app.panes = match area.width {
        THREE.. => 3,
        TWO.. => 2,
        _ => 1,
    };
    let below = bottom(app, area);
    let bottom_height = u16::try_from(below.len()).unwrap_or(u16::MAX).min(area.height / 2).max(1);
    let (above, at_bottom) = split_below(area, area.height.saturating_sub(bottom_height));
    let (head, body) = split_below(above, u16::from(area.height > 3));
    title(app, looks, head, buffer);
    if app.help.is_some() || app.menu.is_some() {
        overlay::draw(app, looks, body, buffer);
    } else {
        match app.place() {
            Place::Tasks => tasks::draw(&mut app.tasks, app.panes, looks, body, buffer),
            Place::Task => task::draw(app, looks, body, buffer),
            Place::Compare => compare::draw(app, looks, body, buffer),
            Place::Metrics => metrics::draw(app, looks, body, buffer),
        }
    }
    // The last lines have the answers to a question.
    let from = below.len().saturating_sub(bottom_height.into());
    for (at, line) in below.iter().skip(from).enumerate() {
        put(buffer, line_of(at_bottom, at), &line.text, looks.style(line.tone));
    }
    if app.prompt.is_some() && !at_bottom.is_empty() {
        let last = below.last().map_or(0, |line| line.text.width());
        let column = u16::try_from(last).unwrap_or(u16::MAX).min(at_bottom.width - 1);
        frame.set_cursor_position((at_bottom.x + column, at_bottom.bottom() - 1));
    }
}

/// Draws the names of the screens, and the state of the one that is shown.
fn title(app: &App, looks: ViewLooks, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let text = match app.place() {
        Place::Tasks => "Tasks".to_owned(),
        Place::Task => app.task.as_ref().map(title_of_task).unwrap_or_default(),
        Place::Compare => "Tasks / Compare".to_owned(),
        Place::Metrics => {
            let task = app.metrics.as_ref().map(|view| excerpt(&view.task, NAME));
            format!("Tasks / {} / Metrics", task.unwrap_or_default())
        }
    };
    let right = "? keys";
    let room = area.width.saturating_sub(8);
    put(buffer, Rect { width: room, ..area }, &text, looks.style(Tone::Title));
    put(buffer, behind(area, room + 2), right, looks.style(Tone::Dim));
}

fn title_of_task(view: &TaskView) -> String {
    let mut text = format!("{}  lineage {}", excerpt(&view.form.id, NAME), view.lineage);
    if let Some(own) = view.outcome_of(view.lineage) {
        let outcome = super::lanes::outcome(&own.outcome);
        if !outcome.is_empty() {
            text.push_str(&format!("  {outcome}"));
        }
    }
    if let Some(summary) = &view.summary {
        text.push_str(&format!("  {}", summary.control.name()));
    }
    if view.read < view.head() {
        let part = u128::from(view.read) * 100 / u128::from(view.head().max(1));
        text.push_str(&format!("  reading {part}%"));
    }
    if view.new > 0 {
        text.push_str(&format!("  {} new", grouped(view.new)));
    }
    text
}

/// Returns the lines at the bottom: a question, a typed text, a notice, or the address and keys.
fn bottom(app: &App, area: Rect) -> Vec<Line> {
    let width = usize::from(area.width).max(1);
    let lines = |tone: Tone, text: &str| -> Vec<Line> {
        let all = text.split('\n').flat_map(|line| wrapped(line, width));
        all.map(|text| Line::new(tone, text)).collect()
    };
    if let Some(plan) = &app.plan {
        let mut all = lines(Tone::Title, &plan.question);
        let room = usize::from(area.height / 2).saturating_sub(all.len());
        all.extend(question::answers(plan, room));
        return all;
    }
    if let Some(prompt) = &app.prompt {
        let question = format!("{}: ", prompt.what.question());
        let typed = printable(&prompt.typed);
        let mut all = lines(Tone::Dim, &question);
        let shown = end_of(&typed, width.saturating_sub(3));
        all.push(Line::new(Tone::Title, format!("> {shown}")));
        return all;
    }
    if let Some((tone, text)) = &app.notice {
        return lines(*tone, text);
    }
    if let Some(hunt) = app.task.as_ref().and_then(|view| view.hunt.as_ref()) {
        let what = printable(&hunt.what.shown()).into_owned();
        return lines(Tone::Dim, &format!("looking for {what} at @{}   Esc stops", hunt.at));
    }
    let address = app.address().map(|address| printable(&address).into_owned());
    let keys = keys_of(app.place());
    vec![Line::new(Tone::Dim, format!("{}   {keys}", address.unwrap_or_default()).trim_start())]
}

fn keys_of(place: Place) -> &'static str {
    match place {
        Place::Tasks => "j k task   Enter open   / find   1 to 5 order   . actions",
        Place::Task => "j k row   e failure   v events   f fork   r roll back   . actions",
        Place::Compare => "n N difference   h l side   Enter open   Esc leave",
        Place::Metrics => "j k metric   Esc leave",
    }
}

/// Draws a line between two panes.
fn rule(looks: ViewLooks, area: Rect, buffer: &mut Buffer) {
    let symbol = if area.width == 1 && area.height > 1 { "│" } else { "─" };
    for at in area.positions() {
        if let Some(cell) = buffer.cell_mut(at) {
            cell.set_symbol(symbol).set_style(looks.style(Tone::Dim));
        }
    }
}

/// Marks the chosen row.
fn choose(area: Rect, is_focused: bool, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    put(buffer, Rect { width: 1, height: 1, ..area }, ">", Style::new());
    if is_focused {
        buffer.set_style(area, Modifier::REVERSED);
    }
}

/// Draws names of tabs with their numbers, the chosen one in bold.
fn tabs(
    names: impl Iterator<Item = (&'static str, bool)>,
    looks: ViewLooks,
    area: Rect,
    buffer: &mut Buffer,
) {
    let mut rest = area;
    for (at, (name, is_chosen)) in names.enumerate() {
        let text = match is_chosen {
            true => format!("[{name}] {}", at + 1),
            false => format!("{name} {}", at + 1),
        };
        let tone = if is_chosen { Tone::Title } else { Tone::Dim };
        put(buffer, rest, &text, looks.style(tone));
        rest = behind(rest, u16::try_from(text.width() + 2).unwrap_or(u16::MAX));
    }
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

/// Returns `true` for a screen that is smaller than the least one.
fn is_small(area: Rect) -> bool {
    area.width < LEAST.0 || area.height < LEAST.1
}

/// Returns the lineage and the point of an address, without its task.
fn place_of(address: &str) -> &str {
    address.find(['/', '@']).and_then(|at| address.get(at..)).unwrap_or_default()
}

/// Returns two areas next to each other, with a rule between them.
fn next_to(area: Rect, left: u16, looks: ViewLooks, buffer: &mut Buffer) -> (Rect, Rect) {
    let (first, rest) = split_right(area, left);
    let (line, second) = split_right(rest, 1);
    rule(looks, line, buffer);
    (first, behind(second, 1))
}

/// Returns the id of a task in an address, readable.
fn name_of(address: &str) -> String {
    match address.parse::<milepost::Address>() {
        Ok(milepost::Address::Task { task, .. }) => excerpt(&task, NAME),
        _ => excerpt(address, NAME),
    }
}
