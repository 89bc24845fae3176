//! Parts of a screen, and text in them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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

/// A line of the preview.
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
}

impl Tone {
    /// Returns the style of the tone, without colours unless they are wanted.
    pub fn style(self, color: bool) -> Style {
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

/// Returns the longest end of a text that fits.
pub fn end_of(text: &str, width: usize) -> &str {
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
