//! The summary of a history: title, counts, usage and the last values.

use std::collections::BTreeMap;

use bincode::{Decode, Encode};
use milepost_codec::{Body, Float, MarkStatus, Message, RunControl, bounded};
use milepost_replay::Event;
use serde::Serialize;

use crate::command::failure_line;
use crate::items::Items;
use crate::text::{Line, TEXT_MAX, first_line};
use crate::usage::{Usage, UsageSum};

/// Maximum number of metrics, and the longest name of one in bytes. Others are left out.
const METRICS: usize = 10;
const METRIC_NAME: usize = 32;

/// The longest title and error, and the longest phase, in bytes: a summary fits into an entry of
/// the index.
const TEXT: usize = 360;
const PHASE: usize = 100;

/// The values of a metric in a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[non_exhaustive]
pub struct MetricRange {
    /// The last value.
    pub last: Float,
    /// The least value. A NaN is neither the least nor the greatest, unless all are.
    pub min: Float,
    /// The greatest value.
    pub max: Float,
}

impl MetricRange {
    fn add(&mut self, value: Float) {
        self.last = value;
        self.min = Float(self.min.0.min(value.0));
        self.max = Float(self.max.0.max(value.0));
    }
}

/// The summary of a history. See `docs/READING.md`.
///
/// ```
/// use milepost_codec::{Body, Header, LineageId, Message, StepFailed, StepStarted};
/// use milepost_replay::Event;
/// use milepost_reading::Summary;
///
/// let bodies: [Body; 3] = [
///     Message::text("user", "Make the tests pass.").into(),
///     StepStarted { step: 1, ..Default::default() }.into(),
///     StepFailed { step: 1, error: "2 tests fail".into() }.into(),
/// ];
/// let mut summary = Summary::default();
/// for (offset, body) in (0..).zip(bodies) {
///     let (lineage, header) = (LineageId(0), Header::default());
///     summary.add(&Event { lineage, offset, header, body: Some(body) });
/// }
/// assert_eq!(summary.title.as_deref(), Some("Make the tests pass."));
/// assert_eq!((summary.steps, summary.failed), (1, 1));
/// assert_eq!(summary.last_error.as_deref(), Some("2 tests fail"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
#[non_exhaustive]
pub struct Summary {
    /// The first message of a user.
    pub title: Option<String>,
    /// The time of the last event, in microseconds since the Unix epoch.
    pub changed_us: u64,
    /// The last step.
    pub step: Option<u64>,
    /// The last phase.
    pub phase: Option<String>,
    /// The last control.
    pub control: RunControl,
    /// The number of steps.
    pub steps: u64,
    /// The number of calls.
    pub calls: u64,
    /// The number of calls and steps that failed.
    pub failed: u64,
    /// The last failure.
    pub last_error: Option<String>,
    /// The status of the last mark.
    pub status: Option<MarkStatus>,
    /// The values of each metric.
    pub metrics: BTreeMap<String, MetricRange>,
    /// The usage at the fork: that of the ancestors.
    inherited: Option<Usage>,
    /// The usage of the whole history.
    sum: UsageSum,
    /// Set between the beginning of a step and its end.
    is_in_step: bool,
    /// The number of messages, calls and results in the variables of a program. A stored summary of
    /// a version that did not read them lacks this field, and is made again.
    derived: u64,
}

impl Summary {
    /// Adds the next event of the history.
    pub fn add(&mut self, event: &Event) {
        self.changed_us = event.header.time_us;
        self.sum.add(event);
        let Some(body) = &event.body else { return };
        for item in Items::of(body).bodies {
            self.derived += 1;
            self.add(&Event { body: Some(item), ..event.clone() });
        }
        match body {
            Body::Message(message) => self.titled(message),
            Body::StepStarted(started) => {
                self.steps += 1;
                (self.step, self.is_in_step) = (Some(started.step), true);
            }
            Body::StepFinished(finished) => {
                self.step_over(finished.step);
                for (name, value) in &finished.metrics {
                    self.measured(name, *value);
                }
            }
            Body::StepFailed(failed) => {
                self.step_over(failed.step);
                self.failed(Line::within(TEXT_MAX).add(first_line(&failed.error)).end());
            }
            Body::ToolCalled(_) => self.calls += 1,
            Body::ToolReturned(returned) if !returned.ok => {
                self.failed(failure_line(returned.output.as_ref(), TEXT_MAX));
            }
            Body::CheckpointMarked(mark) => self.status = Some(mark.status),
            Body::PhaseChanged(phase) => {
                self.phase = Some(cut(Line::within(TEXT_MAX).add(&phase.phase).end(), PHASE));
            }
            Body::ControlChanged(changed) => self.control = changed.to,
            // A step does not continue after a fork.
            Body::LineageOpened(_) | Body::Restored(_) => self.is_in_step = false,
            _ => {}
        }
    }

    /// Returns the summary of a lineage that forks here: further usage is its own.
    #[must_use]
    pub fn forked(&self) -> Self {
        Self { inherited: self.usage(), ..self.clone() }
    }

    /// Returns the usage of the whole history; `None` if none was recorded.
    pub fn usage(&self) -> Option<Usage> {
        self.sum.total()
    }

    /// Returns the usage without that of ancestors.
    pub fn own_usage(&self) -> Option<Usage> {
        match &self.inherited {
            Some(inherited) => self.usage()?.since(inherited),
            None => self.usage(),
        }
    }

    fn titled(&mut self, message: &Message) {
        if self.title.is_none()
            && message.role == "user"
            && let Some(content) = &message.content
        {
            let title = Line::within(TEXT_MAX).add_json(content).end();
            self.title = Some(cut(title, TEXT)).filter(|title| !title.is_empty());
        }
    }

    fn step_over(&mut self, step: u64) {
        if !self.is_in_step {
            self.steps += 1;
        }
        (self.step, self.is_in_step) = (Some(step), false);
    }

    fn failed(&mut self, error: String) {
        self.failed += 1;
        self.last_error = Some(cut(error, TEXT));
    }

    fn measured(&mut self, name: &str, value: Float) {
        if let Some(range) = self.metrics.get_mut(name) {
            range.add(value);
        } else if self.metrics.len() < METRICS && name.len() <= METRIC_NAME {
            let range = MetricRange { last: value, min: value, max: value };
            self.metrics.insert(name.to_owned(), range);
        }
    }
}

/// Cuts a text to some bytes, with `…` at its end.
fn cut(text: String, bytes: usize) -> String {
    match text.len() <= bytes {
        true => text,
        false => format!("{}…", bounded(&text, bytes - '…'.len_utf8())),
    }
}

#[cfg(test)]
mod tests {
    use milepost_codec::{
        Application, ControlChanged, Header, LineageId, StepFinished, StepStarted, ToolReturned,
        wire,
    };
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn event(offset: u64, body: Body) -> Event {
        let header = Header { time_us: offset * 1000, ..Header::default() };
        Event { lineage: LineageId(0), offset, header, body: Some(body) }
    }

    fn finished(step: u64, loss: f64) -> Body {
        let metrics = [("loss".to_owned(), Float(loss))].into();
        StepFinished { step, metrics, ..StepFinished::default() }.into()
    }

    fn answer(id: &str, input: u64) -> Body {
        let usage = json!({"id": id, "usage": {"input_tokens": input, "cost_usd": 0.5}});
        Application::new("answer", &usage).unwrap().into()
    }

    fn body() -> impl Strategy<Value = Body> {
        prop_oneof![
            "[a-z ]{0,8}".prop_map(|text| Message::text("user", &text).into()),
            (0_u64..4).prop_map(|step| StepStarted { step, ..StepStarted::default() }.into()),
            (0_u64..4, -2.0..2.0).prop_map(|(step, loss)| finished(step, loss)),
            ("[ab]", 0_u64..9).prop_map(|(id, input)| answer(&id, input)),
            any::<bool>().prop_map(|ok| {
                ToolReturned { call: "c".into(), tool: None, ok, output: None }.into()
            }),
        ]
    }

    fn summary(bodies: &[Body]) -> Summary {
        let mut summary = Summary::default();
        for (offset, body) in (0..).zip(bodies) {
            summary.add(&event(offset, body.clone()));
        }
        summary
    }

    #[test]
    fn it_counts_steps_calls_and_failures_and_keeps_the_last_values() {
        let from = RunControl::Idle;
        let running = ControlChanged { from, to: RunControl::Running, reason: None };
        let failed = ToolReturned {
            call: "c".into(),
            tool: None,
            ok: false,
            output: Some(milepost_codec::Json::string("\n  cannot read it\nat all")),
        };
        let all = summary(&[
            Message::text("system", "you are").into(),
            Message::text("user", "fix\nit").into(),
            Message::text("user", "again").into(),
            running.into(),
            StepStarted { step: 1, ..StepStarted::default() }.into(),
            failed.into(),
            finished(1, 0.5),
            finished(2, f64::NAN),
            finished(3, -1.0),
        ]);
        assert_eq!(all.title.as_deref(), Some("fix it"));
        assert_eq!((all.steps, all.step, all.failed), (3, Some(3), 1));
        assert_eq!(all.last_error.as_deref(), Some("cannot read it"));
        assert_eq!((all.control, all.changed_us), (RunControl::Running, 8000));
        let loss = all.metrics["loss"];
        assert_eq!((loss.last.0, loss.min.0, loss.max.0), (-1.0, -1.0, 0.5));
    }

    #[test]
    fn the_largest_summary_fits_into_an_entry_of_the_index() {
        let long = "\u{1f6b2}".repeat(400);
        let mut bodies = vec![
            Message::text("user", &long).into(),
            milepost_codec::PhaseChanged { phase: long.clone(), ..Default::default() }.into(),
            milepost_codec::StepFailed { step: u64::MAX, error: long.clone() }.into(),
        ];
        for n in 0..30 {
            let usage = json!({"id": format!("{n}{long}"), "model": long, "usage": {
                "input_tokens": u64::MAX, "output_tokens": u64::MAX, "cost": 1.5,
                "cache_read": u64::MAX, "cache_write": u64::MAX, "currency": long,
            }});
            bodies.push(Application::new("answer", &usage).unwrap().into());
            let metrics = [(format!("{n:032}"), Float(0.1))].into();
            bodies.push(StepFinished { step: n, metrics, ..StepFinished::default() }.into());
        }
        let stored = wire::encode(&summary(&bodies)).len();
        assert!(stored <= 2700, "{stored}");
    }

    #[test]
    fn metrics_are_bounded_in_number_and_length() {
        let metrics = (0..40).map(|n| (format!("m{n:02}"), Float(1.0)));
        let metrics = metrics.chain([("x".repeat(65), Float(1.0))]).collect();
        let body = StepFinished { step: 1, metrics, ..StepFinished::default() };
        let all = summary(&[body.into()]);
        assert_eq!(all.metrics.len(), METRICS);
        assert!(all.metrics.keys().all(|name| name.len() <= METRIC_NAME));
    }

    proptest! {
        #[test]
        fn one_that_was_stored_half_way_goes_on_as_if_it_never_was(
            bodies in proptest::collection::vec(body(), 0..40), at in 0_usize..40,
        ) {
            let at = at.min(bodies.len());
            let stored = wire::encode(&summary(&bodies[..at]));
            let mut again: Summary = wire::decode(&stored, "summary").unwrap();
            for (offset, body) in (at as u64..).zip(&bodies[at..]) {
                again.add(&event(offset, body.clone()));
            }
            prop_assert_eq!(again, summary(&bodies));
        }

        #[test]
        fn the_usage_of_a_fork_is_what_it_inherited_and_its_own(
            bodies in proptest::collection::vec(body(), 0..40), at in 0_usize..40,
        ) {
            let at = at.min(bodies.len());
            let parent = summary(&bodies[..at]);
            let mut fork = parent.forked();
            for (offset, body) in (at as u64..).zip(&bodies[at..]) {
                fork.add(&event(offset, body.clone()));
            }
            // An answer with parts on both sides of the fork counts once.
            prop_assert_eq!(fork.usage(), summary(&bodies).usage());
            let tokens = |usage: Option<Usage>| usage.and_then(|usage| usage.tokens()).unwrap_or(0);
            let own = tokens(fork.usage()).saturating_sub(tokens(parent.usage()));
            prop_assert_eq!(tokens(fork.own_usage()), own);
            prop_assert_eq!((fork.steps, fork.failed), {
                let whole = summary(&bodies);
                (whole.steps, whole.failed)
            });
        }
    }
}
