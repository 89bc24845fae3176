//! The rows of the list: the chosen one and the visible ones.

use milepost::events::MarkStatus;

use super::filter::WordFilter;
use super::list::List;
use crate::terminal::ScrolledList;

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
    fn is_item(self) -> bool {
        matches!(self, Self::Item(..))
    }

    /// Returns the group of a task or of a checkpoint.
    fn group(self) -> Option<usize> {
        match self {
            Self::Heading(group) | Self::Item(group, _) => Some(group),
            Self::Current => None,
        }
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
#[derive(Debug, Default)]
pub struct Rows {
    pub all: ScrolledList<Row>,
    /// True if the last row stays chosen while more is loaded.
    at_end: bool,
}

impl Rows {
    pub fn chosen(&self) -> Row {
        self.all.chosen().copied().unwrap_or(Row::Current)
    }

    /// Returns the number of rows that are checkpoints.
    pub fn items(&self) -> usize {
        self.all.rows.iter().filter(|row| row.is_item()).count()
    }

    /// Returns `true` if the visible rows are near the end.
    pub fn is_near_end(&self) -> bool {
        self.at_end || self.all.is_near_end()
    }

    pub fn set_height(&mut self, height: usize) {
        self.all.height = height.max(1);
        self.show_chosen();
    }

    /// Rebuilds the rows after a load or a change of the filter. The chosen row keeps its line on
    /// the screen.
    pub fn renew(&mut self, list: &List, filter: &WordFilter) {
        let (chosen, line) = (self.chosen(), self.all.cursor.saturating_sub(self.all.top));
        self.all.rows = rows(list, filter);
        let found = self.all.rows.binary_search_by_key(&chosen.order(), |row| row.order());
        let place = if self.at_end { self.all.last() } else { found.unwrap_or(self.first_item()) };
        self.all.top = place.saturating_sub(line);
        self.choose(place);
    }

    /// Chooses the first checkpoint, or the current state if there is none.
    pub fn choose_first_item(&mut self) {
        self.at_end = false;
        self.all.top = 0;
        self.choose(self.first_item());
    }

    /// Returns the index of the first checkpoint, or of the current state if there is none.
    fn first_item(&self) -> usize {
        self.all.rows.iter().position(|row| row.is_item()).unwrap_or(0)
    }

    /// Returns the chosen checkpoint by its place in the list. The row of a task means the
    /// newest shown checkpoint of the task whose work was a success, or without one the newest
    /// shown. Returns `None` for the current state, and while older checkpoints of the task, which
    /// may have a success, are not loaded.
    pub fn chosen_item(&self, list: &List) -> Option<(usize, usize)> {
        let of = match self.chosen() {
            Row::Current => return None,
            Row::Item(group, item) => return Some((group, item)),
            Row::Heading(group) => group,
        };
        let shown = self.all.rows.iter().filter_map(|row| match row {
            Row::Item(group, item) if *group == of => Some((of, *item)),
            _ => None,
        });
        let is_success = |(group, item): &(usize, usize)| {
            let item = list.item(*group, *item);
            item.is_some_and(|item| item.checkpoint.status == MarkStatus::Success)
        };
        let newest = shown.clone().next().filter(|_| list.task_next(of).is_none());
        shown.clone().find(is_success).or(newest)
    }

    /// Returns the task whose row is chosen, if it means no checkpoint yet.
    pub fn looks_for(&self, list: &List) -> Option<usize> {
        match self.chosen() {
            Row::Heading(group) if self.chosen_item(list).is_none() => Some(group),
            _ => None,
        }
    }

    /// Chooses the checkpoint that the chosen row means.
    pub fn choose_item(&mut self, list: &List) {
        let found = self.chosen_item(list).map(|(group, item)| Row::Item(group, item));
        let place = found.and_then(|row| self.all.rows.iter().position(|it| *it == row));
        self.choose(place.unwrap_or(self.all.cursor));
    }

    /// Moves the choice by a number of rows.
    pub fn go(&mut self, by: isize) {
        self.at_end = false;
        self.choose(self.all.cursor.saturating_add_signed(by).min(self.all.last()));
    }

    pub fn go_page(&mut self, forth: bool) {
        let page = isize::try_from(self.all.height.max(2) - 1).unwrap_or(isize::MAX);
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
        let group = self.chosen().group();
        let is_first = |at: &usize| match self.all.rows.get(*at) {
            Some(Row::Heading(at)) => Some(*at) != group,
            _ => false,
        };
        let heading = match forth {
            true => (self.all.cursor..self.all.rows.len()).find(is_first),
            false => (0..self.all.cursor).rev().find(is_first),
        };
        let stays = if forth { self.all.cursor } else { 0 };
        self.choose(heading.map_or(stays, |heading| heading + 1));
    }

    /// Chooses the newest shown checkpoint of the chosen task whose work was a success; from the
    /// current state that of the first task.
    pub fn choose_success(&mut self, list: &List) {
        self.at_end = false;
        let group = self.chosen().group();
        let is_success = |row: &Row| match row {
            Row::Item(of, item) if group.is_none_or(|group| group == *of) => {
                let item = list.item(*of, *item);
                item.is_some_and(|item| item.checkpoint.status == MarkStatus::Success)
            }
            _ => false,
        };
        self.choose(self.all.rows.iter().position(is_success).unwrap_or(self.all.cursor));
    }

    fn choose(&mut self, place: usize) {
        self.all.cursor = place;
        self.show_chosen();
    }

    /// Shows the chosen row, with the heading of its task if both fit.
    fn show_chosen(&mut self) {
        let list = &mut self.all;
        let above = list.cursor.saturating_sub(1);
        let is_heading = matches!(list.rows.get(above), Some(Row::Heading(_)));
        let first = if is_heading && list.height > 1 { above } else { list.cursor };
        list.show_from(first);
        if list.cursor < list.height && first <= 1 {
            list.top = 0;
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
        let mut rows = Rows::default();
        rows.set_height(4);
        rows.renew(&list, &WordFilter::default());
        (rows, list)
    }

    #[test]
    fn current_comes_first_then_each_task_with_its_checkpoints() {
        let (mut rows, _) = of(&["a", "b"]);
        assert_eq!((rows.all.rows.len(), rows.items()), (9, 6));
        assert_eq!(rows.chosen(), Row::Current);
        rows.go(1);
        assert_eq!(rows.chosen(), Row::Heading(0));
        rows.go(4);
        assert_eq!(rows.chosen(), Row::Heading(1));
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
        assert_eq!(rows.all.visible(0), last);
        rows.go(-4);
        assert_eq!(rows.all.visible(0).first(), Some(&Row::Item(0, 2)));
        rows.go_page(false);
        assert_eq!(rows.all.visible(0).first(), Some(&Row::Current));
        rows.go_page(true);
        assert_eq!(rows.chosen(), Row::Item(0, 2));
        rows.set_height(1);
        assert_eq!(rows.all.visible(0), [Row::Item(0, 2)]);
        rows.set_height(100);
        assert_eq!(rows.all.visible(0).len(), 9);
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
        let mut rows = Rows::default();
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
    fn seed_000_the_row_of_a_task_means_its_newest_success() {
        let mut list = List::of_store();
        for (task, failures) in [("a", 1), ("b", 3)] {
            let mut items = [9, 8, 7].map(|at| checkpoint(task, at));
            items[..failures].iter_mut().for_each(|item| item.status = MarkStatus::Failure);
            list.add_store_page(page(items, None));
        }
        let mut rows = Rows::default();
        rows.set_height(9);
        let mut chosen = |filter: &str, at| {
            rows.renew(&list, &WordFilter::new(filter));
            rows.go_first();
            rows.go(at);
            rows.chosen_item(&list)
        };
        assert_eq!(chosen("", 0), None);
        assert_eq!(chosen("", 1), Some((0, 1)));
        assert_eq!(chosen("", 5), Some((1, 0)), "without a success the newest");
        assert_eq!(chosen("a-7", 1), Some((0, 2)), "of those that are shown");
    }

    #[test]
    fn what_is_chosen_stays_where_it_is_when_more_is_loaded_above_it() {
        let (mut rows, mut list) = of(&["a", "b"]);
        rows.go_last();
        rows.go(-1);
        let shown = rows.all.visible(0).to_vec();
        let older = [6, 5].map(|at| checkpoint("a", at));
        list.add_store_page(page(older, Some("more")));
        rows.renew(&list, &WordFilter::default());
        assert_eq!(rows.chosen(), Row::Item(1, 1));
        assert_eq!(rows.all.visible(0), shown);
    }

    #[test]
    fn the_end_moves_with_what_is_loaded_until_another_key() {
        let (mut rows, mut list) = of(&["a"]);
        rows.go_last();
        list.add_store_page(page([checkpoint("b", 2)], Some("more")));
        rows.renew(&list, &WordFilter::default());
        assert_eq!(rows.chosen(), Row::Item(1, 0));
        rows.go(-2);
        list.add_store_page(page([checkpoint("c", 2)], None));
        rows.renew(&list, &WordFilter::default());
        assert_eq!(rows.chosen(), Row::Item(0, 2));
    }

    #[test]
    fn a_filter_leaves_tasks_without_a_match_away() {
        let (mut rows, list) = of(&["a", "b"]);
        rows.renew(&list, &WordFilter::new("b-8"));
        assert_eq!(rows.all.visible(9), [Row::Current, Row::Heading(1), Row::Item(1, 1)]);
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
