//! Filter of the printed events.

use milepost::Body;
use milepost::state::{MessageRange, RunReducer};
use milepost_api::{EventForm, PointForm};
use serde_json::Value;

use crate::args;
use crate::backend::Backend;
use crate::error::Result;

/// A filter, with its position in the steps and iterations.
pub struct EventFilter<'a> {
    asked: &'a args::LogFilter,
    grep: Option<String>,
    /// `true` inside the requested step, if the events come oldest first.
    in_step: bool,
    /// The iteration of the last event, if the events come oldest first.
    iteration: u64,
}

impl<'a> EventFilter<'a> {
    pub fn new(asked: &'a args::LogFilter) -> Self {
        let grep = asked.grep.as_ref().map(|text| text.to_lowercase());
        Self { asked, grep, in_step: false, iteration: 0 }
    }

    /// Returns `true` if the filter needs all events, oldest first.
    pub fn is_ordered(asked: &args::LogFilter) -> bool {
        asked.step.is_some() || asked.iteration.is_some()
    }

    /// Sets the iteration before the first event: the one of the state there.
    pub fn begin(&mut self, source: &dyn Backend, at: &PointForm) -> Result<()> {
        if self.asked.iteration.is_some() && at.offset.0 > 0 {
            let state = source.state(at, MessageRange::None)?;
            self.iteration = state.get("iteration").and_then(Value::as_u64).unwrap_or(0);
        }
        Ok(())
    }

    /// Returns `true` if this event is printed. To filter by step or iteration, call it for all
    /// events, oldest first.
    pub fn takes(&mut self, event: &EventForm) -> bool {
        let is_of_step = self.is_of_step(event);
        let sets = event.body.as_ref().and_then(RunReducer::iteration_set_by);
        self.iteration = sets.unwrap_or(self.iteration);
        let asked = self.asked;
        let is_one_of =
            |kinds: &[String]| kinds.is_empty() || kinds.iter().any(|k| *k == event.kind);
        let (from, to) = (asked.since.unwrap_or(0), asked.until.unwrap_or(u64::MAX));
        let by = |actor: &String| event.actor.as_ref() == Some(actor);
        is_of_step
            && self.asked.iteration.is_none_or(|asked| asked == self.iteration)
            && is_one_of(&asked.kind)
            && asked.actor.as_ref().is_none_or(by)
            && (from..=to).contains(&event.time_us.0)
            && self.grep.as_ref().is_none_or(|text| has(event, text))
    }

    fn is_of_step(&mut self, event: &EventForm) -> bool {
        let Some(asked) = self.asked.step else {
            return true;
        };
        match &event.body {
            Some(Body::StepStarted(step)) => {
                self.in_step = step.step == asked;
                self.in_step
            }
            Some(Body::LineageOpened(_)) => {
                self.in_step = false;
                false
            }
            Some(Body::StepFinished(step)) => self.ends(step.step == asked),
            Some(Body::StepFailed(step)) => self.ends(step.step == asked),
            _ => self.in_step,
        }
    }

    /// Returns `true` if an event that ends a step belongs to the requested step.
    fn ends(&mut self, is_asked: bool) -> bool {
        let was = std::mem::take(&mut self.in_step);
        was || is_asked
    }
}

/// Returns `true` if an event has this lower-case text in its body, actor, user, correlation or
/// key.
pub fn has(event: &EventForm, text: &str) -> bool {
    let said = event.body.as_ref().and_then(|body| body.to_json().ok());
    let said = said.unwrap_or_default();
    let around = [&event.actor, &event.user, &event.correlation, &event.key];
    let mut around = around.into_iter().flatten();
    said.to_lowercase().contains(text) || around.any(|word| word.to_lowercase().contains(text))
}
