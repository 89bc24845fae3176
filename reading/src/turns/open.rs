//! The turn whose end is not known yet.

use milepost_codec::{Offset, ToolCalled, ToolReturned, bounded};
use milepost_replay::Event;

use super::{NAME, Turn, TurnCall};
use crate::command::{failure_line, result_line};
use crate::text::arguments;
use crate::usage::UsageSum;

/// Number of calls of a turn among which a result finds its own.
const CALLS_OPEN: usize = 64;

/// A turn whose end is not known.
#[derive(Debug, Clone, Default)]
pub(super) struct Open {
    pub(super) turn: Turn,
    pub(super) usage: UsageSum,
    /// The last event with a text.
    pub(super) said_at: Option<Offset>,
    /// Set if its step has ended: only a mark may follow.
    pub(super) is_over: bool,
}

impl Open {
    /// Extends the turn to an event.
    pub(super) fn reach(&mut self, event: &Event) {
        self.turn.next = event.offset.saturating_add(1);
    }

    /// Extends the time of the turn to an event of its own.
    pub(super) fn takes_until(&mut self, event: &Event) {
        self.turn.took_us = passed(self.turn.time_us, event.header.time_us);
    }

    /// Adds the result of a call to it.
    pub(super) fn returned(&mut self, event: &Event, returned: &ToolReturned, text_max: usize) {
        let output = returned.output.as_ref();
        let result = output.map(|output| result_line(output, text_max));
        if !returned.ok {
            self.turn.failed = Some(failure_line(output, text_max));
        }
        let id = bounded(&returned.call, NAME);
        let calls = self.turn.calls.iter_mut().rev().take(CALLS_OPEN);
        // A result whose call is in another turn belongs to that.
        if let Some(call) = calls.into_iter().find(|call| call.call == id) {
            call.ok = Some(returned.ok);
            call.result = result;
            call.took_us = passed(call.time_us, event.header.time_us);
            self.takes_until(event);
        }
    }
}

/// Returns the time between two stamps, if they differ: some imports give all events the same.
pub fn passed(from_us: u64, to_us: u64) -> Option<u64> {
    to_us.checked_sub(from_us).filter(|time| *time > 0)
}

/// Returns a call that has not returned.
pub(super) fn call_of(called: &ToolCalled, event: &Event, text_max: usize) -> TurnCall {
    TurnCall {
        call: bounded(&called.call, NAME).to_owned(),
        tool: bounded(&called.tool, NAME).to_owned(),
        arguments: arguments(&called.arguments, text_max),
        ok: None,
        result: None,
        took_us: None,
        at: event.offset,
        time_us: event.header.time_us,
    }
}
