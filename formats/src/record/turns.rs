//! A conversation as steps. Each message of the assistant begins a step; the messages after it
//! belong to it.
//!
//! ```text
//! messages before the assistant's first    Message ..
//! one step                                 StepStarted, Message, ToolCalled .., ToolReturned ..,
//!                                          StepFinished, mark
//! other fields                             VariablesPatched before the last mark
//! ```

use std::collections::BTreeMap;

use milepost::Body;
use milepost::events::{Application, Data, MarkStatus, StepFinished};

use super::conversation::{self, Leftover};
use super::plan::Run;
use crate::json_object::Object;

/// Adds messages to a run.
pub struct Turns<'a> {
    run: &'a mut Run,
    leftover: Leftover,
    /// Number of the open step; 0 before the first.
    step: u64,
}

impl<'a> Turns<'a> {
    pub fn new(run: &'a mut Run) -> Self {
        Self { run, leftover: Leftover::default(), step: 0 }
    }

    /// Adds the next message. `change` may replace its events; `place` names the message in an
    /// error.
    pub fn message(
        &mut self,
        message: Object,
        place: &str,
        change: impl Fn(Body) -> Body,
    ) -> Result<(), String> {
        if message.text("role").as_deref() == Some("assistant") {
            if self.step > 0 {
                self.finish_step();
                self.run.mark(self.step, MarkStatus::Success);
            }
            self.step += 1;
            self.run.begin_step(self.step);
        }
        for body in conversation::events(message, place, &mut self.leftover)? {
            self.run.event(change(body));
        }
        Ok(())
    }

    fn finish_step(&mut self) {
        let mut fields = Object::default();
        if let Some(json) = self.leftover.take().into_json() {
            fields.put("message_fields", json);
        }
        let metrics = BTreeMap::new();
        self.run.event(StepFinished { step: self.step, result: fields.into_json(), metrics });
    }

    /// Ends the conversation. The fields become variables.
    pub fn end(mut self, fields: Object, status: MarkStatus) -> Result<(), String> {
        if self.step > 0 {
            self.finish_step();
        } else if let Some(json) = self.leftover.take().into_json() {
            self.run.event(Application { name: "message_fields".into(), data: Data::Json(json) });
        }
        self.run.set_variables(fields)?;
        self.run.mark(self.step, status);
        Ok(())
    }
}
