//! Which events are printed.

use milepost::Body;
use milepost_forms::EventForm;

use crate::args;

/// What was asked for, and where it is with it.
pub struct Filter<'a> {
    asked: &'a args::Filter,
    grep: Option<String>,
    /// Whether the step that was asked for is under way, where events are looked at oldest first.
    in_step: bool,
}

impl<'a> Filter<'a> {
    pub fn new(asked: &'a args::Filter) -> Self {
        Self { asked, grep: asked.grep.as_ref().map(|text| text.to_lowercase()), in_step: false }
    }

    /// Whether this event is printed. For a step all events have to be looked at, oldest first.
    pub fn takes(&mut self, event: &EventForm) -> bool {
        let is_of_step = self.is_of_step(event);
        let asked = self.asked;
        let is_one_of =
            |kinds: &[String]| kinds.is_empty() || kinds.iter().any(|k| *k == event.kind);
        let (from, to) = (asked.since.unwrap_or(0), asked.until.unwrap_or(u64::MAX));
        let by = |actor: &String| event.actor.as_ref() == Some(actor);
        is_of_step
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

    /// Whether the event that ends a step is of the one that was asked for.
    fn ends(&mut self, is_asked: bool) -> bool {
        let was = std::mem::take(&mut self.in_step);
        was || is_asked
    }
}

/// Whether an event has this text, which is in lower case: in what it says, or in who made it.
fn has(event: &EventForm, text: &str) -> bool {
    let said = event.body.as_ref().and_then(|body| body.to_json().ok());
    let said = said.unwrap_or_default();
    let around = [&event.actor, &event.user, &event.correlation, &event.key];
    let mut around = around.into_iter().flatten();
    said.to_lowercase().contains(text) || around.any(|word| word.to_lowercase().contains(text))
}
