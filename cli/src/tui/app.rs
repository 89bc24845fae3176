//! The state of the view, and the next request to the store. It uses no terminal and no store.

use std::collections::VecDeque;

use milepost::LineageId;

use super::compare::CompareView;
use super::menu::Menu;
use super::metrics::MetricsView;
use super::plan::{ActionPlan, Deed};
use super::prompt::Prompt;
use super::task::{DocumentKey, Pane, Tab, TaskView};
use super::tasks::TasksView;
use crate::output::words;
use crate::terminal::Tone;

/// A screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Tasks,
    Task,
    Compare,
    Metrics,
}

/// A request to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Reads a page of tasks.
    Tasks(Option<String>),
    /// Opens the task of an address.
    Open(String),
    /// Goes to an address or an offset, within the open task if it is there.
    Go(String),
    Summary,
    /// Reads the turn of the cursor's offset.
    Locate,
    Turns(u64, u64),
    Rows(u64, u64),
    Document(DocumentKey),
    Hunt,
    Overview(LineageId),
    FirstWhere(String),
    Blame(String),
    Plan(Deed),
    Act,
    Align(u64, u64),
    MetricNames,
    Series(String),
    /// Looks for what changed.
    Refresh,
}

/// The view of a store.
#[derive(Debug, Default)]
pub struct App {
    /// The screens, the one that is shown last.
    pub places: Vec<Place>,
    pub tasks: TasksView,
    pub task: Option<TaskView>,
    pub compare: Option<CompareView>,
    pub metrics: Option<MetricsView>,
    pub prompt: Option<Prompt>,
    pub plan: Option<ActionPlan>,
    /// An action that was confirmed.
    pub doing: Option<ActionPlan>,
    pub menu: Option<Menu>,
    /// The keys are shown, from this row on.
    pub help: Option<usize>,
    pub notice: Option<(Tone, String)>,
    /// The address that `c` compares with.
    pub chosen: Option<String>,
    pub asked: VecDeque<Request>,
    /// Requests that failed: they are not made again until something changes.
    pub refused: Vec<Request>,
    /// The last look for changes failed: the store is behind a program that does not answer.
    pub is_away: bool,
    /// Text to copy by the terminal.
    pub copied: Option<String>,
    /// Address of the service that has the store.
    pub url: Option<String>,
    /// Number of panes that have room, and of lanes.
    pub panes: usize,
    pub lanes: Vec<LineageId>,
}

impl App {
    /// Creates the view of the tasks.
    pub fn new() -> Self {
        Self { places: vec![Place::Tasks], panes: 1, ..Self::default() }
    }

    pub fn place(&self) -> Place {
        self.places.last().copied().unwrap_or(Place::Tasks)
    }

    /// Shows a screen.
    pub fn show(&mut self, place: Place) {
        self.places.retain(|other| *other != place);
        self.places.push(place);
        self.refused.clear();
    }

    /// Leaves a screen. Returns `false` if it is the last one.
    pub fn leave(&mut self) -> bool {
        let has_more = self.places.len() > 1;
        if has_more {
            self.places.pop();
        }
        has_more
    }

    pub fn ask(&mut self, request: Request) {
        if !self.asked.contains(&request) {
            self.asked.push_back(request);
        }
    }

    pub fn say(&mut self, tone: Tone, text: impl Into<String>) {
        self.notice = Some((tone, text.into()));
    }

    /// Notes that a request failed.
    pub fn refuse(&mut self, request: Request, why: String) {
        match request {
            Request::Turns(..) | Request::Rows(..) | Request::Align(..) => {
                let list_failed = match request {
                    Request::Align(..) => self.compare.as_mut().map(|it| &mut it.lines.failed),
                    Request::Rows(..) => self.task.as_mut().map(|it| &mut it.rows.failed),
                    _ => self.task.as_mut().map(|it| &mut it.steps.turns.failed),
                };
                if let Some(failed) = list_failed {
                    *failed = Some(why.clone());
                }
            }
            Request::Refresh => self.is_away = true,
            // A search ends with its failure.
            Request::Hunt => {}
            other if self.refused.contains(&other) => {}
            other => self.refused.push(other),
        }
        self.say(Tone::Removed, why);
    }

    /// Makes requests that failed again, after the store was away.
    pub fn is_back(&mut self) {
        if !std::mem::take(&mut self.is_away) {
            return;
        }
        self.refused.clear();
        if let Some(view) = &mut self.task {
            (view.steps.turns.failed, view.rows.failed) = (None, None);
        }
        if let Some(view) = &mut self.compare {
            view.lines.failed = None;
        }
    }

    /// Opens a task.
    pub fn open(&mut self, view: TaskView) {
        self.task = Some(view);
        self.show(Place::Task);
    }

    /// Returns the address that is printed at the end, and copied.
    pub fn address(&self) -> Option<String> {
        match self.place() {
            Place::Tasks => self.tasks.chosen().map(|task| words::encode(&task.id)),
            Place::Task => self.task.as_ref().map(TaskView::address),
            Place::Compare => {
                let compare = self.compare.as_ref()?;
                compare.addresses.get(compare.side).cloned()
            }
            Place::Metrics => self.metrics.as_ref()?.at.first().cloned(),
        }
    }

    /// Returns the next request to the store.
    pub fn next_request(&self) -> Option<Request> {
        if let Some(first) = self.asked.front() {
            return Some(first.clone());
        }
        let wanted = match self.place() {
            Place::Tasks => self.tasks.wanted().map(Request::Tasks),
            Place::Task => self.task.as_ref().and_then(|view| self.of_task(view)),
            Place::Compare => {
                let wanted = self.compare.as_ref().and_then(CompareView::wanted);
                wanted.map(|(from, count)| Request::Align(from, count))
            }
            Place::Metrics => self.metrics.as_ref().and_then(|view| match view.is_read() {
                true => view.wanted().map(Request::Series),
                false => Some(Request::MetricNames),
            }),
        };
        wanted.filter(|request| !self.refused.contains(request))
    }

    /// Returns the next request of a task: the list first, then the document, then the rest.
    fn of_task(&self, view: &TaskView) -> Option<Request> {
        let rows = || view.wanted_events().map(|(from, count)| Request::Rows(from, count));
        let list = match (view.placing, view.is_events) {
            (Some(_), false) if view.is_waiting() => rows().or(Some(Request::Locate)),
            (Some(_), false) => Some(Request::Locate),
            (_, true) => rows(),
            (_, false) => {
                let turns = view.steps.wanted();
                turns.map(|(from, count)| Request::Turns(from, count)).or_else(rows)
            }
        };
        let tabs = self.tabs(view).into_iter();
        let mut keys = tabs.filter_map(|tab| document(view, tab));
        let mut missing = || keys.find(|key| view.documents.get(key).is_none());
        let is_new = |request: &Request| !self.refused.contains(request);
        let request = list.filter(is_new).or_else(|| missing().map(Request::Document));
        let request = request.or_else(|| view.hunt.as_ref().map(|_| Request::Hunt));
        let request =
            request.or_else(|| view.summary.is_none().then_some(Request::Summary).filter(is_new));
        request.or_else(|| {
            let is_part = |id: &LineageId| match view.overviews.get(id) {
                Some(overview) => *id == view.lineage && overview.read < overview.head,
                None => true,
            };
            let all = std::iter::once(view.lineage).chain(self.lanes.iter().copied());
            all.filter(is_part).map(Request::Overview).find(is_new)
        })
    }

    /// Returns the documents that are shown, of those that have room.
    pub fn tabs(&self, view: &TaskView) -> Vec<Tab> {
        let second = if view.tab == Tab::Changes { Tab::State } else { Tab::Changes };
        let is_alone = self.panes == 1 && view.pane == Pane::List;
        let all = [(view.tab, !is_alone), (second, self.panes > 2)];
        all.into_iter().filter(|(_, has_room)| *has_room).map(|(tab, _)| tab).collect()
    }
}

/// Returns the key of a document at the cursor.
pub fn document(view: &TaskView, tab: Tab) -> Option<DocumentKey> {
    let range = view.range()?;
    Some(DocumentKey { lineage: view.lineage, range, tab })
}

#[cfg(test)]
mod tests {
    use super::super::keys::Stroke;
    use super::super::testing::{row, turns, view};
    use super::*;

    #[test]
    fn of_an_open_turn_only_the_events_on_the_screen_are_read() {
        let mut app = App::new();
        let mut view = view("essay", 999_999);
        let mut page = turns(0, 1, 1);
        page.items[0].next = milepost_api::Big(999_999);
        view.take_place(&page);
        view.take_turns(0, page);
        view.steps.set_height(40, 2);
        app.open(view);
        let mut read = Vec::new();
        for stroke in [Stroke::Enter, Stroke::Char('G'), Stroke::PageUp, Stroke::Char('k')] {
            app.press(stroke);
            while let Some(Request::Rows(from, count)) = app.next_request() {
                read.push((from, count));
                let rows = (from..from + count).map(row).collect();
                app.task.as_mut().unwrap().rows.add(from, rows);
            }
        }
        assert_eq!(app.address().as_deref(), Some("essay/0@999959"));
        assert_eq!(read, [(0, 100), (999_900, 99)]);
    }

    #[test]
    fn what_failed_is_asked_again_only_when_the_store_is_back() {
        let mut app = App::new();
        app.open(view("essay", 30));
        assert_eq!(app.next_request(), Some(Request::Locate));
        for expected in [Request::Locate, Request::Summary, Request::Overview(LineageId(0))] {
            assert_eq!(app.next_request(), Some(expected.clone()));
            app.refuse(expected, "no answer".into());
        }
        assert_eq!(app.next_request(), None);
        app.is_back();
        assert_eq!(app.next_request(), None, "it was there all the time");
        app.refuse(Request::Refresh, "no answer".into());
        app.is_back();
        assert_eq!(app.next_request(), Some(Request::Locate));
    }
}
