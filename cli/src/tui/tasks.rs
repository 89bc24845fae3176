//! The list of tasks: words that filter it, its order, and the chosen task.

use std::cmp::Ordering;

use milepost_api::{Listed, SummaryFilter, SummaryForm};

use crate::terminal::{Pages, ScrolledList};

/// Maximum number of tasks in memory.
const MOST: usize = 20_000;

/// The order of the list: a tab each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskSort {
    #[default]
    Newest,
    Changed,
    Failed,
    Steps,
    Tokens,
}

/// The orders by their tabs.
pub const SORTS: [(TaskSort, &str); 5] = [
    (TaskSort::Newest, "newest"),
    (TaskSort::Changed, "changed"),
    (TaskSort::Failed, "failed"),
    (TaskSort::Steps, "steps"),
    (TaskSort::Tokens, "tokens"),
];

/// The tasks of a store.
#[derive(Debug, Default)]
pub struct TasksView {
    pub all: Vec<SummaryForm>,
    /// Indexes of the tasks that are shown, in their order.
    pub shown: ScrolledList<usize>,
    pages: Pages,
    pub words: String,
    pub sort: TaskSort,
}

impl TasksView {
    pub fn chosen(&self) -> Option<&SummaryForm> {
        self.all.get(*self.shown.chosen()?)
    }

    /// Returns `true` if all tasks are in memory, or as many as have room.
    pub fn is_whole(&self) -> bool {
        self.all.len() >= MOST || self.pages == Pages::Read
    }

    /// Returns the cursor of the page to read next: the first one, and later ones near the end of
    /// the list. An order of all tasks needs all.
    pub fn wanted(&self) -> Option<Option<String>> {
        let is_of_all = self.sort != TaskSort::Newest;
        let is_wanted = !self.is_whole() && (is_of_all || self.shown.is_near_end());
        self.pages.next().filter(|next| next.is_none() || is_wanted)
    }

    /// Adds a page.
    pub fn add(&mut self, page: Listed<SummaryForm>) {
        self.pages = Pages::after(&page);
        self.merge(page.items, false);
    }

    /// Takes over the newest tasks, as they are now.
    pub fn refresh(&mut self, page: Listed<SummaryForm>) {
        if self.pages != Pages::Unread {
            self.merge(page.items, true);
        }
    }

    fn merge(&mut self, items: Vec<SummaryForm>, is_first: bool) {
        let mut new = Vec::new();
        for item in items {
            match self.all.iter_mut().find(|task| task.id == item.id) {
                Some(task) => *task = item,
                None => new.push(item),
            }
        }
        match is_first {
            true => drop(self.all.splice(0..0, new)),
            false => self.all.extend(new),
        }
        self.renew();
    }

    /// Lists the matching tasks again. The chosen one stays chosen.
    pub fn renew(&mut self) {
        let chosen = self.chosen().map(|task| task.id.clone());
        // A condition that is not typed to its end fits no task.
        let filter = self.words.parse::<SummaryFilter>().ok();
        let fits = |task: &SummaryForm| filter.as_ref().is_some_and(|filter| filter.fits(task));
        let all = self.all.iter().enumerate();
        let shown = all.filter(|(_, task)| fits(task)).map(|(index, _)| index);
        self.shown.rows = shown.collect();
        let (all, sort) = (&self.all, self.sort);
        if sort != TaskSort::Newest {
            self.shown.rows.sort_by(|a, b| match (all.get(*a), all.get(*b)) {
                (Some(a), Some(b)) => compare(a, b, sort),
                _ => Ordering::Equal,
            });
        }
        let is_chosen = |index: &usize| all.get(*index).map(|task| &task.id) == chosen.as_ref();
        let at = self.shown.rows.iter().position(is_chosen);
        self.shown.go(at.unwrap_or(self.shown.cursor));
    }

    pub fn set_words(&mut self, words: &str) {
        words.clone_into(&mut self.words);
        self.shown.cursor = 0;
        self.renew();
    }

    pub fn set_sort(&mut self, sort: TaskSort) {
        self.sort = sort;
        self.renew();
    }
}

/// Compares two tasks: the one with more comes first.
fn compare(a: &SummaryForm, b: &SummaryForm, sort: TaskSort) -> Ordering {
    let tokens = |task: &SummaryForm| task.usage.as_ref().and_then(|usage| usage.tokens());
    match sort {
        TaskSort::Newest => Ordering::Equal,
        TaskSort::Changed => b.changed_us.cmp(&a.changed_us),
        TaskSort::Failed => b.failed.cmp(&a.failed),
        TaskSort::Steps => b.steps.cmp(&a.steps),
        TaskSort::Tokens => tokens(b).cmp(&tokens(a)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::summary;
    use super::*;

    fn view() -> TasksView {
        let mut view = TasksView::default();
        let items = vec![summary("essay", 3, 0), summary("tuning", 40, 2), summary("Über", 9, 1)];
        view.add(Listed { items, next: Some("more".into()) });
        view.shown.set_height(10);
        view
    }

    fn shown(view: &TasksView) -> Vec<&str> {
        view.shown.rows.iter().map(|at| view.all[*at].id.as_str()).collect()
    }

    #[test]
    fn words_and_conditions_filter_the_tasks() {
        let mut view = view();
        for (words, expected) in [
            ("", vec!["essay", "tuning", "Über"]),
            ("ess", vec!["essay"]),
            ("über", vec!["Über"]),
            ("has:failure", vec!["tuning", "Über"]),
            ("failed:>1", vec!["tuning"]),
            ("steps:<10 has:failure", vec!["Über"]),
            ("user:eve", vec![]),
            ("outcome:good", vec!["essay", "tuning", "Über"]),
            ("outcome:failure tokens:>=1234", vec!["tuning", "Über"]),
            ("tokens:<1234", vec![]),
            ("failed:x", vec![]),
        ] {
            view.set_words(words);
            assert_eq!(shown(&view), expected, "{words}");
        }
    }

    #[test]
    fn an_order_reads_all_pages_and_the_chosen_task_stays_chosen() {
        let mut view = view();
        view.shown.set_height(1);
        assert_eq!(view.wanted(), None, "the end is far");
        view.shown.go(1);
        view.set_sort(TaskSort::Steps);
        assert_eq!(view.wanted(), Some(Some("more".into())));
        assert_eq!(shown(&view), ["tuning", "Über", "essay"]);
        assert_eq!(view.chosen().unwrap().id, "tuning");
        view.add(Listed { items: vec![summary("last", 100, 0)], next: None });
        assert!(view.is_whole() && view.wanted().is_none());
        assert_eq!((shown(&view)[0], view.chosen().unwrap().id.as_str()), ("last", "tuning"));
    }

    #[test]
    fn a_refresh_changes_tasks_in_their_place_and_adds_new_ones_in_front() {
        let mut view = view();
        let items = vec![summary("new", 1, 0), summary("essay", 4, 1)];
        view.refresh(Listed { items, next: None });
        assert_eq!(shown(&view), ["new", "essay", "tuning", "Über"]);
        assert_eq!(view.all[1].failed.0, 1);
        assert!(!view.is_whole());
    }
}
