//! Filter of events by kind and by iteration.

use milepost::state::RunReducer;
use milepost::{Body, Event};

use crate::error::ApiError;

/// The kinds and the iteration that a request names, and the iteration at its position.
#[derive(Debug, Clone, Default)]
pub(super) struct EventFilter {
    /// The names of the kinds; empty for all.
    kinds: Vec<String>,
    /// The iteration; `None` for all.
    asked: Option<u64>,
    /// The iteration of the event before the next one.
    current: u64,
}

impl EventFilter {
    /// Creates a filter. `kinds` are names of kinds, separated by commas.
    pub(super) fn new(kinds: Option<&str>, asked: Option<u64>) -> Result<Self, ApiError> {
        let kinds: Vec<String> = kinds.map_or(Vec::new(), |kinds| {
            kinds.split(',').map(|kind| kind.trim().to_owned()).collect()
        });
        match kinds.iter().find(|kind| !is_kind(kind)) {
            None => Ok(Self { kinds, asked, current: 0 }),
            Some(wrong) => {
                let wrong: String = wrong.chars().take(80).collect();
                Err(ApiError::Invalid(format!(
                    "kind is {wrong:?}, and no kind has this name: name one as in the answers, or \
                     several with commas, as `message,step_finished`"
                )))
            }
        }
    }

    /// Returns true if every event passes.
    pub(super) fn takes_all(&self) -> bool {
        self.kinds.is_empty() && self.asked.is_none()
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
        let kind = Body::name_of(event.header.kind);
        let is_of_kind = self.kinds.is_empty() || self.kinds.iter().any(|name| name == kind);
        is_of_kind && self.asked.is_none_or(|asked| asked == self.current)
    }

    /// Returns the text of the filter, for tags of answers.
    pub(super) fn tag(&self) -> String {
        let iteration = self.asked.map_or_else(String::new, |asked| asked.to_string());
        format!("{iteration}-{}", self.kinds.join("-"))
    }
}

fn is_kind(name: &str) -> bool {
    name != "unknown" && (1..=u16::from(u8::MAX)).any(|kind| Body::name_of(kind) == name)
}
