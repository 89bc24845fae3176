//! The last items of a list that is read from its beginning.

// tidy: two commands use it

use std::collections::VecDeque;

use crate::output::{count, hint};

/// The last items, at most as many as a limit.
#[derive(Debug)]
pub struct Last<T> {
    limit: usize,
    items: VecDeque<T>,
    dropped: u64,
}

impl<T> Last<T> {
    /// Creates an empty list. Without a limit it keeps all items.
    pub fn new(limit: Option<usize>) -> Self {
        Self { limit: limit.unwrap_or(usize::MAX), items: VecDeque::new(), dropped: 0 }
    }

    /// Adds an item, and drops the first one if there are too many.
    pub fn push(&mut self, item: T) {
        self.items.push_back(item);
        if self.items.len() > self.limit {
            self.items.pop_front();
            self.dropped += 1;
        }
    }

    /// Returns the items. Says on stderr how many of them, named `what`, came before.
    pub fn end(self, what: &str) -> Vec<T> {
        if self.dropped > 0 {
            let dropped = count(self.dropped, what);
            hint(&format!("{dropped} earlier: a larger --limit prints more"));
        }
        self.items.into()
    }
}
