//! A task at a point: its lineages, its turns or events, and the document of the chosen one.

mod cursor;
mod hunt;
mod panes;
mod steps;

use milepost::LineageId;
use milepost_api::{
    Big, LineageForm, LineageSummaryForm, OverviewForm, ReadMarkForm, RowForm, SummaryForm,
    TaskForm, TurnsForm,
};

use super::paged::{PAGE, Paged};
use crate::output::words;
use crate::terminal::{Cache, Line};
pub use cursor::{CursorRange, DocumentKey, TABS, Tab};
pub use hunt::{Hunt, HuntFor};
pub use panes::Pane;
use steps::Fold;
pub use steps::StepList;

/// Documents in memory.
const DOCUMENTS: usize = 32;

/// The number of buckets of a lane.
pub const BUCKETS: usize = 200;

/// An open task.
#[derive(Debug)]
pub struct TaskView {
    pub form: TaskForm,
    pub lineages: Vec<LineageForm>,
    pub summary: Option<SummaryForm>,
    pub lineage: LineageId,
    /// Events are shown, not turns.
    pub is_events: bool,
    pub steps: StepList,
    pub rows: Paged<RowForm>,
    /// An offset whose turn is looked for: the cursor goes there.
    pub placing: Option<u64>,
    /// End of the part of the lineage that the index has.
    pub read: u64,
    pub overviews: Cache<LineageId, OverviewForm>,
    pub documents: Cache<DocumentKey, Vec<Line>>,
    pub tab: Tab,
    pub pane: Pane,
    /// First visible line of the documents.
    pub scroll: [usize; 2],
    pub hunt: Option<Hunt>,
    /// The event that was found last, until the cursor moves. It may be outside of every turn.
    pub found: Option<u64>,
    /// The text that was found last.
    pub text: String,
    /// Events that came below while the cursor was elsewhere.
    pub new: u64,
}

impl TaskView {
    /// Creates the view of a lineage, at an offset. At the head it follows.
    pub fn new(form: TaskForm, lineages: Vec<LineageForm>, lineage: LineageId, at: u64) -> Self {
        let mut view = Self {
            form,
            lineages,
            summary: None,
            lineage,
            is_events: false,
            steps: StepList::new(),
            rows: Paged::new(PAGE),
            placing: None,
            read: 0,
            overviews: Cache::new(64),
            documents: Cache::new(DOCUMENTS),
            tab: Tab::Step,
            pane: Pane::List,
            scroll: [0; 2],
            hunt: None,
            found: None,
            text: String::new(),
            new: 0,
        };
        view.see(lineage, at);
        view
    }

    /// Shows a lineage, at an offset.
    pub fn see(&mut self, lineage: LineageId, at: u64) {
        self.lineage = lineage;
        self.read = 0;
        self.new = 0;
        self.hunt = None;
        self.steps.clear();
        self.rows.clear();
        let (begin, head) = self.own().map_or((0, 0), |own| (own.begin.0, own.head.0));
        self.rows.begin = begin;
        self.rows.set_end(head, 0);
        self.go(at);
    }

    /// Returns the lineage that is shown.
    pub fn own(&self) -> Option<&LineageForm> {
        self.lineages.iter().find(|lineage| lineage.id == self.lineage)
    }

    /// Returns the lineage that an event of the shown one belongs to: its own, or an ancestor.
    pub fn owner_of(&self, offset: u64) -> LineageId {
        let mut owner = self.lineage;
        loop {
            let own = self.lineages.iter().find(|lineage| lineage.id == owner);
            let parent = own.and_then(|own| own.parent.as_ref());
            match parent.filter(|parent| offset < parent.offset.0 && parent.lineage < owner) {
                Some(parent) => owner = parent.lineage,
                None => return owner,
            }
        }
    }

    pub fn head(&self) -> u64 {
        self.rows.end
    }

    /// Returns the summary of a lineage.
    pub fn outcome_of(&self, id: LineageId) -> Option<&LineageSummaryForm> {
        self.summary.as_ref()?.lineages.iter().find(|lineage| lineage.id == id)
    }

    /// Moves the cursor to an offset.
    pub fn go(&mut self, offset: u64) {
        let offset = offset.min(self.head().saturating_sub(1)).max(self.rows.begin);
        self.rows.go(offset);
        self.placing = (!self.is_events).then_some(offset);
        self.found = None;
        self.scroll = [0; 2];
    }

    /// Returns `true` if events take the place of turns: the index is not at the cursor so far.
    pub fn is_waiting(&self) -> bool {
        !self.is_events && self.placing.is_some() && self.read > 0 && self.read < self.head()
    }

    /// Returns the chosen turn or event.
    pub fn range(&self) -> Option<CursorRange> {
        if self.is_events || self.is_waiting() {
            let at = self.rows.cursor;
            return (!self.rows.is_empty()).then_some(CursorRange { first: at, next: at + 1 });
        }
        self.steps.range()
    }

    /// Returns the mark of the chosen turn or event.
    pub fn chosen_mark(&self) -> Option<&ReadMarkForm> {
        match self.steps.cursor.event {
            _ if self.is_events => self.rows.chosen()?.mark.as_ref(),
            Some(event) => self.rows.get(event)?.mark.as_ref(),
            None => self.steps.chosen()?.mark.as_ref(),
        }
    }

    /// Returns the first event to read, and the number of events: of the list of events, or of open
    /// turns.
    pub fn wanted_events(&self) -> Option<(u64, u64)> {
        match self.is_events || self.is_waiting() {
            true => self.rows.wanted(),
            false => {
                let rows = self.steps.visible().into_iter();
                self.rows.wanted_of(rows.filter_map(|row| row.event))
            }
        }
    }

    /// Returns the address before the chosen turn or event, or the head.
    pub fn address(&self) -> String {
        let at = self.range().map_or_else(|| self.head(), |range| range.first);
        words::address(&self.form.id, self.lineage, at)
    }

    /// Returns the address after the chosen turn or event.
    pub fn address_after(&self) -> String {
        let at = self.range().map_or_else(|| self.head(), |range| range.next);
        words::address(&self.form.id, self.lineage, at)
    }

    /// Returns the address of the head.
    pub fn address_of_head(&self) -> String {
        words::address(&self.form.id, self.lineage, self.head())
    }

    /// Switches between turns and events, at the same place.
    pub fn switch_list(&mut self) {
        match self.range() {
            Some(range) if !self.is_events => {
                self.is_events = true;
                self.go(range.first);
            }
            _ if !self.is_events => {
                self.is_events = true;
                self.go(self.placing.unwrap_or(self.head()));
            }
            _ => {
                self.is_events = false;
                self.go(self.rows.cursor);
            }
        }
    }

    /// Moves the cursor of the list.
    pub fn go_by(&mut self, steps: i64) {
        self.move_list(|rows| rows.go_by(steps), |list| list.go_by(steps));
    }

    pub fn go_page(&mut self, is_down: bool) {
        self.move_list(|rows| rows.go_page(is_down), |list| list.go_page(is_down));
    }

    pub fn go_end(&mut self, is_last: bool) {
        let to = if is_last { u64::MAX } else { 0 };
        self.move_list(|rows| rows.go(to), |list| list.go_end(is_last));
    }

    /// Moves the cursor to the next or the previous turn of the list of steps.
    pub fn go_turn(&mut self, is_next: bool) {
        let by = if is_next { 1 } else { -1 };
        self.move_list(|rows| rows.go_by(by), |list| list.go_turn(is_next));
    }

    fn move_list(
        &mut self,
        in_rows: impl FnOnce(&mut Paged<RowForm>),
        in_steps: impl FnOnce(&mut StepList),
    ) {
        if self.is_waiting() {
            in_rows(&mut self.rows);
            return self.go(self.rows.cursor);
        }
        match self.is_events {
            true => in_rows(&mut self.rows),
            false => in_steps(&mut self.steps),
        }
        self.moved();
    }

    /// Opens the chosen turn, or unfolds its step. Returns `false` if there is nothing to open.
    pub fn unfold(&mut self) -> bool {
        let is_list = !self.is_events && self.placing.is_none();
        let is_unfolded = is_list && self.steps.unfold();
        if is_unfolded {
            self.moved();
        }
        is_unfolded
    }

    /// Folds the chosen turn, or its step. Returns `false` if there is nothing to fold.
    pub fn fold(&mut self) -> bool {
        if self.is_events || self.placing.is_some() {
            return false;
        }
        match self.steps.fold() {
            Fold::Done => self.moved(),
            Fold::Step { step, first, at } => {
                let what = HuntFor::StepEnd { step, first };
                self.hunt = Some(Hunt { what, is_forward: true, at });
            }
            Fold::Nothing => return false,
        }
        true
    }

    /// Folds a step, given its first and its last turn.
    pub fn fold_step(&mut self, step: Big, first: u64, last: u64) {
        self.steps.fold_step(step, first, last);
        self.moved();
    }

    fn moved(&mut self) {
        self.placing = None;
        self.found = None;
        self.scroll = [0; 2];
        if self.is_at_end() {
            self.new = 0;
        }
    }

    /// Returns `true` if the cursor follows the head.
    pub fn is_at_end(&self) -> bool {
        if self.is_events { self.rows.is_at_end() } else { self.steps.is_at_end() }
    }

    /// Shows the previous or the next lineage, at the same offset.
    pub fn go_lineage(&mut self, is_next: bool) {
        let at = self.lineages.iter().position(|lineage| lineage.id == self.lineage);
        let to = at.and_then(|at| if is_next { at.checked_add(1) } else { at.checked_sub(1) });
        let Some((to, head)) = to.and_then(|to| self.lineages.get(to)).map(|to| (to.id, to.head.0))
        else {
            return;
        };
        let offset = if self.is_at_end() { head } else { self.range().map_or(head, |it| it.first) };
        self.see(to, offset);
    }

    /// Takes over the turn that has the offset of the cursor, when the index is there.
    pub fn take_place(&mut self, page: &TurnsForm) {
        self.take_progress(page.read.0, page.total.0);
        let Some(offset) = self.placing else { return };
        if let Some(turn) = page.items.first() {
            self.steps.go_to(turn.number.0, offset);
        }
        if page.read.0 <= offset && page.read < page.head {
            return;
        }
        self.placing = None;
        // Without turns the events are the first list.
        if self.steps.is_empty() && !self.rows.is_empty() {
            self.is_events = true;
        }
    }

    /// Takes over turns from one on.
    pub fn take_turns(&mut self, from: u64, page: TurnsForm) {
        self.take_progress(page.read.0, page.total.0);
        self.steps.add(from, page.items);
    }

    /// Takes over an overview, which reads on in the lineage.
    pub fn take_overview(&mut self, lineage: LineageId, overview: OverviewForm) {
        if lineage == self.lineage {
            self.take_progress(overview.read.0, overview.turns.0);
        }
        self.overviews.put(lineage, overview);
    }

    fn take_progress(&mut self, read: u64, turns: u64) {
        self.read = self.read.max(read);
        if turns != self.steps.count() {
            // The last turn may have grown.
            let changed = self.steps.count().saturating_sub(1);
            self.steps.set_count(turns, changed);
        }
    }

    /// Takes over the task and its lineages as they are now.
    pub fn refresh(&mut self, form: TaskForm, lineages: Vec<LineageForm>) {
        self.form = form;
        self.lineages = lineages;
        let Some(head) = self.own().map(|own| own.head.0) else { return };
        let before = self.head();
        if head == before {
            return;
        }
        let follows = self.is_at_end();
        self.rows.set_end(head, before);
        let last = self.steps.count().saturating_sub(1);
        self.steps.set_count(self.steps.count(), last);
        self.new = if follows { 0 } else { self.new + head.saturating_sub(before) };
        self.overviews.remove(&self.lineage);
    }
}
