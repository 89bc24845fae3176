//! The loaded checkpoints, by task.
//!
//! The store's list yields the tasks, the one with the newest checkpoint first; a task's own list
//! yields its other checkpoints. Both are in commit order, newest first, so the loaded checkpoints
//! of a task are a prefix of its own list. Groups and items are only appended: an index stays
//! valid.

use std::collections::HashMap;

use milepost::CheckpointId;
use milepost_api::{CheckpointForm, Listed};

use super::filter;
use crate::terminal::Pages;

/// A checkpoint, and the text that the filter searches.
#[derive(Debug)]
pub struct Item {
    pub checkpoint: CheckpointForm,
    pub text: String,
}

/// The checkpoints of a task, newest first.
#[derive(Debug)]
pub struct Group {
    pub task: String,
    pub items: Vec<Item>,
    pages: Pages,
    /// True once the task's own pages are past the items that came from the store's list.
    is_behind: bool,
}

/// All loaded checkpoints.
#[derive(Debug, Default)]
pub struct List {
    groups: Vec<Group>,
    /// Index of each task's group.
    places: HashMap<String, usize>,
    /// Offset of each loaded checkpoint.
    offsets: HashMap<CheckpointId, u64>,
    store: Pages,
}

impl List {
    /// Returns an empty list of a store's checkpoints.
    pub fn of_store() -> Self {
        Self::default()
    }

    /// Returns an empty list of one task's checkpoints.
    pub fn of_task(task: &str) -> Self {
        let mut list = Self { store: Pages::Read, ..Self::default() };
        list.place(task);
        list
    }

    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    pub fn group(&self, group: usize) -> Option<&Group> {
        self.groups.get(group)
    }

    pub fn item(&self, group: usize, item: usize) -> Option<&Item> {
        self.groups.get(group)?.items.get(item)
    }

    /// Returns the number of loaded checkpoints.
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Returns the offset of a checkpoint, if it is loaded.
    pub fn offset(&self, id: &CheckpointId) -> Option<u64> {
        self.offsets.get(id).copied()
    }

    /// Returns the cursor of the next page of the store's list, if there is one.
    pub fn store_next(&self) -> Option<Option<String>> {
        self.store.next()
    }

    /// Returns the cursor of the next page of a task, if there is one.
    pub fn task_next(&self, group: usize) -> Option<Option<String>> {
        self.groups.get(group)?.pages.next()
    }

    /// Returns `true` if everything is loaded.
    pub fn is_whole(&self) -> bool {
        self.store == Pages::Read && self.groups.iter().all(|group| group.pages == Pages::Read)
    }

    pub fn add_store_page(&mut self, page: Listed<CheckpointForm>) {
        self.store = Pages::after(&page);
        for checkpoint in page.items {
            let group = self.place(&checkpoint.task);
            self.push(group, checkpoint);
        }
        if self.store == Pages::Read {
            self.groups.iter_mut().for_each(|group| group.pages = Pages::Read);
        }
    }

    /// Appends a page of a task's list. Items before the last loaded one are skipped: they are
    /// loaded already, or newer than the list.
    pub fn add_task_page(&mut self, group: usize, page: Listed<CheckpointForm>) {
        let Some(known) = self.groups.get_mut(group) else {
            return;
        };
        known.pages = Pages::after(&page);
        let last = known.items.last().map(|item| item.checkpoint.id);
        for checkpoint in page.items {
            let Some(known) = self.groups.get_mut(group) else {
                return;
            };
            match known.is_behind || last.is_none() {
                true => self.push(group, checkpoint),
                false => known.is_behind = Some(checkpoint.id) == last,
            }
        }
    }

    /// Returns the index of a task's group, which is created if missing.
    fn place(&mut self, task: &str) -> usize {
        if let Some(place) = self.places.get(task) {
            return *place;
        }
        let place = self.groups.len();
        self.places.insert(task.to_owned(), place);
        self.groups.push(Group {
            task: task.to_owned(),
            items: Vec::new(),
            pages: Pages::Unread,
            is_behind: false,
        });
        place
    }

    fn push(&mut self, group: usize, checkpoint: CheckpointForm) {
        let Some(group) = self.groups.get_mut(group) else {
            return;
        };
        if self.offsets.insert(checkpoint.id, checkpoint.at.0).is_none() {
            let text = filter::text(&checkpoint);
            group.items.push(Item { checkpoint, text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{checkpoint, page};
    use super::*;

    fn labels(list: &List, group: usize) -> Vec<&str> {
        let items = list.group(group).into_iter().flat_map(|group| &group.items);
        items.filter_map(|item| item.checkpoint.label.as_deref()).collect()
    }

    #[test]
    fn tasks_stand_in_the_order_of_their_newest_checkpoints() {
        let mut list = List::of_store();
        let items = [("b", 9), ("a", 8), ("b", 7)].map(|(task, at)| checkpoint(task, at));
        list.add_store_page(page(items, Some("more")));
        let tasks: Vec<&str> = list.groups().iter().map(|it| it.task.as_str()).collect();
        assert_eq!(tasks, ["b", "a"]);
        assert_eq!(labels(&list, 0), ["b-9", "b-7"]);
        assert_eq!(list.store_next(), Some(Some("more".to_owned())));
        assert!(!list.is_whole());
    }

    #[test]
    fn what_is_loaded_is_not_loaded_twice_whichever_list_it_comes_from() {
        let mut list = List::of_store();
        list.add_store_page(page([checkpoint("a", 9), checkpoint("a", 8)], Some("s")));
        let task = [9, 8, 7, 6].map(|at| checkpoint("a", at));
        list.add_task_page(0, page(task, Some("t")));
        assert_eq!(labels(&list, 0), ["a-9", "a-8", "a-7", "a-6"]);
        let store = [("a", 7), ("b", 3), ("a", 6), ("a", 5)];
        list.add_store_page(page(store.map(|(task, at)| checkpoint(task, at)), None));
        assert_eq!(labels(&list, 0), ["a-9", "a-8", "a-7", "a-6", "a-5"]);
        assert_eq!(labels(&list, 1), ["b-3"]);
        // The end of the store's list is the end of each task's list.
        assert!(list.is_whole() && list.task_next(0).is_none());
    }

    #[test]
    fn what_was_marked_meanwhile_does_not_come_behind_older_ones() {
        let mut list = List::of_store();
        list.add_store_page(page([checkpoint("a", 9), checkpoint("a", 8)], Some("s")));
        list.add_task_page(0, page([checkpoint("a", 12)], Some("t")));
        assert_eq!(labels(&list, 0), ["a-9", "a-8"]);
        let task = [11, 9, 8, 7].map(|at| checkpoint("a", at));
        list.add_task_page(0, page(task, None));
        assert_eq!(labels(&list, 0), ["a-9", "a-8", "a-7"]);
    }

    #[test]
    fn one_task_is_loaded_by_its_own_list() {
        let mut list = List::of_task("a");
        assert_eq!(list.store_next(), None);
        assert_eq!(list.task_next(0), Some(None));
        list.add_task_page(0, page([checkpoint("a", 2), checkpoint("a", 1)], None));
        assert_eq!(labels(&list, 0), ["a-2", "a-1"]);
        assert!(list.is_whole());
        assert_eq!((list.len(), list.is_empty()), (2, false));
    }
}
