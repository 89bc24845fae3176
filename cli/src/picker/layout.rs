//! Where what stands on the screen.

use ratatui::layout::Rect;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How wide a screen is that has the preview at the right, and one that has it below.
const RIGHT: u16 = 100;
const BELOW: u16 = 60;
/// How high a screen is that has one at all.
const HIGH: u16 = 12;
/// How high a list is that has titles.
const TITLES: u16 = 5;

/// The parts of the screen. What there is no room for is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layout {
    pub prompt: Rect,
    pub titles: Rect,
    pub list: Rect,
    /// The line between the list and the preview.
    pub rule: Rect,
    /// What the checkpoint says, and which files it has.
    pub facts: Rect,
    /// What a restore would do.
    pub changes: Rect,
    pub bottom: Rect,
}

impl Layout {
    /// The parts of an area, where the bottom has so many lines.
    pub fn of(area: Rect, bottom: u16) -> Self {
        let bottom = bottom.clamp(1, (area.height / 2).max(1));
        let (above, bottom) = split_below(area, area.height.saturating_sub(bottom));
        let (prompt, body) = split_below(above, 1);
        let mut layout = Self { prompt, bottom, ..Self::default() };
        let list = match (area.width, area.height) {
            (_, ..HIGH) | (..BELOW, _) => body,
            (..RIGHT, _) => layout.below(body),
            _ => layout.right(body),
        };
        let titles = u16::from(list.height >= TITLES);
        (layout.titles, layout.list) = split_below(list, titles);
        layout
    }

    pub fn has_preview(&self) -> bool {
        !self.facts.is_empty()
    }

    /// Puts the preview below, in two columns; gives what is left for the list.
    fn below(&mut self, body: Rect) -> Rect {
        let (list, rest) = split_below(body, body.height.div_ceil(2));
        let (rule, preview) = split_below(rest, 1);
        self.rule = rule;
        let (facts, rest) = split_right(preview, preview.width / 2);
        self.facts = Rect { width: facts.width.saturating_sub(2), ..facts };
        self.changes = rest;
        list
    }

    /// Puts the preview at the right; gives what is left for the list.
    fn right(&mut self, body: Rect) -> Rect {
        let (list, rest) = split_right(body, body.width * 3 / 5);
        let (rule, preview) = split_right(rest, 2);
        self.rule = Rect { width: 1, ..rule };
        let (facts, changes) = split_below(preview, (preview.height / 2).min(14));
        self.facts = facts;
        self.changes = changes;
        Rect { width: list.width.saturating_sub(1), ..list }
    }
}

fn split_below(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    let below = Rect { y: area.y + height, height: area.height - height, ..area };
    (Rect { height, ..area }, below)
}

fn split_right(area: Rect, width: u16) -> (Rect, Rect) {
    let width = width.min(area.width);
    let right = Rect { x: area.x + width, width: area.width - width, ..area };
    (Rect { width, ..area }, right)
}

/// How wide the columns of a checkpoint's row are; 0 for one that there is no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    pub name: u16,
    pub step: u16,
    pub time: u16,
    pub cause: u16,
    pub events: u16,
}

impl Columns {
    /// The columns of a row this wide, behind its marks.
    pub fn of(width: u16) -> Self {
        let mut columns = Self { name: 0, step: 10, time: 14, cause: 14, events: 7 };
        while columns.name_in(width) < 13 && columns.drop_one() {}
        columns.name = columns.name_in(width);
        columns
    }

    /// What is left for the name, with two blanks before each other column.
    fn name_in(&self, width: u16) -> u16 {
        let others = [self.step, self.time, self.cause, self.events];
        let taken = others.into_iter().filter(|column| *column > 0);
        width.saturating_sub(taken.map(|column| column + 2).sum())
    }

    fn drop_one(&mut self) -> bool {
        let order = [&mut self.events, &mut self.cause, &mut self.step, &mut self.time];
        let there = order.into_iter().find(|column| **column > 0);
        there.map(|column| *column = 0).is_some()
    }
}

/// The text in lines that are no wider, between words where that can be.
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

/// How many bytes of the text fit, at least a character.
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
    fn the_preview_is_at_the_right_or_below_or_nowhere() {
        let of = |width, height| Layout::of(Rect::new(0, 0, width, height), 1);
        let wide = of(120, 40);
        assert!(wide.has_preview() && wide.facts.x > wide.list.right());
        let usual = of(80, 24);
        assert!(usual.has_preview() && usual.facts.y > usual.list.bottom());
        assert_eq!(usual.list.width, 80);
        for (width, height) in [(59, 24), (120, 11), (40, 10)] {
            assert!(!of(width, height).has_preview(), "{width}x{height}");
        }
    }

    #[test]
    fn no_part_is_outside_of_any_screen() {
        for width in 0..130 {
            for height in 0..45 {
                let area = Rect::new(0, 0, width, height);
                let layout = Layout::of(area, height / 3);
                let Layout { prompt, titles, list, rule, facts, changes, bottom } = layout;
                for part in [prompt, titles, list, rule, facts, changes, bottom] {
                    assert!(part.is_empty() || area.union(part) == area, "{area} {layout:?}");
                }
            }
        }
    }

    #[test]
    fn columns_go_where_there_is_no_room_for_the_name() {
        assert_eq!(Columns::of(78).name, 25);
        let narrow = Columns::of(38);
        assert_eq!((narrow.events, narrow.cause, narrow.step), (0, 0, 0));
        assert_eq!((narrow.name, narrow.time), (22, 14));
        assert_eq!(Columns::of(10), Columns { name: 10, step: 0, time: 0, cause: 0, events: 0 });
    }

    #[test]
    fn text_is_wrapped_between_words_by_its_width() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("日本語日本語 x", 6), ["日本語", "日本語", "x"]);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrapped("", 3), [""]);
        assert_eq!(wrapped("日本", 1), ["日", "本"]);
    }
}
