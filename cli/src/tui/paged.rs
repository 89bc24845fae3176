//! A long list of which only pages around the cursor are in memory.

use std::ops::Range;

use crate::terminal::Cache;

/// Items of a page, and pages in memory.
pub const PAGE: u64 = 100;
const PAGES: usize = 128;

/// A list of `begin..end`, with a cursor and a visible range.
#[derive(Debug)]
pub struct Paged<T> {
    pages: Cache<u64, Vec<T>>,
    /// Items of one page.
    page: u64,
    pub begin: u64,
    pub end: u64,
    pub cursor: u64,
    /// First visible item, and number of visible ones.
    pub top: u64,
    pub height: u64,
    /// The failure of the last request: the list asks for no more until it is cleared.
    pub failed: Option<String>,
}

impl<T> Paged<T> {
    pub fn new(page: u64) -> Self {
        Self {
            pages: Cache::new(PAGES),
            page,
            begin: 0,
            end: 0,
            cursor: 0,
            top: 0,
            height: 1,
            failed: None,
        }
    }

    /// Forgets everything but the height.
    pub fn clear(&mut self) {
        *self = Self { height: self.height, ..Self::new(self.page) };
    }

    pub fn is_empty(&self) -> bool {
        self.begin >= self.end
    }

    pub fn get(&self, index: u64) -> Option<&T> {
        let items = self.pages.get(&(index / self.page))?;
        items.get(usize::try_from(index.checked_sub(self.first_of(index))?).ok()?)
    }

    /// Returns the first index of the page of an item.
    fn first_of(&self, index: u64) -> u64 {
        (index / self.page * self.page).max(self.begin)
    }

    pub fn chosen(&self) -> Option<&T> {
        self.get(self.cursor)
    }

    pub fn visible(&self) -> Range<u64> {
        self.top..(self.top + self.height).min(self.end)
    }

    /// Returns `true` if the cursor is at the last item.
    pub fn is_at_end(&self) -> bool {
        self.cursor + 1 >= self.end
    }

    pub fn set_height(&mut self, height: usize) {
        self.height = (height as u64).max(1);
        self.show_cursor();
    }

    pub fn go(&mut self, index: u64) {
        self.cursor = index;
        self.show_cursor();
    }

    pub fn go_by(&mut self, steps: i64) {
        self.go(self.cursor.saturating_add_signed(steps));
    }

    pub fn go_page(&mut self, is_down: bool) {
        let steps = i64::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(i64::MAX);
        self.go_by(if is_down { steps } else { -steps });
    }

    fn show_cursor(&mut self) {
        let last = self.end.saturating_sub(1).max(self.begin);
        self.cursor = self.cursor.clamp(self.begin, last);
        let lowest = (self.cursor + 1).saturating_sub(self.height);
        // The end of the list is at the end of the screen.
        let highest = self.end.saturating_sub(self.height).min(self.cursor);
        self.top = self.top.clamp(lowest, highest.max(lowest)).max(self.begin);
    }

    /// Returns the first item to read, and the number of items: the nearest that are visible or
    /// near to it, and not in memory.
    pub fn wanted(&self) -> Option<(u64, u64)> {
        self.wanted_of(self.visible())
    }

    /// Returns the part to read of these items.
    pub fn wanted_of(&self, mut items: impl Iterator<Item = u64>) -> Option<(u64, u64)> {
        let is_missing = |index: &u64| self.get(*index).is_none();
        let index = items.find(is_missing).filter(|_| self.failed.is_none())?;
        let first = self.first_of(index);
        let there = self.pages.get(&(index / self.page)).map_or(0, |items| items.len() as u64);
        let from = first + there;
        let end = ((index / self.page + 1) * self.page).min(self.end);
        Some((from, end.saturating_sub(from).max(1)))
    }

    /// Adds items that were read from an index on. No items are a failure of the answer.
    pub fn add(&mut self, from: u64, items: Vec<T>) {
        if items.is_empty() {
            self.failed = Some("the answer has no items".into());
            return;
        }
        let mut from = from;
        let mut items = items.into_iter();
        while from < self.end {
            let page = from / self.page;
            let (first, end) = (self.first_of(from), (page + 1) * self.page);
            let mut all = self.pages.remove(&page).unwrap_or_default();
            if all.len() as u64 != from - first {
                // Items between are missing: they are read with this page later.
                self.pages.put(page, all);
                return;
            }
            let room = usize::try_from(end - from).unwrap_or(usize::MAX);
            let before = all.len();
            all.extend(items.by_ref().take(room));
            let count = (all.len() - before) as u64;
            self.pages.put(page, all);
            from += count;
            if count == 0 || from < end {
                return;
            }
        }
    }

    /// Sets the end, and forgets what changes with it: the items from an index on.
    pub fn set_end(&mut self, end: u64, changed_from: u64) {
        let is_same = self.end == end;
        let follows = self.is_at_end() && !self.is_empty();
        self.end = end;
        if is_same && changed_from >= end {
            return;
        }
        for page in changed_from / self.page..=end.max(changed_from) / self.page {
            let Some(mut items) = self.pages.remove(&page) else { continue };
            let first = (page * self.page).max(self.begin);
            let keep = changed_from.saturating_sub(first);
            items.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
            if !items.is_empty() {
                self.pages.put(page, items);
            }
        }
        self.failed = None;
        match follows {
            true => self.go(end.saturating_sub(1)),
            false => self.show_cursor(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(begin: u64, end: u64) -> Paged<u64> {
        let mut list = Paged::new(PAGE);
        list.begin = begin;
        list.set_end(end, 0);
        list.set_height(10);
        list
    }

    /// Reads as long as the list wants to, `most` items each time. Returns the requests.
    fn read(list: &mut Paged<u64>, most: u64) -> Vec<(u64, u64)> {
        let mut asked = Vec::new();
        while let Some((from, count)) = list.wanted() {
            asked.push((from, count));
            list.add(from, (from..from + count.min(most)).collect());
        }
        asked
    }

    #[test]
    fn only_pages_around_the_cursor_are_read() {
        let mut list = list(0, 1_000_000);
        assert_eq!(read(&mut list, PAGE), [(0, 100)]);
        list.go(999_999);
        assert_eq!(read(&mut list, PAGE), [(999_900, 100)]);
        assert_eq!(list.chosen(), Some(&999_999));
        list.go(250);
        list.go_by(-1);
        assert_eq!(read(&mut list, PAGE), [(200, 100)]);
        assert_eq!(list.visible().map(|at| *list.get(at).unwrap()).sum::<u64>(), 2535);
    }

    #[test]
    fn a_page_that_comes_in_parts_is_read_on_and_an_empty_answer_ends_it() {
        let mut list = list(7, 300);
        assert_eq!(read(&mut list, 4).len(), 3);
        assert_eq!(list.get(7), Some(&7));
        assert_eq!(list.get(16), Some(&16));
        list.go(150);
        let (from, _) = list.wanted().unwrap();
        list.add(from, Vec::new());
        assert_eq!(list.wanted(), None);
        assert!(list.failed.is_some());
    }

    #[test]
    fn a_list_that_grows_follows_its_end_only_from_its_end() {
        let mut list = list(0, 50);
        list.go(49);
        read(&mut list, PAGE);
        list.set_end(60, 49);
        assert_eq!(list.cursor, 59);
        assert_eq!(read(&mut list, PAGE), [(49, 11)]);
        list.go(3);
        list.set_end(70, 59);
        assert_eq!(list.cursor, 3);
        assert_eq!(list.get(58), Some(&58));
        assert_eq!(list.get(59), None);
    }
}
