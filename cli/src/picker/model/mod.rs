//! The state of the picker, and the effect of each key. The model uses no terminal and no store:
//! [`Model::next_job`] returns the next request to the store.

use milepost::CheckpointId;
use milepost_api::CheckpointForm;

use super::details::{About, Details, Preview};
use super::filter::WordFilter;
use super::list::List;
use super::rows::{Row, Rows};
use crate::terminal::{Cache, Stroke};

/// Maximum number of cached details, and of cached previews.
const ROWS: usize = 4096;
const PREVIEWS: usize = 64;

/// The expected input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Choosing,
    /// The help is shown; any key closes it.
    Helping,
    /// The question whether to restore the chosen checkpoint.
    Asking,
}

/// The result of the picker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Unchanged,
    Restore { id: CheckpointId, with_files: bool },
}

/// A request to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    StorePage,
    TaskPage(usize),
    /// Reads the details of a task.
    About(usize),
    /// Reads the details of a checkpoint.
    Details(usize, usize),
    /// Reads the preview of a checkpoint.
    Preview(usize, usize),
}

/// The state of the picker.
#[derive(Debug)]
pub struct Model {
    pub list: List,
    pub rows: Rows,
    pub typed: String,
    pub mode: Mode,
    filter: WordFilter,
    /// True if no row was chosen since the last edit. The first match is then chosen when it is
    /// loaded.
    follows: bool,
    /// Enter restores without a question.
    yes: bool,
    /// True if files can be restored too: only if this process has opened the store.
    can_files: bool,
    /// True if the screen has room for a preview.
    previews_shown: bool,
    pub abouts: Cache<usize, About>,
    pub details: Cache<CheckpointId, Details>,
    pub previews: Cache<CheckpointId, Preview>,
}

impl Model {
    pub fn new(list: List, yes: bool, can_files: bool) -> Self {
        let mut model = Self {
            list,
            rows: Rows::default(),
            typed: String::new(),
            mode: Mode::Choosing,
            filter: WordFilter::default(),
            follows: false,
            yes,
            can_files,
            previews_shown: false,
            abouts: Cache::new(ROWS),
            details: Cache::new(ROWS),
            previews: Cache::new(PREVIEWS),
        };
        model.renew();
        model
    }

    /// Returns the chosen checkpoint, unless the current state is chosen.
    pub fn chosen(&self) -> Option<&CheckpointForm> {
        let (group, item) = self.rows.chosen_item(&self.list)?;
        Some(&self.list.item(group, item)?.checkpoint)
    }

    /// Returns `true` if files can be restored with the chosen checkpoint.
    pub fn offers_files(&self) -> bool {
        let preview = self.chosen().and_then(|it| self.previews.get(&it.id));
        self.can_files && preview.is_some_and(|preview| preview.has_files)
    }

    /// Sets the number of visible rows, and the room for a preview.
    pub fn set_room(&mut self, rows: usize, previews_shown: bool) {
        self.rows.set_height(rows);
        self.previews_shown = previews_shown;
    }

    /// Rebuilds the rows after a load.
    pub fn renew(&mut self) {
        self.rows.renew(&self.list, &self.filter);
        if self.follows && self.rows.chosen() == Row::Current {
            self.rows.choose_first_item();
        }
    }

    /// Handles a key. Returns `Some` if it ends the picker.
    pub fn press(&mut self, key: Stroke) -> Option<End> {
        match (self.mode, key) {
            (_, Stroke::Quit) => return Some(End::Unchanged),
            (_, Stroke::Left | Stroke::Right) => {}
            (Mode::Helping, _) => self.mode = Mode::Choosing,
            (Mode::Asking, key) => return self.answer(&key),
            (Mode::Choosing, Stroke::Esc) => return Some(End::Unchanged),
            (Mode::Choosing, Stroke::Char('q')) if self.typed.is_empty() => {
                return Some(End::Unchanged);
            }
            (Mode::Choosing, Stroke::Char('?')) if self.typed.is_empty() => {
                self.mode = Mode::Helping
            }
            (Mode::Choosing, Stroke::Enter) => return self.enter(),
            (Mode::Choosing, key) => self.choose(&key),
        }
        None
    }

    fn answer(&mut self, key: &Stroke) -> Option<End> {
        match key {
            Stroke::Enter | Stroke::Char('y' | 'Y') => self.restore(false),
            Stroke::Char('f' | 'F') if self.offers_files() => self.restore(true),
            Stroke::Esc | Stroke::Char('n' | 'N') => {
                self.mode = Mode::Choosing;
                None
            }
            _ => None,
        }
    }

    fn enter(&mut self) -> Option<End> {
        if self.rows.chosen() == Row::Current {
            return Some(End::Unchanged);
        }
        // Otherwise a page that is loaded during the question could change its checkpoint.
        self.rows.choose_item(&self.list);
        self.chosen()?;
        if self.yes {
            return self.restore(false);
        }
        self.mode = Mode::Asking;
        None
    }

    fn restore(&self, with_files: bool) -> Option<End> {
        let id = self.chosen()?.id;
        Some(End::Restore { id, with_files })
    }

    fn choose(&mut self, key: &Stroke) {
        match key {
            Stroke::Up => self.rows.go(-1),
            Stroke::Down => self.rows.go(1),
            Stroke::PageUp => self.rows.go_page(false),
            Stroke::PageDown => self.rows.go_page(true),
            Stroke::Home => self.rows.go_first(),
            Stroke::End => self.rows.go_last(),
            Stroke::Tab => self.rows.go_task(true),
            Stroke::BackTab => self.rows.go_task(false),
            Stroke::LastSuccess => self.rows.choose_success(&self.list),
            other => return self.edit(other),
        }
        self.follows = false;
    }

    fn edit(&mut self, key: &Stroke) {
        let before = self.typed.clone();
        key.edit(&mut self.typed);
        if self.typed == before {
            return;
        }
        self.filter = WordFilter::new(&self.typed);
        self.rows.renew(&self.list, &self.filter);
        self.follows = !self.typed.is_empty();
        if self.follows {
            self.rows.choose_first_item();
        }
    }

    /// Returns the next request to the store: pages first, then details of visible rows, then the
    /// preview.
    pub fn next_job(&self) -> Option<Job> {
        let page = self.next_page();
        let page =
            page.or_else(|| self.rows.all.visible(0).iter().find_map(|row| self.missing(*row)));
        page.or_else(|| self.preview_job())
    }

    /// Returns the next page, if the screen is near it.
    fn next_page(&self) -> Option<Job> {
        let more = || {
            let store = self.list.store_next().map(|_| Job::StorePage);
            store.or_else(|| {
                let tasks = 0..self.list.groups().len();
                tasks
                    .map(|at| (at, self.list.task_next(at)))
                    .find_map(|(at, next)| next.map(|_| Job::TaskPage(at)))
            })
        };
        if let Some(group) = self.rows.looks_for(&self.list) {
            return Some(Job::TaskPage(group));
        }
        if !self.typed.is_empty() {
            // Pages that are not loaded may have more matches.
            return more().filter(|_| self.rows.is_near_end());
        }
        let shown = self.rows.all.visible(self.rows.all.visible(0).len());
        let ends = shown.iter().filter_map(|row| match row {
            Row::Item(group, item) => Some((*group, *item)),
            _ => None,
        });
        let ends = ends.filter(|(group, item)| {
            let group = self.list.group(*group);
            group.is_some_and(|group| group.items.len() == item + 1)
        });
        let mut ends = ends.filter(|(group, _)| self.list.task_next(*group).is_some());
        let task = ends.next().map(|(group, _)| Job::TaskPage(group));
        task.or_else(|| more().filter(|_| self.rows.is_near_end()))
    }

    fn missing(&self, row: Row) -> Option<Job> {
        match row {
            Row::Current => None,
            Row::Heading(group) => {
                let known = self.abouts.get(&group).is_some();
                (!known).then_some(Job::About(group))
            }
            Row::Item(group, item) => {
                let id = self.list.item(group, item)?.checkpoint.id;
                let known = self.details.get(&id).is_some();
                (!known).then_some(Job::Details(group, item))
            }
        }
    }

    fn preview_job(&self) -> Option<Job> {
        let (group, item) = self.rows.chosen_item(&self.list)?;
        let wanted = self.previews_shown || (self.mode == Mode::Asking && self.can_files);
        let known = self.previews.get(&self.chosen()?.id).is_some();
        (wanted && !known).then_some(Job::Preview(group, item))
    }
}

#[cfg(test)]
mod tests;
