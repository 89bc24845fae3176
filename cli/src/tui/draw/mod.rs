//! Draws the view.
//!
//! ```text
//! tasks    the list of tasks
//! task     lanes, turns or events, documents
//! compare  two histories next to each other
//! metrics  charts
//! question the choices and answers of a plan
//! overlay  keys and actions over a screen
//! panes    parts that several screens have
//! ```

mod compare;
mod metrics;
mod overlay;
mod panes;
mod question;
mod task;
mod tasks;
#[cfg(test)]
mod tests;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use super::app::{App, Place};
use super::task::TaskView;
use crate::output::{excerpt, grouped, printable};
use crate::terminal::{
    Line, Looks, NAME, Tone, behind, prompt_line, put, put_lines, split_below, wrapped,
};

/// Columns of a screen with two and with three panes.
const TWO: u16 = 90;
const THREE: u16 = 140;

/// Draws the screen, and tells the view its size.
pub fn draw(frame: &mut Frame<'_>, app: &mut App, looks: Looks) {
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
    put_lines(buffer, at_bottom, below.iter().skip(from), looks);
    if app.prompt.is_some() && !at_bottom.is_empty() {
        let last = below.last().map_or(0, |line| line.text.width());
        let column = u16::try_from(last).unwrap_or(u16::MAX).min(at_bottom.width - 1);
        frame.set_cursor_position((at_bottom.x + column, at_bottom.bottom() - 1));
    }
}

/// Draws the names of the screens, and the state of the one that is shown.
fn title(app: &App, looks: Looks, area: Rect, buffer: &mut Buffer) {
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
        let mut all = lines(Tone::Dim, &question);
        all.push(Line::new(Tone::Title, prompt_line(&prompt.typed, width)));
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
