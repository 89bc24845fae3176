//! Filter of the printed events.

use clap::builder::PossibleValuesParser;
use milepost::Body;
use milepost::state::{MessageRange, RunReducer};
use milepost_api::{EventForm, PointForm};
use serde_json::Value;

use crate::args::{moment, whole};
use crate::backend::Backend;
use crate::commands::needle::Needle;
use crate::error::Result;

// Filter of the printed events. A doc comment would replace the help of `log`.
#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
pub struct LogFilter {
    /// Only events of this kind: `message`, `step_finished`. May be given more than once.
    #[arg(long, value_name = "KIND", value_parser = kinds(), hide_possible_values = true)]
    pub kind: Vec<String>,
    /// Only events of this step.
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub step: Option<u64>,
    /// Only events of this iteration, of all its steps and phases.
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub iteration: Option<u64>,
    /// Only events of this actor.
    #[arg(long, value_name = "NAME")]
    pub actor: Option<String>,
    /// Only events that contain this text, in upper or lower case. A text with quotes is also found
    /// as JSON with other white space: `"ok": false` finds `"ok":false`.
    #[arg(long, value_name = "TEXT")]
    pub grep: Option<String>,
    /// Only events from this time on: 2026-01-18T10:30:00Z, 2026-01-18, or a span before now, as
    /// 2h.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub since: Option<u64>,
    /// Only events until this time.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub until: Option<u64>,
}

/// Returns a parser that accepts the names of all event kinds.
pub fn kinds() -> PossibleValuesParser {
    let names = (1..=u16::from(u8::MAX)).map(Body::name_of);
    PossibleValuesParser::new(names.filter(|name| *name != "unknown"))
}

/// A filter, with its position in the steps and iterations.
pub struct EventFilter<'a> {
    asked: &'a LogFilter,
    grep: Option<Needle>,
    /// `true` inside the requested step, if the events come oldest first.
    in_step: bool,
    /// The iteration of the last event, if the events come oldest first.
    iteration: u64,
}

impl<'a> EventFilter<'a> {
    pub fn new(asked: &'a LogFilter) -> Self {
        let grep = asked.grep.as_deref().map(Needle::new);
        Self { asked, grep, in_step: false, iteration: 0 }
    }

    /// Returns `true` if the filter needs all events, oldest first.
    pub fn is_ordered(asked: &LogFilter) -> bool {
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
            && self.grep.as_ref().is_none_or(|needle| needle.is_in(event))
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
