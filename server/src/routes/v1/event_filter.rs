//! Filter of events by kind and by iteration.

use milepost::Event;
use milepost::state::RunReducer;
use milepost_service::reader::EventSearch;

use crate::error::ApiError;

/// The kinds and the iteration that a request names, and the iteration at its position.
#[derive(Debug, Clone, Default)]
pub(super) struct EventFilter {
    kinds: EventSearch,
    /// The iteration; `None` for all.
    asked: Option<u64>,
    /// The iteration of the event before the next one.
    current: u64,
}

impl EventFilter {
    /// Creates a filter. `kinds` are names of kinds, separated by commas.
    pub(super) fn new(kinds: Option<&str>, asked: Option<u64>) -> Result<Self, ApiError> {
        let kinds = EventSearch::default().kinds(kinds)?;
        Ok(Self { kinds, asked, current: 0 })
    }

    /// Returns true if every event passes.
    pub(super) fn takes_all(&self) -> bool {
        self.kinds.takes_all() && self.asked.is_none()
    }

    /// Returns true if the iteration at the first event has to be known.
    pub(super) fn needs_iteration(&self) -> bool {
        self.asked.is_some()
    }

    /// Sets the iteration of the state before the next event.
    pub(super) fn begin(&mut self, iteration: u64) {
        self.current = iteration;
    }

    /// Returns true if an event passes. All events have to be shown to the filter, in order.
    pub(super) fn takes(&mut self, event: &Event) -> bool {
        let sets = event.body.as_ref().and_then(RunReducer::iteration_set_by);
        self.current = sets.unwrap_or(self.current);
        self.kinds.takes(event) && self.asked.is_none_or(|asked| asked == self.current)
    }

    /// Returns the text of the filter, for tags of answers.
    pub(super) fn tag(&self) -> String {
        let iteration = self.asked.map_or_else(String::new, |asked| asked.to_string());
        format!("{iteration}-{}", self.kinds.tag())
    }
}
