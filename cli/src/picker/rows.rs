//! The rows of the list: the chosen one and the visible ones.

use milepost::events::MarkStatus;

use super::filter::WordFilter;
use super::list::List;

/// A row, by its index in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// Keeps the current state.
    Current,
    /// The task of a group.
    Heading(usize),
    /// A checkpoint of a group.
    Item(usize, usize),
}

impl Row {
    fn can_be_chosen(self) -> bool {
        !matches!(self, Self::Heading(_))
    }

    /// Returns the sort key of the row on the screen.
    fn order(self) -> (usize, usize, usize) {
        match self {
            Self::Current => (0, 0, 0),
            Self::Heading(group) => (1, group, 0),
            Self::Item(group, item) => (1, group, item + 1),
        }
    }
}

/// The rows that match the filter.
#[derive(Debug)]
pub struct Rows {
    rows: Vec<Row>,
    chosen: usize,
    /// Index of the first visible row, and number of visible ones.
    top: usize,
    height: usize,
    /// True if the last row stays chosen while more is loaded.
    at_end: bool,
}

impl Rows {
    pub fn new() -> Self {
        Self { rows: vec![Row::Current], chosen: 0, top: 0, height: 1, at_end: false }
    }

    pub fn chosen(&self) -> Row {
        self.rows.get(self.chosen).copied().unwrap_or(Row::Current)
    }

    /// Returns the number of rows that are checkpoints.
    pub fn items(&self) -> usize {
        let is_item = |row: &&Row| matches!(row, Row::Item(..));
        self.rows.iter().filter(is_item).count()
    }

    /// Returns the visible rows, and `more` rows after them.
    pub fn visible(&self, more: usize) -> &[Row] {
        let end = (self.top + self.height + more).min(self.rows.len());
        self.rows.get(self.top..end).unwrap_or_default()
    }

    /// Returns `true` if the visible rows are near the end.
    pub fn is_near_end(&self) -> bool {
        self.at_end || self.top + 2 * self.height >= self.rows.len()
    }

    pub fn set_height(&mut self, height: usize) {
        self.height = height.max(1);
        self.show_chosen();
    }

    /// Rebuilds the rows after a load or a change of the filter. The chosen row keeps its line on
    /// the screen.
    pub fn renew(&mut self, list: &List, filter: &WordFilter) {
        let (chosen, line) = (self.chosen(), self.chosen.saturating_sub(self.top));
        self.rows = rows(list, filter);
        let found = self.rows.binary_search_by_key(&chosen.order(), |row| row.order());
        self.chosen = match found {
            Ok(place) => place,
            Err(_) => self.first_item().unwrap_or(0),
        };
        if self.at_end {
            self.chosen = self.rows.len().saturating_sub(1);
        }
        self.top = self.chosen.saturating_sub(line);
        self.show_chosen();
    }

    /// Chooses the first checkpoint, or the current state if there is none.
    pub fn choose_first_item(&mut self) {
        self.at_end = false;
        self.chosen = self.first_item().unwrap_or(0);
        self.top = 0;
        self.show_chosen();
    }

    fn first_item(&self) -> Option<usize> {
        self.rows.iter().position(|row| matches!(row, Row::Item(..)))
    }

    /// Moves the choice by a number of rows.
    pub fn go(&mut self, by: isize) {
        self.at_end = false;
        let last = self.rows.len().saturating_sub(1);
        let to = self.chosen.saturating_add_signed(by).min(last);
        let can = |place: &usize| self.rows.get(*place).is_some_and(|row| row.can_be_chosen());
        // Skips headings in the direction of the move. The first and the last row are never
        // headings.
        let further = if by < 0 { (0..=to).rev().find(can) } else { (to..=last).find(can) };
        self.chosen = further.unwrap_or(self.chosen);
        self.show_chosen();
    }

    pub fn go_page(&mut self, forth: bool) {
        let page = isize::try_from(self.height.max(2) - 1).unwrap_or(isize::MAX);
        self.go(if forth { page } else { -page });
    }

    pub fn go_first(&mut self) {
        self.go(isize::MIN);
    }

    /// Chooses the last row, and follows it while more is loaded.
    pub fn go_last(&mut self) {
        self.go(isize::MAX);
        self.at_end = true;
    }

    /// Chooses the first checkpoint of the next task, or of the previous one.
    pub fn go_task(&mut self, forth: bool) {
        self.at_end = false;
        let group = match self.chosen() {
            Row::Item(group, _) => Some(group),
            _ => None,
        };
        let first = |row: &Row| matches!((row, group), (Row::Heading(at), now) if Some(*at) != now);
        let heading = match forth {
            true => (self.chosen..self.rows.len()).find(|at| self.rows.get(*at).is_some_and(first)),
            false => (0..self.chosen).rev().find(|at| self.rows.get(*at).is_some_and(first)),
        };
        match (heading, forth) {
            (Some(heading), _) => self.chosen = heading + 1,
            (None, true) => {}
            (None, false) => self.chosen = 0,
        }
        self.show_chosen();
    }

    /// Chooses the newest shown checkpoint of the chosen task whose work was a success; from the
    /// current state that of the first task.
    pub fn choose_success(&mut self, list: &List) {
        self.at_end = false;
        let group = match self.chosen() {
            Row::Item(group, _) => Some(group),
            _ => None,
        };
        let is_success = |row: &Row| match row {
            Row::Item(of, item) if group.is_none_or(|group| group == *of) => {
                let item = list.item(*of, *item);
                item.is_some_and(|item| item.checkpoint.status == MarkStatus::Success)
            }
            _ => false,
        };
        self.chosen = self.rows.iter().position(is_success).unwrap_or(self.chosen);
        self.show_chosen();
    }

    fn show_chosen(&mut self) {
        let above = self.chosen.saturating_sub(1);
        let heading = matches!(self.rows.get(above), Some(Row::Heading(_)));
        // Shows a task's heading with its first checkpoint, if both fit.
        let first = if heading && self.height > 1 { above } else { self.chosen };
        self.top = self.top.min(first);
        self.top = self.top.max((self.chosen + 1).saturating_sub(self.height));
        let most = self.rows.len().saturating_sub(self.height);
        self.top = self.top.min(most);
        if self.chosen < self.height && first <= 1 {
            self.top = 0;
        }
    }
}

fn rows(list: &List, filter: &WordFilter) -> Vec<Row> {
    let mut rows = vec![Row::Current];
    for (at, group) in list.groups().iter().enumerate() {
        let items = group.items.iter().enumerate();
        let taken = items.filter(|(_, item)| filter.takes(&item.text));
        let mut taken = taken.map(|(item, _)| Row::Item(at, item)).peekable();
        // A task without a match is hidden.
        if taken.peek().is_some() {
            rows.push(Row::Heading(at));
            rows.extend(taken);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::testing::{checkpoint, page};
    use super::*;

    /// Returns rows with three checkpoints for each of the tasks.
    fn of(tasks: &[&str]) -> (Rows, List) {
        let mut list = List::of_store();
        for task in tasks {
            let items = [9, 8, 7].map(|at| checkpoint(task, at));
            list.add_store_page(page(items, Some("more")));
        }
        let mut rows = Rows::new();
        rows.set_height(4);
        rows.renew(&list, &WordFilter::default());
        (rows, list)
    }

    #[test]
    fn current_comes_first_and_headings_are_passed() {
        let (mut rows, _) = of(&["a", "b"]);
        assert_eq!((rows.rows.len(), rows.items()), (9, 6));
        assert_eq!(rows.chosen(), Row::Current);
        rows.go(1);
        assert_eq!(rows.chosen(), Row::Item(0, 0));
        rows.go(3);
        assert_eq!(rows.chosen(), Row::Item(1, 0));
        rows.go(-1);
        assert_eq!(rows.chosen(), Row::Item(0, 2));
        rows.go_first();
        assert_eq!(rows.chosen(), Row::Current);
        rows.go(-1);
        assert_eq!(rows.chosen(), Row::Current);
        rows.go_last();
        assert_eq!(rows.chosen(), Row::Item(1, 2));
        rows.go(1);
        assert_eq!(rows.chosen(), Row::Item(1, 2));
    }

    #[test]
    fn what_is_chosen_is_on_the_screen_with_the_heading_of_its_task() {
        let (mut rows, _) = of(&["a", "b"]);
        rows.go_last();
        let last = [Row::Heading(1), Row::Item(1, 0), Row::Item(1, 1), Row::Item(1, 2)];
        assert_eq!(rows.visible(0), last);
        rows.go(-3);
        assert_eq!(rows.visible(0).first(), Some(&Row::Item(0, 2)));
        rows.go_page(false);
        assert_eq!(rows.visible(0).first(), Some(&Row::Current));
        rows.go_page(true);
        assert_eq!(rows.chosen(), Row::Item(0, 1));
        rows.set_height(1);
        assert_eq!(rows.visible(0), [Row::Item(0, 1)]);
        rows.set_height(100);
        assert_eq!(rows.visible(0).len(), 9);
    }

    #[test]
    fn tab_goes_from_task_to_task() {
        let (mut rows, _) = of(&["a", "b", "c"]);
        let mut seen = Vec::new();
        for _ in 0..4 {
            rows.go_task(true);
            seen.push(rows.chosen());
        }
        let first = |group| Row::Item(group, 0);
        assert_eq!(seen, [first(0), first(1), first(2), first(2)]);
        rows.go(1);
        rows.go_task(false);
        assert_eq!(rows.chosen(), first(1));
        rows.go_task(false);
        rows.go_task(false);
        assert_eq!(rows.chosen(), Row::Current);
    }

    #[test]
    fn seed_000_the_last_success_of_a_task_is_one_key_away() {
        let mut list = List::of_store();
        for task in ["a", "b"] {
            let mut items = [9, 8, 7].map(|at| checkpoint(task, at));
            items[0].status = MarkStatus::Failure;
            list.add_store_page(page(items, None));
        }
        let mut rows = Rows::new();
        rows.set_height(4);
        rows.renew(&list, &WordFilter::default());
        rows.choose_success(&list);
        assert_eq!(rows.chosen(), Row::Item(0, 1));
        rows.go_last();
        rows.choose_success(&list);
        assert_eq!(rows.chosen(), Row::Item(1, 1));
        // A task without one keeps the choice.
        rows.renew(&list, &WordFilter::new("b-9"));
        rows.choose_success(&list);
        assert_eq!(rows.chosen(), Row::Item(1, 0));
    }

    #[test]
    fn what_is_chosen_stays_where_it_is_when_more_is_loaded_above_it() {
        let (mut rows, mut list) = of(&["a", "b"]);
        rows.go_last();
        rows.go(-1);
        let shown = rows.visible(0).to_vec();
        let older = [6, 5].map(|at| checkpoint("a", at));
        list.add_store_page(page(older, Some("more")));
        rows.renew(&list, &WordFilter::default());
        assert_eq!(rows.chosen(), Row::Item(1, 1));
        assert_eq!(rows.visible(0), shown);
    }

    #[test]
    fn the_end_moves_with_what_is_loaded_until_another_key() {
        let (mut rows, mut list) = of(&["a"]);
        rows.go_last();
        list.add_store_page(page([checkpoint("b", 2)], Some("more")));
        rows.renew(&list, &WordFilter::default());
        assert_eq!(rows.chosen(), Row::Item(1, 0));
        rows.go(-1);
        list.add_store_page(page([checkpoint("c", 2)], None));
        rows.renew(&list, &WordFilter::default());
        assert_eq!(rows.chosen(), Row::Item(0, 2));
    }

    #[test]
    fn a_filter_leaves_tasks_without_a_match_away() {
        let (mut rows, list) = of(&["a", "b"]);
        rows.renew(&list, &WordFilter::new("b-8"));
        assert_eq!(rows.visible(9), [Row::Current, Row::Heading(1), Row::Item(1, 1)]);
        rows.choose_first_item();
        assert_eq!(rows.chosen(), Row::Item(1, 1));
        // The choice survives the end of the filter.
        rows.renew(&list, &WordFilter::default());
        assert_eq!(rows.chosen(), Row::Item(1, 1));
        rows.renew(&list, &WordFilter::new("nothing"));
        assert_eq!((rows.chosen(), rows.items()), (Row::Current, 0));
        rows.go_last();
        assert_eq!(rows.chosen(), Row::Current);
    }
}
