//! Stored form of a run's state. Equal states give equal bytes on every machine.
//!
//! ```text
//! control         u8: 0 idle, 1 running, 2 paused, 3 stopped
//! phase           optional text
//! previous phase  optional text
//! iteration       varint
//! step            optional: number (varint), name (optional text), status (u8: 0 running,
//!                 1 finished, 2 failed)
//! prompt          optional text
//! rules           optional text of JSON
//! artifacts       map of text to text of JSON
//! guidance        bytes, sequence/mod.rs
//! variables       text of canonical JSON
//! context         text of canonical JSON
//! messages        bytes, sequence/mod.rs
//! open calls      map of text to: tool (text), arguments (optional text of JSON), offset (varint)
//! finished calls  varint
//! abandoned calls varint
//! workspace       optional 32 bytes
//! metrics         map of text to 8 bytes, little-endian
//! last error      optional: offset (varint), message (text)
//! ```
//!
//! A text is its length (varint) and UTF-8. An optional value is 0, or 1 and the value. A map is
//! its count (varint), and keys and values with the keys in ascending byte order.

use std::collections::BTreeMap;

use milepost_codec::{ChunkId, Error, Float, Hash, Json, Reader, Result, RunControl, put_varint};

use super::state::{LastError, OpenCall, RunState, Step, StepStatus};
use crate::chunks::Chunks;
use crate::document::Document;
use crate::sequence::{Item, Sequence};

const WHAT: &str = "run state";

impl RunState {
    /// Returns the stored bytes. They do not depend on the machine.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_with(&self.guidance.encode(), &self.messages.encode())
    }

    /// Returns the bytes of a snapshot, and the chunks that they refer to: the tails of the
    /// sequences are pieces in `chunks`.
    pub(crate) fn encode_apart(&self, chunks: &dyn Chunks) -> Result<(Vec<u8>, Vec<ChunkId>)> {
        let (guidance, first) = self.guidance.encode_apart(chunks)?;
        let (messages, second) = self.messages.encode_apart(chunks)?;
        let mut refers = self.refers();
        refers.extend([first, second].into_iter().flatten());
        Ok((self.encode_with(&guidance, &messages), refers))
    }

    fn encode_with(&self, guidance: &[u8], messages: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let text = |out: &mut Vec<u8>, text: &String| put_text(out, text);
        let json = |out: &mut Vec<u8>, json: &Json| put_text(out, json.text());
        out.push(control_number(self.control));
        put_option(&mut out, self.phase.as_ref(), text);
        put_option(&mut out, self.previous_phase.as_ref(), text);
        put_varint(&mut out, self.iteration);
        put_option(&mut out, self.step.as_ref(), |out, step| {
            put_varint(out, step.number);
            put_option(out, step.name.as_ref(), text);
            out.push(status_number(step.status));
        });
        put_option(&mut out, self.prompt.as_ref(), text);
        put_option(&mut out, self.rules.as_ref(), json);
        put_map(&mut out, &self.artifacts, json);
        put_bytes(&mut out, guidance);
        put_text(&mut out, &self.variables.text());
        put_text(&mut out, &self.context.text());
        put_bytes(&mut out, messages);
        put_map(&mut out, &self.open_calls, |out, call| {
            put_text(out, &call.tool);
            put_option(out, call.arguments.as_ref(), json);
            put_varint(out, call.offset);
        });
        put_varint(&mut out, self.finished_calls);
        put_varint(&mut out, self.abandoned_calls);
        put_option(&mut out, self.workspace.as_ref(), |out, root| out.extend_from_slice(&root.0));
        put_map(&mut out, &self.metrics, |out, n| out.extend_from_slice(&n.0.to_le_bytes()));
        put_option(&mut out, self.last_error.as_ref(), |out, error| {
            put_varint(out, error.offset);
            put_text(out, &error.message);
        });
        out
    }

    /// Decodes a state.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the bytes are not a state.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        Self::decode_with(bytes, None)
    }

    /// Decodes a state, with the tails of its sequences from `chunks`, if any.
    pub(crate) fn decode_with(bytes: &[u8], chunks: Option<&dyn Chunks>) -> Result<Self> {
        let mut from = Reader::new(bytes, WHAT);
        let from = &mut from;
        let state = Self {
            control: control(from.u8()?)?,
            phase: option(from, text)?,
            previous_phase: option(from, text)?,
            iteration: from.varint()?,
            step: option(from, step)?,
            prompt: option(from, text)?,
            rules: option(from, json)?,
            artifacts: map(from, json)?,
            guidance: sequence(from, chunks)?,
            variables: document(from)?,
            context: document(from)?,
            messages: sequence(from, chunks)?,
            open_calls: map(from, |from| {
                let (tool, arguments) = (text(from)?, option(from, json)?);
                Ok(OpenCall { tool, arguments, offset: from.varint()? })
            })?,
            finished_calls: from.varint()?,
            abandoned_calls: from.varint()?,
            workspace: option(from, |from| from.array().map(Hash))?,
            metrics: map(from, |from| from.array().map(|b| Float(f64::from_le_bytes(b))))?,
            last_error: option(from, |from| {
                Ok(LastError { offset: from.varint()?, message: text(from)? })
            })?,
        };
        match from.rest().len() {
            0 => Ok(state),
            left => Err(Error::corrupt(WHAT, "no bytes after it", left)),
        }
    }

    /// Returns the chunks that the sequences refer to.
    pub fn refers(&self) -> Vec<ChunkId> {
        let mut ids = self.messages.refers();
        ids.extend(self.guidance.refers());
        ids
    }
}

fn control_number(control: RunControl) -> u8 {
    match control {
        RunControl::Idle => 0,
        RunControl::Running => 1,
        RunControl::Paused => 2,
        RunControl::Stopped => 3,
    }
}

fn control(number: u8) -> Result<RunControl> {
    Ok(match number {
        0 => RunControl::Idle,
        1 => RunControl::Running,
        2 => RunControl::Paused,
        3 => RunControl::Stopped,
        n => return Err(Error::corrupt(WHAT, "a control of 0 to 3", n)),
    })
}

fn status_number(status: StepStatus) -> u8 {
    match status {
        StepStatus::Running => 0,
        StepStatus::Finished => 1,
        StepStatus::Failed => 2,
    }
}

fn sequence<T: Item>(from: &mut Reader<'_>, chunks: Option<&dyn Chunks>) -> Result<Sequence<T>> {
    let bytes = take_bytes(from)?;
    chunks.map_or_else(|| Sequence::decode(bytes), |chunks| Sequence::decode_apart(bytes, chunks))
}

fn step(from: &mut Reader<'_>) -> Result<Step> {
    let (number, name) = (from.varint()?, option(from, text)?);
    let status = match from.u8()? {
        0 => StepStatus::Running,
        1 => StepStatus::Finished,
        2 => StepStatus::Failed,
        n => return Err(Error::corrupt(WHAT, "a step status of 0 to 2", n)),
    };
    Ok(Step { number, name, status })
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes(out, text.as_bytes());
}

fn put_option<T>(out: &mut Vec<u8>, value: Option<&T>, put: impl Fn(&mut Vec<u8>, &T)) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        put(out, value);
    }
}

fn put_map<T>(out: &mut Vec<u8>, map: &BTreeMap<String, T>, put: impl Fn(&mut Vec<u8>, &T)) {
    put_varint(out, map.len() as u64);
    for (key, value) in map {
        put_text(out, key);
        put(out, value);
    }
}

fn take_bytes<'a>(from: &mut Reader<'a>) -> Result<&'a [u8]> {
    let len = from.varint_len()?;
    from.take(len)
}

fn text(from: &mut Reader<'_>) -> Result<String> {
    let text = std::str::from_utf8(take_bytes(from)?);
    text.map(str::to_owned).map_err(|e| Error::corrupt(WHAT, "UTF-8", e))
}

fn json(from: &mut Reader<'_>) -> Result<Json> {
    Json::new(text(from)?).map_err(|e| Error::corrupt(WHAT, "JSON", e))
}

fn document(from: &mut Reader<'_>) -> Result<Document> {
    Document::new(&json(from)?).map_err(|e| Error::corrupt(WHAT, "a document", e))
}

fn option<'a, T>(
    from: &mut Reader<'a>,
    read: impl Fn(&mut Reader<'a>) -> Result<T>,
) -> Result<Option<T>> {
    match from.u8()? {
        0 => Ok(None),
        1 => read(from).map(Some),
        n => Err(Error::corrupt(WHAT, "0 or 1 before an optional value", n)),
    }
}

fn map<'a, T>(
    from: &mut Reader<'a>,
    read: impl Fn(&mut Reader<'a>) -> Result<T>,
) -> Result<BTreeMap<String, T>> {
    let mut map: BTreeMap<String, T> = BTreeMap::new();
    for _ in 0..from.varint_len()? {
        let key = text(from)?;
        if map.last_key_value().is_some_and(|(last, _)| *last >= key) {
            return Err(Error::corrupt(WHAT, "keys in order", format!("`{key}`")));
        }
        let value = read(from)?;
        map.insert(key, value);
    }
    Ok(map)
}
