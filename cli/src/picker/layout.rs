//! The layout of the screen.

use ratatui::layout::Rect;

use crate::terminal::{split_below, split_right};

/// Minimum width for a preview at the right, and for one below the list.
const RIGHT: u16 = 100;
const BELOW: u16 = 60;
/// Minimum height of a screen with a preview.
const HIGH: u16 = 12;
/// Minimum height of a list with titles.
const TITLES: u16 = 5;

/// The parts of the screen. A part without room is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layout {
    pub prompt: Rect,
    pub titles: Rect,
    pub list: Rect,
    /// The line between the list and the preview.
    pub rule: Rect,
    /// The checkpoint's fields and files.
    pub facts: Rect,
    /// The changes that a restore makes.
    pub changes: Rect,
    pub bottom: Rect,
}

impl Layout {
    /// Returns the parts of an area. `bottom` is the number of lines wanted at the bottom.
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

    /// Places the preview below, in two columns. Returns the remaining area for the list.
    fn below(&mut self, body: Rect) -> Rect {
        let (list, rest) = split_below(body, body.height.div_ceil(2));
        let (rule, preview) = split_below(rest, 1);
        self.rule = rule;
        let (facts, rest) = split_right(preview, preview.width / 2);
        self.facts = Rect { width: facts.width.saturating_sub(2), ..facts };
        self.changes = rest;
        list
    }

    /// Places the preview at the right. Returns the remaining area for the list.
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

/// Width of the column of the step, and the most that it takes of a wide screen.
const STEP: u16 = 10;
const STEP_MAX: u16 = 40;

/// The width of the name from which on the step is widened.
const NAME: u16 = 25;

/// Widths of the columns of a checkpoint's row. A column without room has width 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    pub name: u16,
    pub step: u16,
    pub time: u16,
    pub cause: u16,
    pub events: u16,
}

impl Columns {
    /// Returns the columns of a row of a width, without the two columns of its marks.
    pub fn of(width: u16) -> Self {
        let mut columns = Self { name: 0, step: STEP, time: 14, cause: 14, events: 7 };
        while columns.name_in(width) < 13 && columns.drop_one() {}
        columns.name = columns.name_in(width);
        if columns.step > 0 {
            let spare = columns.name.saturating_sub(NAME).min(STEP_MAX - STEP);
            columns.step += spare;
            columns.name -= spare;
        }
        columns
    }

    /// Returns the remaining width for the name, with two blanks before each other column.
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
        assert_eq!((Columns::of(78).name, Columns::of(78).step), (25, STEP));
        assert_eq!((Columns::of(98).name, Columns::of(98).step), (25, 30));
        assert_eq!((Columns::of(158).name, Columns::of(158).step), (75, STEP_MAX));
        let narrow = Columns::of(38);
        assert_eq!((narrow.events, narrow.cause, narrow.step), (0, 0, 0));
        assert_eq!((narrow.name, narrow.time), (22, 14));
        assert_eq!(Columns::of(10), Columns { name: 10, step: 0, time: 0, cause: 0, events: 0 });
    }
}
