//! A list with a cursor, of which some rows are visible, and the pages that it is read in.

use milepost_api::Listed;

/// The part of a list that is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Pages {
    /// No page is read.
    #[default]
    Unread,
    /// The next page begins at this cursor.
    From(String),
    /// All pages are read.
    Read,
}

impl Pages {
    pub fn after<T>(page: &Listed<T>) -> Self {
        page.next.clone().map_or(Self::Read, Self::From)
    }

    /// Returns the cursor of the next page, if there is one; the first page has none.
    pub fn next(&self) -> Option<Option<String>> {
        match self {
            Self::Unread => Some(None),
            Self::From(cursor) => Some(Some(cursor.clone())),
            Self::Read => None,
        }
    }
}

/// The rows of a list, the chosen one and the visible ones.
#[derive(Debug)]
pub struct ScrolledList<T> {
    pub rows: Vec<T>,
    /// Index of the chosen row.
    pub cursor: usize,
    /// Index of the first visible row, and number of visible ones.
    pub top: usize,
    pub height: usize,
}

impl<T> Default for ScrolledList<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), cursor: 0, top: 0, height: 1 }
    }
}

impl<T> ScrolledList<T> {
    pub fn chosen(&self) -> Option<&T> {
        self.rows.get(self.cursor)
    }

    /// Returns the index of the last row.
    pub fn last(&self) -> usize {
        self.rows.len().saturating_sub(1)
    }

    /// Returns the visible rows, and `more` rows after them.
    pub fn visible(&self, more: usize) -> &[T] {
        let end = (self.top + self.height + more).min(self.rows.len());
        self.rows.get(self.top..end).unwrap_or_default()
    }

    /// Returns `true` if the visible rows are near the end.
    pub fn is_near_end(&self) -> bool {
        self.top + 2 * self.height >= self.rows.len()
    }

    pub fn go(&mut self, row: usize) {
        self.cursor = row.min(self.last());
        self.show_from(self.cursor);
    }

    pub fn go_by(&mut self, rows: isize) {
        self.go(self.cursor.saturating_add_signed(rows));
    }

    pub fn set_height(&mut self, height: usize) {
        self.height = height.max(1);
        self.go(self.cursor);
    }

    /// Shows the chosen row, and those before it from one on.
    pub fn show_from(&mut self, first: usize) {
        let lowest = (self.cursor + 1).saturating_sub(self.height);
        // The end of the list is at the end of the screen.
        let highest = self.rows.len().saturating_sub(self.height).min(first);
        self.top = self.top.clamp(lowest, highest.max(lowest));
    }
}
