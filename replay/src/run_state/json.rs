//! The state of a run as JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};

use milepost_codec::{Body, Error, Json, Offset, Result};
use serde::Serialize;
use serde_json::{Value, json};

use super::entry::{Entry, Guidance};
use super::state::{RunState, Step, StepStatus};
use crate::chunks::Chunks;
use crate::document::text_value;
use crate::pointer::first_token;
use crate::sequence::{Item, Sequence};

/// The number of guidance items displayed unless all messages are requested.
const GUIDANCE_LISTED_MAX: u64 = 100;

/// The field names of a state's JSON form.
pub(super) const FIELDS: [&str; 20] = [
    "control",
    "phase",
    "previous_phase",
    "iteration",
    "step",
    "prompt",
    "rules",
    "artifacts",
    "guidance",
    "guidance_count",
    "variables",
    "context",
    "messages",
    "message_count",
    "open_calls",
    "finished_calls",
    "abandoned_calls",
    "workspace",
    "metrics",
    "last_error",
];

/// Range of the displayed messages of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MessageRange {
    /// All messages, with no bound on memory.
    All,
    /// No messages, only their count.
    #[default]
    None,
    /// The last messages, up to a number.
    Last(u64),
}

impl RunState {
    /// Returns the state as a JSON object with all fields, absent ones as `null`. `messages`
    /// selects the messages; guidance is complete with all messages, otherwise limited to the last
    /// 100 items.
    ///
    /// Numbers that `serde_json` cannot hold become their text.
    ///
    /// # Errors
    ///
    /// As [`Chunks::get`].
    pub fn to_json(&self, chunks: &dyn Chunks, messages: MessageRange) -> Result<Value> {
        let fields = FIELDS.iter().map(|name| {
            let value = self.field(name, chunks, messages)?;
            Ok(((*name).to_owned(), value.unwrap_or_default()))
        });
        Ok(Value::Object(fields.collect::<Result<_>>()?))
    }

    /// Returns the part of [`RunState::to_json`] with all messages at a JSON pointer (RFC 6901), or
    /// `None` for a missing part. Of a long list only the selected entry is read.
    ///
    /// # Errors
    ///
    /// `Invalid`: the text is not a pointer. Otherwise as [`Chunks::get`].
    ///
    /// # Example
    ///
    /// ```
    /// use milepost_replay::{MemoryChunks, RunState};
    ///
    /// let state = RunState::default();
    /// let chunks = MemoryChunks::default();
    /// assert_eq!(state.value_at("/iteration", &chunks)?, Some(0.into()));
    /// assert_eq!(state.value_at("/variables/best", &chunks)?, None);
    /// # Ok::<(), milepost_replay::Error>(())
    /// ```
    pub fn value_at(&self, pointer: &str, chunks: &dyn Chunks) -> Result<Option<Value>> {
        let Some((field, rest)) = first_token(pointer)? else {
            return self.to_json(chunks, MessageRange::All).map(Some);
        };
        match field.as_str() {
            "variables" => Ok(self.variables.value_at(rest)),
            "context" => Ok(self.context.value_at(rest)),
            "artifacts" | "rules" if !rest.is_empty() => {
                self.raw_part(pointer)?.map(text_value).transpose()
            }
            "messages" | "guidance" if !rest.is_empty() => {
                let part = self.entry_part(pointer, chunks)?;
                part.map(|part| text_value(&part)).transpose()
            }
            name => {
                let value = self.field(name, chunks, MessageRange::All)?;
                Ok(value.and_then(|value| value.pointer(rest).cloned()))
            }
        }
    }

    /// Returns one field of the state's JSON form, or `None` for an unknown name.
    pub(super) fn field(
        &self,
        name: &str,
        chunks: &dyn Chunks,
        messages: MessageRange,
    ) -> Result<Option<Value>> {
        let (messages, guidance) = match messages {
            MessageRange::All => (u64::MAX, u64::MAX),
            MessageRange::None => (0, GUIDANCE_LISTED_MAX),
            MessageRange::Last(count) => (count, GUIDANCE_LISTED_MAX),
        };
        Ok(Some(match name {
            "control" => json!(self.control.name()),
            "phase" => json!(self.phase),
            "previous_phase" => json!(self.previous_phase),
            "iteration" => json!(self.iteration),
            "step" => self.step.as_ref().map_or(Value::Null, step_json),
            "prompt" => json!(self.prompt),
            "rules" => self.rules.as_ref().map_or(Ok(Value::Null), json_value)?,
            "artifacts" => values(&self.artifacts)?,
            "guidance" => last(&self.guidance, guidance, guidance_json, chunks)?,
            "guidance_count" => json!(self.guidance.len()),
            "variables" => self.variables.to_value(),
            "context" => self.context.to_value(),
            "messages" => last(&self.messages, messages, entry_json, chunks)?,
            "message_count" => json!(self.messages.len()),
            "open_calls" => self.open_calls_json()?,
            "finished_calls" => json!(self.finished_calls),
            "abandoned_calls" => json!(self.abandoned_calls),
            "workspace" => json!(self.workspace),
            "metrics" => to_value(&self.metrics)?,
            "last_error" => {
                let error = self.last_error.as_ref();
                json!(error.map(|error| json!({"offset": error.offset, "message": error.message})))
            }
            _ => return Ok(None),
        }))
    }

    fn open_calls_json(&self) -> Result<Value> {
        let calls = self.open_calls.iter().map(|(call, open)| {
            let arguments = open.arguments.as_ref().map(json_value).transpose()?;
            let value = json!({"tool": open.tool, "arguments": arguments, "offset": open.offset});
            Ok((call.clone(), value))
        });
        Ok(Value::Object(calls.collect::<Result<_>>()?))
    }
}

fn step_json(step: &Step) -> Value {
    let status = match step.status {
        StepStatus::Running => "running",
        StepStatus::Finished => "finished",
        StepStatus::Failed => "failed",
    };
    json!({"number": step.number, "name": step.name, "status": status})
}

fn values(entries: &BTreeMap<String, Json>) -> Result<Value> {
    let fields = entries.iter().map(|(name, json)| {
        let value = json_value(json).map_err(|error| error.at(format!("artifact `{name}`")))?;
        Ok((name.clone(), value))
    });
    Ok(Value::Object(fields.collect::<Result<_>>()?))
}

fn to_value<T: Serialize>(value: &T) -> Result<Value> {
    serde_json::to_value(value)
        .map_err(|e| Error::invalid(format!("no JSON form: {e}")).with_source(e))
}

/// Returns the last `count` items.
fn last<T: Item>(
    items: &Sequence<T>,
    count: u64,
    to_json: impl Fn(T) -> Result<Value>,
    chunks: &dyn Chunks,
) -> Result<Value> {
    let first = items.len().saturating_sub(count);
    let items = items.iter_from(first, chunks).map(|item| to_json(item?));
    items.collect::<Result<Vec<_>>>().map(Value::Array)
}

impl Entry {
    /// Writes the entry as JSON: the form of its body, with the event's offset.
    ///
    /// # Errors
    ///
    /// The writer's.
    pub fn write_json(self, to: impl Write) -> io::Result<()> {
        let at = self.offset();
        let body = match self {
            Entry::Message { message, .. } => Body::Message(message),
            Entry::ToolCall { call, .. } => Body::ToolCalled(call),
            Entry::ToolReturn { returned, .. } => Body::ToolReturned(returned),
            Entry::Erased { offset, kind } => {
                let kind = Body::name_of(kind);
                let erased = json!({"kind": kind, "erased": true, "offset": offset});
                return Ok(serde_json::to_writer(to, &erased)?);
            }
        };
        write_body(at, &body, to)
    }
}

impl Guidance {
    /// Writes the guidance as JSON: the form of its body, with the event's offset.
    ///
    /// # Errors
    ///
    /// The writer's.
    pub fn write_json(self, to: impl Write) -> io::Result<()> {
        write_body(self.offset, &Body::GuidanceGiven(self.given), to)
    }
}

/// Writes the body's text verbatim, for our own parser, which keeps everything that can be
/// displayed.
fn write_body(offset: Offset, body: &Body, mut to: impl Write) -> io::Result<()> {
    write!(to, "{{\"offset\":{offset},")?;
    serde_json::to_writer(AfterBrace { to, is_behind: false }, body)?;
    Ok(())
}

/// A writer without the first byte, the opening brace of a body's own JSON.
struct AfterBrace<W> {
    to: W,
    is_behind: bool,
}

impl<W: Write> Write for AfterBrace<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        match text.split_first() {
            Some((_, rest)) if !self.is_behind => {
                self.to.write_all(rest)?;
                self.is_behind = true;
                Ok(text.len())
            }
            _ => self.to.write(text),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Returns the JSON text that `write` writes.
fn written(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Result<String> {
    let no_text = |why: String| Error::invalid(format!("no JSON form: {why}"));
    let mut text = Vec::new();
    write(&mut text).map_err(|error| no_text(error.to_string()))?;
    String::from_utf8(text).map_err(|error| no_text(error.to_string()))
}

pub(crate) fn entry_text(entry: Entry) -> Result<String> {
    written(|to| entry.write_json(to))
}

pub(crate) fn guidance_text(guidance: Guidance) -> Result<String> {
    written(|to| guidance.write_json(to))
}

fn entry_json(entry: Entry) -> Result<Value> {
    text_value(&entry_text(entry)?)
}

fn guidance_json(guidance: Guidance) -> Result<Value> {
    text_value(&guidance_text(guidance)?)
}

fn json_value(json: &Json) -> Result<Value> {
    text_value(json.text())
}
