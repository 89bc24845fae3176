//! Turns: texts, calls, and their results.

mod open;

use std::hash::{DefaultHasher, Hash, Hasher};

use milepost_codec::{Body, CheckpointMarked, MarkCause, MarkStatus, Message, Offset, bounded};
use milepost_replay::Event;
use serde::Serialize;

pub use self::open::passed;
use self::open::{Open, call_of};
use crate::items::Items;
use crate::meaning::meaning;
use crate::row::{ONCE, once};
use crate::text::{Line, TEXT_MAX, first_line};
use crate::usage::Usage;

/// The role of the messages that begin turns.
const ASSISTANT: &str = "assistant";

/// Maximum number of calls of a turn that are kept.
const CALLS_MAX: usize = 1000;

/// The longest name, and id of a call, in bytes. A longer one is cut.
const NAME: usize = 200;

/// A call of a tool in a turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TurnCall {
    /// The id of the call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The arguments in brief.
    pub arguments: String,
    /// Set if the call returned well; `None` if its result is missing.
    pub ok: Option<bool>,
    /// The output on one line.
    pub result: Option<String>,
    /// The time from the call to its return, in microseconds. `None` if both have the same stamp,
    /// as of events that were imported without times.
    pub took_us: Option<u64>,
    /// The offset of the call.
    pub at: Offset,
    #[serde(skip)]
    time_us: u64,
}

#[cfg(test)]
impl TurnCall {
    /// Returns a call that returned well.
    pub(crate) fn sample(tool: &str, arguments: &str) -> Self {
        let (tool, arguments) = (tool.to_owned(), arguments.to_owned());
        let (call, ok) = ("c".to_owned(), Some(true));
        Self { call, tool, arguments, ok, result: None, took_us: None, at: 0, time_us: 0 }
    }
}

/// A mark in a turn or directly after it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TurnMark {
    /// The label.
    pub label: Option<String>,
    /// The status.
    pub status: MarkStatus,
    /// The offset that it marks.
    pub at: Offset,
}

/// One line of a run. All texts are on one line of at most [`TEXT_MAX`](crate::TEXT_MAX)
/// characters, or as many as [`Turns::within`] was told; the events have the whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Turn {
    /// The step that the turn is in.
    pub step: Option<u64>,
    /// The name of the step.
    pub name: Option<String>,
    /// The number of the turn in its step, from 0.
    pub turn: u64,
    /// The offset of its first event.
    pub first: Offset,
    /// The offset after its last event.
    pub next: Offset,
    /// The time of the first event, in microseconds since the Unix epoch.
    pub time_us: u64,
    /// The time from its first event to the last one of its own: step, answer, calls and results,
    /// in microseconds. Later records, such as a capture, a mark or the next prompt, do not count.
    /// `None` if the stamps are the same, as of imports without times.
    pub took_us: Option<u64>,
    /// The assistant's message.
    pub said: Option<String>,
    /// The first calls: at most 1,000.
    pub calls: Vec<TurnCall>,
    /// The number of further calls.
    #[serde(skip_serializing_if = "is_none")]
    pub more_calls: u64,
    /// The last message of another role, or else the first result of work that is done once.
    pub heard: Option<String>,
    /// The reason of a failure: the step's error, or the output of a call that failed.
    pub failed: Option<String>,
    /// The usage of its answers.
    pub usage: Option<Usage>,
    /// Metrics of the step that ended with the turn.
    pub metrics: Vec<(String, f64)>,
    /// A mark within it or directly after it.
    pub mark: Option<TurnMark>,
    /// Digests of the calls and of the text, whole.
    #[serde(skip)]
    pub(crate) calls_digest: u64,
    #[serde(skip)]
    pub(crate) said_digest: u64,
    #[serde(skip)]
    pub(crate) metrics_digest: u64,
}

impl Turn {
    /// Returns `true` if it has calls, and all of them returned.
    fn has_returned(&self) -> bool {
        !self.calls.is_empty() && self.calls.iter().all(|call| call.ok.is_some())
    }
}

/// Divides events into turns. See `docs/READING.md`.
///
/// ```
/// use milepost_codec::{Body, Header, LineageId, Message, ToolCalled, ToolReturned, Json};
/// use milepost_replay::Event;
/// use milepost_reading::Turns;
///
/// let arguments = Json::new(r#"{"command": "make test"}"#)?;
/// let (call, output) = (|| "c1".to_owned(), Some(Json::string("2 fail")));
/// let bodies: [Body; 3] = [
///     Message::text("assistant", "I run the tests.").into(),
///     ToolCalled { call: call(), tool: "bash".into(), arguments }.into(),
///     ToolReturned { call: call(), tool: None, ok: false, output }.into(),
/// ];
/// let mut turns = Turns::default();
/// for (offset, body) in (0..).zip(bodies) {
///     let (lineage, header) = (LineageId(0), Header::default());
///     assert!(turns.add(&Event { lineage, offset, header, body: Some(body) }).is_none());
/// }
/// let turn = turns.end().expect("a turn");
/// assert_eq!(turn.said.as_deref(), Some("I run the tests."));
/// assert_eq!(turn.calls[0].arguments, "make test");
/// assert_eq!(turn.failed.as_deref(), Some("2 fail"));
/// # Ok::<(), milepost_replay::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Turns {
    text_max: usize,
    open: Option<Open>,
    /// The step that has begun and not ended.
    step: Option<CurrentStep>,
}

#[derive(Debug, Clone)]
struct CurrentStep {
    number: u64,
    name: Option<String>,
    turns: u64,
}

impl Default for Turns {
    fn default() -> Self {
        Self::within(TEXT_MAX)
    }
}

impl Turns {
    /// Divides events into turns whose texts have at most this many characters.
    pub fn within(text_max: usize) -> Self {
        Self { text_max, open: None, step: None }
    }

    /// Adds the next event. Returns the turn that ended before it, if one did.
    pub fn add(&mut self, event: &Event) -> Option<Turn> {
        let Some(body) = &event.body else {
            return self.inside(event, |_| {});
        };
        match body {
            Body::StepStarted(step) => {
                let ended = self.end();
                let name = step.name.as_deref().map(|name| bounded(name, NAME).to_owned());
                let number = step.step;
                self.step = Some(CurrentStep { number, name, turns: 0 });
                self.begin(event);
                ended
            }
            Body::Message(message) if message.role == ASSISTANT => self.said(event, message),
            Body::Message(message) => {
                let heard = self.content(message);
                self.inside(event, |open| open.turn.heard = Some(heard))
            }
            Body::ToolCalled(called) => {
                let ended = match self.takes_calls(event.offset) {
                    true => None,
                    false => self.begin_behind(event),
                };
                let call = call_of(called, event, self.text_max);
                self.inside(event, |open| {
                    open.takes_until(event);
                    let so_far = open.turn.calls_digest;
                    let digest = digest(&(so_far, &called.tool, meaning(called.arguments.text())));
                    open.turn.calls_digest = digest;
                    match open.turn.calls.len() < CALLS_MAX {
                        true => open.turn.calls.push(call),
                        false => open.turn.more_calls += 1,
                    }
                });
                ended
            }
            Body::ToolReturned(returned) => {
                let text_max = self.text_max;
                self.inside(event, |open| open.returned(event, returned, text_max))
            }
            Body::StepFinished(finished) => {
                let metrics = finished.metrics.iter().map(|(name, value)| (name.clone(), value.0));
                let metrics: Vec<(String, f64)> = metrics.collect();
                self.step_over(event, finished.step, |turn| {
                    let bits = metrics.iter().map(|(name, value)| (name, value.to_bits()));
                    turn.metrics_digest = digest(&bits.collect::<Vec<_>>());
                    turn.metrics = metrics;
                })
            }
            Body::StepFailed(failed) => {
                let error = Line::within(self.text_max).add(first_line(&failed.error)).end();
                self.step_over(event, failed.step, |turn| turn.failed = Some(error))
            }
            Body::CheckpointMarked(mark) => self.marked(event, mark),
            // A step does not continue after a fork.
            Body::LineageOpened(_) | Body::Restored(_) => {
                self.step = None;
                self.end()
            }
            Body::Application(application) if application.name == ONCE => {
                let once = once(event, application, self.text_max);
                self.inside(event, |open| {
                    open.turn.heard.get_or_insert(once);
                })
            }
            Body::VariablesPatched(_) | Body::Application(_) => self.items(event, Items::of(body)),
            _ => self.inside(event, |_| {}),
        }
    }

    /// Adds the items that an event adds to the lists of a program, as one event: the messages of
    /// an assistant in it are one turn.
    fn items(&mut self, event: &Event, items: Items) -> Option<Turn> {
        let mut ended = None;
        let is_result = |body: &Body| matches!(body, Body::ToolReturned(_));
        let takes_them = self.open.as_ref().is_some_and(|open| {
            let is_empty = open.turn.said.is_none() && open.turn.calls.is_empty();
            let is_begun = self.step.is_some() && is_empty;
            !open.is_over && (is_begun || items.bodies.iter().all(is_result))
        });
        if !items.bodies.is_empty() && !takes_them {
            ended = self.begin_behind(event);
        }
        for body in items.bodies {
            let item = Event { body: Some(body), ..event.clone() };
            ended = self.add(&item).or(ended);
        }
        let inside = self.inside(event, |open| {
            if let Some(nodes) = items.nodes {
                open.turn.name = Some(bounded(&nodes, NAME).to_owned());
            }
        });
        ended.or(inside)
    }

    /// Returns the last turn. More events may follow, as of a run that continues.
    pub fn end(&mut self) -> Option<Turn> {
        let Open { mut turn, usage, .. } = self.open.take()?;
        turn.usage = usage.total();
        Some(turn)
    }

    /// Returns the last turn as it is now, without its end.
    pub fn unfinished(&self) -> Option<Turn> {
        let Open { turn, usage, .. } = self.open.as_ref()?;
        Some(Turn { usage: usage.total(), ..turn.clone() })
    }

    /// Returns the offset of the first event of the open turn.
    pub(crate) fn first(&self) -> Option<Offset> {
        self.open.as_ref().map(|open| open.turn.first)
    }

    /// Returns `true` if the open turn has failed so far.
    pub(crate) fn is_failed(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.turn.failed.is_some())
    }

    /// Returns about the bytes of memory that it takes.
    pub(crate) fn weight(&self) -> usize {
        let calls = self.open.as_ref().map_or(0, |open| open.turn.calls.len());
        calls * (size_of::<TurnCall>() + 2 * NAME + 2 * TEXT_MAX) + NAME
    }

    /// Returns what takes the events from the first one of the open turn on, and divides them in
    /// the same way. The open turn has that event alone.
    pub(crate) fn before_open(&self) -> Self {
        let step = self.step.clone();
        let step = step.map(|step| CurrentStep { turns: step.turns.saturating_sub(1), ..step });
        Self { step, ..Self::within(self.text_max) }
    }

    /// Returns `true` if the open turn has the event at an offset as its last.
    pub fn reaches(&self, offset: Offset) -> bool {
        self.open.as_ref().is_some_and(|open| open.turn.next == offset.saturating_add(1))
    }

    /// Returns `true` if a call belongs to the open turn: a step or an answer announced it, or
    /// another call of the turn has not returned.
    fn takes_calls(&self, offset: Offset) -> bool {
        self.open.as_ref().is_some_and(|open| {
            let turn = &open.turn;
            let is_of_event = turn.first == offset;
            let is_announced = turn.step.is_some() || turn.said.is_some() || is_of_event;
            let waits = turn.calls.last().is_some_and(|call| call.ok.is_none());
            !open.is_over && (is_announced || waits)
        })
    }

    fn begin(&mut self, event: &Event) {
        let step = self.step.as_mut();
        let turn = step.map_or_else(Turn::default, |step| {
            step.turns += 1;
            let name = step.name.clone();
            Turn { step: Some(step.number), name, turn: step.turns - 1, ..Turn::default() }
        });
        let (first, time_us) = (event.offset, event.header.time_us);
        let turn = Turn { first, next: first, time_us, ..turn };
        let mut open = Open { turn, ..Open::default() };
        open.reach(event);
        self.open = Some(open);
    }

    fn begin_behind(&mut self, event: &Event) -> Option<Turn> {
        let ended = self.end();
        self.begin(event);
        ended
    }

    /// Adds an event to the open turn. An event after the end of a step ends the turn.
    fn inside(&mut self, event: &Event, change: impl FnOnce(&mut Open)) -> Option<Turn> {
        let open = self.open.as_mut()?;
        if open.is_over {
            return self.end();
        }
        open.reach(event);
        open.usage.add(event);
        change(open);
        None
    }

    fn said(&mut self, event: &Event, message: &Message) -> Option<Turn> {
        let is_first = self.open.as_ref().is_some_and(|open| {
            let turn = &open.turn;
            let of_step = self.step.is_some() && turn.turn == 0;
            of_step && !open.is_over && turn.said.is_none() && turn.calls.is_empty()
        });
        let goes_on = self.open.as_ref().is_some_and(|open| {
            open.said_at == Some(event.offset) || open.turn.first == event.offset
        });
        let ended = match is_first || goes_on {
            true => None,
            false => self.begin_behind(event),
        };
        let said = self.content(message);
        let text_max = self.text_max;
        let whole = message.content.as_ref().map(|content| digest(&content.text()));
        self.inside(event, |open| {
            open.said_at = Some(event.offset);
            open.turn.said = match open.turn.said.take().filter(|_| goes_on) {
                Some(before) => Some(Line::within(text_max).add(&before).add(" ").add(&said).end()),
                None => Some(said),
            };
            open.turn.said_digest = digest(&(open.turn.said_digest, whole));
            open.takes_until(event);
        });
        ended
    }

    fn content(&self, message: &Message) -> String {
        let line = |content| Line::within(self.text_max).add_json(content).end();
        message.content.as_ref().map(line).unwrap_or_default()
    }

    /// Ends a step. One without a turn, of a program that records only the ends of its steps, has
    /// a turn of that event.
    fn step_over(
        &mut self,
        event: &Event,
        number: u64,
        change: impl FnOnce(&mut Turn),
    ) -> Option<Turn> {
        let mut ended = None;
        if self.open.as_ref().is_none_or(|open| open.is_over) {
            self.step = Some(CurrentStep { number, name: None, turns: 0 });
            ended = self.begin_behind(event);
        }
        self.step = None;
        let inside = self.inside(event, |open| {
            change(&mut open.turn);
            open.takes_until(event);
            open.is_over = true;
        });
        ended.or(inside)
    }

    fn marked(&mut self, event: &Event, marked: &CheckpointMarked) -> Option<Turn> {
        let (label, status, at) = (marked.label.clone(), marked.status, event.offset);
        let mark = TurnMark { label, status, at };
        let open = self.open.as_mut()?;
        open.reach(event);
        // A mark before the next call is not this turn's own.
        let is_of_next = marked.cause == MarkCause::BeforeTool && open.turn.has_returned();
        if !(is_of_next && open.turn.mark.is_some()) {
            open.turn.mark = Some(mark);
        }
        match open.is_over {
            true => self.end(),
            false => None,
        }
    }
}

/// Returns `true` for no calls.
fn is_none(calls: &u64) -> bool {
    *calls == 0
}

/// Returns a digest to compare values within one process.
fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
