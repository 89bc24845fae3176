//! Parts that several screens have: panes next to each other, tabs.

// tidy: two functions

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use crate::terminal::{Looks, Tone, behind, put, rule, split_right};

/// Draws names of tabs with their numbers, the chosen one in bold.
pub fn tabs(
    names: impl Iterator<Item = (&'static str, bool)>,
    looks: Looks,
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

/// Returns two areas next to each other, with a rule between them.
pub fn next_to(area: Rect, left: u16, looks: Looks, buffer: &mut Buffer) -> (Rect, Rect) {
    let (first, rest) = split_right(area, left);
    let (line, second) = split_right(rest, 1);
    rule(looks, line, buffer);
    (first, behind(second, 1))
}
