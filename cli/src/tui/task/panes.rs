//! The panes of a task: the list, the document, and a second document on a wide screen.

use super::TaskView;
use crate::tui::keys::Does;

/// The part of the screen that the keys move in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    List,
    Document,
    /// The second document, on a wide screen.
    Next,
}

impl TaskView {
    /// Moves to the next pane. With `is_open` the last pane stays.
    pub fn next_pane(&mut self, panes: usize, is_open: bool) {
        self.pane = match self.pane {
            Pane::List => Pane::Document,
            Pane::Document if panes > 2 => Pane::Next,
            last if is_open => last,
            _ => Pane::List,
        };
    }

    pub fn previous_pane(&mut self, panes: usize) {
        self.pane = match self.pane {
            Pane::List if panes > 2 => Pane::Next,
            Pane::List | Pane::Next => Pane::Document,
            Pane::Document => Pane::List,
        };
    }

    /// Moves the cursor of the list, or scrolls the document.
    pub fn move_by(&mut self, does: Does) {
        match (self.pane, does) {
            (Pane::List, Does::NextRow) => self.go_by(1),
            (Pane::List, Does::PreviousRow) => self.go_by(-1),
            (Pane::List, _) => self.go_end(does == Does::Last),
            (_, Does::NextRow) => self.scroll_by(1),
            (_, Does::PreviousRow) => self.scroll_by(-1),
            (_, Does::Last) => self.scroll_by(isize::MAX),
            _ => self.scroll_by(isize::MIN),
        }
    }

    /// Scrolls the document. The drawing keeps it in its range.
    pub fn scroll_by(&mut self, lines: isize) {
        let [first, second] = &mut self.scroll;
        let scroll = if self.pane == Pane::Next { second } else { first };
        *scroll = scroll.saturating_add_signed(lines);
    }
}
