//! Parts of a screen, and text in them.

use milepost::state::ChangeKind;
use milepost_api::ChangeForm;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::{excerpt, printable};

/// Maximum number of columns of a name or an address, before the screen's width cuts it.
pub const NAME: usize = 200;

/// Columns of the path of a change.
const PATH: usize = 160;

/// Colours, and the current time.
#[derive(Debug, Clone, Copy)]
pub struct Looks {
    pub color: bool,
    pub now_us: u64,
}

impl Looks {
    pub fn style(self, tone: Tone) -> Style {
        tone.style(self.color)
    }
}

/// The style of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Title,
    Dim,
    Added,
    Removed,
    Changed,
}

/// A line of a preview or a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub tone: Tone,
    pub text: String,
}

impl Line {
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { tone, text }
    }

    /// Returns a change of a state, with values of so many columns.
    pub fn of_change(change: &ChangeForm, columns: usize) -> Self {
        let value = |value: &Option<Value>| {
            value.as_ref().map(|value| excerpt(&value.to_string(), columns)).unwrap_or_default()
        };
        let path = excerpt(&change.path, PATH);
        let (before, after) = (value(&change.before), value(&change.after));
        match change.kind {
            ChangeKind::Add => Self::new(Tone::Added, format!("+ {path}: {after}")),
            ChangeKind::Remove => Self::new(Tone::Removed, format!("- {path}: {before}")),
            ChangeKind::Replace => {
                Self::new(Tone::Changed, format!("~ {path}: {before} -> {after}"))
            }
        }
    }
}

impl Tone {
    /// Returns the style of the tone, without colours unless they are wanted.
    fn style(self, color: bool) -> Style {
        let colored = |value| match color {
            true => Style::new().fg(value),
            false => Style::new(),
        };
        match self {
            Self::Plain => Style::new(),
            Self::Title => Style::new().add_modifier(Modifier::BOLD),
            Self::Dim => Style::new().add_modifier(Modifier::DIM),
            Self::Added => colored(Color::Green),
            Self::Removed => colored(Color::Red),
            Self::Changed => colored(Color::Yellow),
        }
    }
}

pub fn split_below(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    let below = Rect { y: area.y + height, height: area.height - height, ..area };
    (Rect { height, ..area }, below)
}

pub fn split_right(area: Rect, width: u16) -> (Rect, Rect) {
    let width = width.min(area.width);
    let right = Rect { x: area.x + width, width: area.width - width, ..area };
    (Rect { width, ..area }, right)
}

/// Returns a line of an area, empty if it is past the end.
pub fn line_of(area: Rect, line: usize) -> Rect {
    let line = u16::try_from(line).unwrap_or(u16::MAX);
    match line < area.height {
        true => Rect { y: area.y + line, height: 1, ..area },
        false => Rect::default(),
    }
}

/// Returns an area without its first columns.
pub fn behind(area: Rect, columns: u16) -> Rect {
    let columns = columns.min(area.width);
    Rect { x: area.x + columns, width: area.width - columns, ..area }
}

/// Writes text into a line, with `…` at the cut.
pub fn put(buffer: &mut Buffer, area: Rect, text: &str, style: Style) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    let width = usize::from(area.width);
    if text.width() <= width {
        buffer.set_stringn(area.x, area.y, text, width, style);
        return;
    }
    let (x, y) = buffer.set_stringn(area.x, area.y, text, width - 1, style);
    buffer.set_stringn(x, y, "…", 1, style);
}

/// Writes lines, as many as have room.
pub fn put_lines<'a>(
    buffer: &mut Buffer,
    area: Rect,
    lines: impl IntoIterator<Item = &'a Line>,
    looks: Looks,
) {
    for (at, line) in lines.into_iter().take(area.height.into()).enumerate() {
        put(buffer, line_of(area, at), &line.text, looks.style(line.tone));
    }
}

/// Writes cells of these widths into a line, with `gap` columns between them.
pub fn put_cells<'a>(
    buffer: &mut Buffer,
    area: Rect,
    cells: impl IntoIterator<Item = (u16, &'a String)>,
    gap: u16,
    style: Style,
) {
    let mut rest = area;
    for (width, cell) in cells {
        put(buffer, Rect { width: width.min(rest.width), ..rest }, cell, style);
        rest = behind(rest, width + gap);
    }
}

/// Draws a line between two parts of a screen.
pub fn rule(looks: Looks, area: Rect, buffer: &mut Buffer) {
    let symbol = if area.width == 1 && area.height > 1 { "│" } else { "─" };
    for at in area.positions() {
        if let Some(cell) = buffer.cell_mut(at) {
            cell.set_symbol(symbol).set_style(looks.style(Tone::Dim));
        }
    }
}

/// Marks the chosen row.
pub fn choose(area: Rect, is_focused: bool, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    put(buffer, Rect { width: 1, height: 1, ..area }, ">", Style::new());
    if is_focused {
        buffer.set_style(area, Modifier::REVERSED);
    }
}

/// Returns a line with a typed text: its end, with room for the cursor.
pub fn prompt_line(typed: &str, width: usize) -> String {
    format!("> {}", end_of(&printable(typed), width.saturating_sub(3)))
}

/// Returns the longest end of a text that fits.
fn end_of(text: &str, width: usize) -> &str {
    let mut rest = text;
    while rest.width() > width && !rest.is_empty() {
        rest = rest.split_at(fitting(rest, 1)).1;
    }
    rest
}

/// Wraps the text to lines of at most `width` columns, between words if possible.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else {
            break;
        };
        let blank = usize::from(!line.is_empty());
        if line.width() + blank + word.width() <= width {
            line.push_str(if blank == 1 { " " } else { "" });
            line.push_str(word);
            continue;
        }
        let mut rest = word;
        if line.is_empty() {
            lines.pop();
        }
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(fitting(rest, width));
            lines.push(piece.to_owned());
            rest = behind;
        }
    }
    lines
}

/// Returns the number of bytes of the text that fit in `width` columns, at least one character.
pub fn fitting(text: &str, width: usize) -> usize {
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += c.width().unwrap_or(0);
        if taken > width && at > 0 {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_between_words_by_its_width() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("日本語日本語 x", 6), ["日本語", "日本語", "x"]);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrapped("", 3), [""]);
        assert_eq!(wrapped("日本", 1), ["日", "本"]);
    }
}
