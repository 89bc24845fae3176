//! Draws the model.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use super::layout::{Columns, Layout};
use super::model::{Mode, Model};
use super::preview::{ago, facts, short};
use super::rows::Row;
use crate::output::{count, excerpt, grouped, words};
use crate::terminal::{
    Line, Looks, NAME, Tone, behind, choose, line_of, prompt_line, put, put_cells, put_lines, rule,
    wrapped,
};

const KEYS: &str = "Enter restore   Esc leave   Tab next task   type to filter   ? keys";
const HELP: &str = "Up, Down, Ctrl-P, Ctrl-N: a row. PgUp, PgDn: a page. Home, End: the first, the \
    last. Tab, Shift-Tab: the next task, the one before. Ctrl-O: the last success of the task. \
    Letters: only what has all these words. Backspace, Ctrl-U: without them. Enter: restore; on a \
    task its last success. Esc, Ctrl-C, q: leave, and nothing is changed. Any key: back to the \
    list.";

/// Draws the screen, and tells the model its size.
pub fn draw(frame: &mut Frame<'_>, model: &mut Model, looks: Looks) {
    let area = frame.area();
    let mut bottom = bottom(model, area.width);
    let layout = Layout::of(area, u16::try_from(bottom.len()).unwrap_or(u16::MAX));
    model.set_room(layout.list.height.into(), layout.has_preview());
    // The last line has the answers to a question, so it is always shown.
    let room = usize::from(layout.bottom.height).max(1);
    if bottom.len() > room {
        let last = bottom.pop();
        bottom.truncate(room - 1);
        bottom.extend(last);
    }
    let drawing = Drawing { model, looks, layout };
    let buffer = frame.buffer_mut();
    drawing.titles(buffer);
    drawing.rows(buffer);
    drawing.preview(buffer);
    for (line, text) in bottom.iter().enumerate() {
        put(buffer, line_of(layout.bottom, line), text, drawing.bottom_style());
    }
    let cursor = drawing.prompt(buffer);
    if let Some(cursor) = cursor.filter(|_| model.mode == Mode::Choosing) {
        frame.set_cursor_position(cursor);
    }
}

/// Returns the lines at the bottom.
fn bottom(model: &Model, width: u16) -> Vec<String> {
    let text = match (model.mode, model.chosen()) {
        (Mode::Helping, _) => HELP.to_owned(),
        (Mode::Asking, Some(checkpoint)) => {
            let place = words::address(&checkpoint.task, checkpoint.lineage, checkpoint.at.0);
            let task = excerpt(&words::encode(&checkpoint.task), NAME);
            let files = match model.offers_files() {
                true => ", f: with its files",
                false => "",
            };
            format!(
                "Restore {} to {}? The task continues in a new lineage; `milepost undo {task}` \
                 takes it back. [Y/n{files}]",
                excerpt(&checkpoint.task, NAME),
                excerpt(&place, NAME)
            )
        }
        _ => return vec![KEYS.to_owned()],
    };
    wrapped(&text, usize::from(width).max(1))
}

struct Drawing<'a> {
    model: &'a Model,
    looks: Looks,
    layout: Layout,
}

impl Drawing<'_> {
    /// Draws the typed text and the number of checkpoints. Returns the position of the cursor.
    fn prompt(&self, buffer: &mut Buffer) -> Option<(u16, u16)> {
        let area = self.layout.prompt;
        if area.is_empty() {
            return None;
        }
        let counted = self.counted();
        let right = u16::try_from(counted.width()).unwrap_or(u16::MAX);
        let left = area.width.saturating_sub(right + 2);
        // Without room for both, only the typed text is shown.
        let left = if left < 12 { area.width } else { left };
        let line = prompt_line(&self.model.typed, left.into());
        put(buffer, Rect { width: left, ..area }, &line, Style::new());
        if left < area.width {
            let place = Rect { x: area.x + left + 2, width: right, ..area };
            put(buffer, place, &counted, self.looks.style(Tone::Dim));
        }
        let cursor = u16::try_from(line.width()).unwrap_or(u16::MAX);
        Some((area.x + cursor.min(area.width - 1), area.y))
    }

    fn counted(&self) -> String {
        let list = &self.model.list;
        let more = if list.is_whole() { "" } else { "+" };
        match self.model.typed.is_empty() {
            true if more.is_empty() => count(list.len() as u64, "checkpoint"),
            true => format!("{}{more} checkpoints", grouped(list.len() as u64)),
            false => format!(
                "{} of {}{more}",
                grouped(self.model.rows.items() as u64),
                grouped(list.len() as u64)
            ),
        }
    }

    fn titles(&self, buffer: &mut Buffer) {
        let titles = ["CHECKPOINT", "STEP", "TIME", "CAUSE", " EVENTS"].map(str::to_owned);
        if !self.layout.titles.is_empty() {
            self.cells(buffer, self.layout.titles, titles, self.looks.style(Tone::Dim));
        }
    }

    fn rows(&self, buffer: &mut Buffer) {
        let rows = &self.model.rows;
        for (line, row) in rows.all.visible(0).iter().enumerate() {
            let area = line_of(self.layout.list, line);
            match *row {
                Row::Current => self.current(buffer, area),
                Row::Heading(group) => self.heading(buffer, area, group),
                Row::Item(group, item) => self.item(buffer, area, group, item),
            }
            if *row == rows.chosen() {
                choose(area, true, buffer);
            }
        }
        if rows.items() == 0 {
            let note = match self.model.list.is_whole() {
                true => "nothing has all of these words",
                false => "looking…",
            };
            put(buffer, behind(line_of(self.layout.list, 2), 2), note, self.looks.style(Tone::Dim));
        }
    }

    fn current(&self, buffer: &mut Buffer, area: Rect) {
        put(buffer, behind(area, 2), "(current)", self.looks.style(Tone::Title));
        put(buffer, behind(area, 13), "leave everything as it is", self.looks.style(Tone::Dim));
    }

    fn heading(&self, buffer: &mut Buffer, area: Rect, group: usize) {
        let Some(known) = self.model.list.group(group) else {
            return;
        };
        let name = excerpt(&known.task, NAME);
        // The first column has the mark of the chosen row.
        let area = behind(area, 1);
        put(buffer, area, &name, self.looks.style(Tone::Title));
        let about = self.model.abouts.get(&group);
        let Some(about) = about.filter(|about| !about.user.is_empty()) else {
            return;
        };
        let last = about.last_us.map(|last| format!(", {}", ago(self.looks.now_us, last)));
        let text = format!(
            "user {}, head @{}{}",
            excerpt(&about.user, NAME),
            about.head,
            last.unwrap_or_default()
        );
        let width = u16::try_from(name.width()).unwrap_or(u16::MAX);
        put(buffer, behind(area, width.saturating_add(2)), &text, self.looks.style(Tone::Dim));
    }

    fn item(&self, buffer: &mut Buffer, area: Rect, group: usize, item: usize) {
        let Some(item) = self.model.list.item(group, item) else {
            return;
        };
        let checkpoint = &item.checkpoint;
        let label = checkpoint.label.as_deref().map(|label| excerpt(label, NAME));
        let details = self.model.details.get(&checkpoint.id);
        let events = details.and_then(|details| details.events).map(grouped);
        let cells = [
            label.unwrap_or_else(|| short(checkpoint)),
            details.and_then(|details| details.step.clone()).unwrap_or_default(),
            ago(self.looks.now_us, checkpoint.time_us.0),
            checkpoint.cause.name().to_owned(),
            events.map_or_else(String::new, |events| format!("{events:>7}")),
        ];
        self.cells(buffer, area, cells, Style::new());
        if checkpoint.status == milepost::events::MarkStatus::Failure {
            put(buffer, Rect { width: 1, ..behind(area, 1) }, "!", self.looks.style(Tone::Removed));
        }
    }

    /// Draws the columns of a row after its marks. A column begins at the same place in each row.
    fn cells(&self, buffer: &mut Buffer, area: Rect, cells: [String; 5], style: Style) {
        let columns = self.columns();
        let widths = [columns.name, columns.step, columns.time, columns.cause, columns.events];
        let cells = widths.into_iter().zip(&cells).filter(|(width, _)| *width > 0);
        put_cells(buffer, behind(area, 2), cells, 2, style);
    }

    fn columns(&self) -> Columns {
        Columns::of(self.layout.list.width.saturating_sub(2))
    }

    fn preview(&self, buffer: &mut Buffer) {
        let Layout { rule: line, facts: left, changes: right, .. } = self.layout;
        rule(self.looks, line, buffer);
        let Some(checkpoint) = self.model.chosen() else {
            let stays = Line::new(Tone::Dim, "Enter on it changes nothing.");
            let title = Line::new(Tone::Title, "(current)");
            return put_lines(buffer, left, [&title, &stays], self.looks);
        };
        let (mut facts, empty) = (facts(checkpoint), Line::new(Tone::Plain, ""));
        let details = self.model.details.get(&checkpoint.id);
        // A step that its column cuts is shown in full here.
        let step = details.and_then(|details| details.step.as_ref());
        if let Some(step) = step.filter(|step| step.width() > usize::from(self.columns().step)) {
            facts.push(Line::new(Tone::Plain, format!("step      {}", excerpt(step, NAME))));
        }
        let Some(preview) = self.model.previews.get(&checkpoint.id) else {
            put_lines(buffer, left, &facts, self.looks);
            return put_lines(buffer, right, [&Line::new(Tone::Dim, "…")], self.looks);
        };
        let lines = facts.iter().chain(&preview.size).chain([&empty]).chain(&preview.files);
        put_lines(buffer, left, lines, self.looks);
        put_lines(buffer, right, &preview.changes, self.looks);
    }

    fn bottom_style(&self) -> Style {
        match self.model.mode {
            Mode::Asking => self.looks.style(Tone::Title),
            _ => self.looks.style(Tone::Dim),
        }
    }
}

#[cfg(test)]
mod tests;
