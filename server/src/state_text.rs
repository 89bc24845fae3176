//! A state as JSON text, written while it is read, so that its long lists need not be in memory.

use std::collections::VecDeque;
use std::io;
use std::str::FromStr;
use std::sync::Arc;

use milepost::calls::Cancel;
use milepost::state::Chunks;
use milepost::{ErrorKind, Json};

use crate::buffer::Buffer;
use crate::error::ApiError;
use crate::folds::Folded;
use crate::forms::{CheckpointForm, PointForm};
use crate::stream_body::{BUFFER, Source};

/// Pieces of guidance that are shown if the messages are limited.
const GUIDANCE_SHOWN: u64 = 100;

/// A part of a state, as a JSON pointer (RFC 6901).
#[derive(Debug)]
pub(crate) struct Pointer(String);

impl FromStr for Pointer {
    type Err = ApiError;

    fn from_str(text: &str) -> Result<Self, ApiError> {
        let escaped = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
        match (text.is_empty() || text.starts_with('/')) && escaped {
            true => Ok(Self(text.to_owned())),
            false => Err(ApiError::Invalid(format!(
                "`{text}` is no JSON pointer: each step begins with `/`, where `~` is `~0` and `/` \
                 is `~1`"
            ))),
        }
    }
}

/// The part of a state to write.
enum Place<'a> {
    Whole,
    List(List),
    /// An item of a list, by index.
    Item(List, u64),
    Other(&'a str),
}

impl Pointer {
    fn place(&self) -> Place<'_> {
        let Some(steps) = self.0.strip_prefix('/') else {
            return Place::Whole;
        };
        let (field, below) = steps.split_at(steps.find('/').unwrap_or(steps.len()));
        let list = match field {
            "guidance" => List::Guidance,
            "messages" => List::Messages,
            _ => return Place::Other(&self.0),
        };
        let Some(below) = below.strip_prefix('/') else {
            return Place::List(list);
        };
        if below.contains('/') {
            return Place::Other(&self.0);
        }
        let plain = below == "0" || !below.starts_with(['0', '+']);
        // An invalid index refers to an item that never exists.
        let index = below.parse().ok().filter(|_| plain);
        Place::Item(list, index.unwrap_or(u64::MAX))
    }
}

#[derive(Debug, Clone, Copy)]
enum List {
    Guidance,
    Messages,
}

impl List {
    fn name(self) -> &'static str {
        match self {
            Self::Guidance => "guidance",
            Self::Messages => "messages",
        }
    }
}

#[derive(Debug)]
enum Part {
    /// A text, and the number of bytes written.
    Text(String, usize),
    /// Items of a list: the first one to write, and the next.
    Items { list: List, first: u64, from: u64 },
}

/// A state, or a part of one, as a source of buffers.
#[derive(Debug)]
pub(crate) struct StateText {
    parts: VecDeque<Part>,
    /// The items of the last buffer, which has nothing else.
    last: Option<Part>,
    state: Arc<Folded>,
    chunks: Chunked,
    cancel: Cancel,
}

struct Chunked(Arc<dyn Chunks>);

impl std::fmt::Debug for Chunked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Chunked")
    }
}

impl StateText {
    fn new(state: Arc<Folded>, chunks: Arc<dyn Chunks>) -> Self {
        let (parts, chunks) = (VecDeque::new(), Chunked(chunks));
        Self { parts, last: None, state, chunks, cancel: Cancel::NEVER }
    }

    /// Sets the flag that ends the reads.
    pub(crate) fn cancelled_by(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// Creates the text of a state or of a part; `NotFound` if the part does not exist.
    pub(crate) fn of(
        point: &PointForm,
        state: Arc<Folded>,
        pointer: Option<&Pointer>,
        chunks: Arc<dyn Chunks>,
    ) -> Result<Self, ApiError> {
        let mut text = Self::new(state, chunks);
        let point = serde_json::to_string(point).map_err(|_| ApiError::Bug)?;
        text.push(format!("{{\"point\":{point},"));
        let Some(pointer) = pointer else {
            text.push("\"state\":".into());
            text.whole()?;
            text.push("}".into());
            return Ok(text);
        };
        let shown = Json::string(&pointer.0);
        text.push(format!("\"pointer\":{shown},\"value\":"));
        match pointer.place() {
            Place::Whole => text.whole()?,
            Place::List(list) => text.list(list, u64::MAX),
            Place::Item(list, index) => {
                let mut item = Vec::new();
                if text.items(list, index, 1, &mut item)? == 0 {
                    return Err(nothing(pointer));
                }
                text.push(String::from_utf8(item).map_err(|_| ApiError::Bug)?);
            }
            Place::Other(place) => {
                let value = text.state.text_at(place, text.chunks.0.as_ref());
                let value = value.map_err(too_large)?;
                text.push(value.ok_or_else(|| nothing(pointer))?);
            }
        }
        text.push("}".into());
        Ok(text)
    }

    /// Creates the text of a state with its last messages and pieces of guidance only.
    pub(crate) fn with_last(
        point: &PointForm,
        state: Arc<Folded>,
        count: u64,
        chunks: Arc<dyn Chunks>,
    ) -> Result<Self, ApiError> {
        let point = serde_json::to_string(point).map_err(|_| ApiError::Bug)?;
        Self::after(format!("{{\"point\":{point}"), state, Some(count), chunks)
    }

    /// Creates the text of a checkpoint and its state, with all messages or the last ones.
    pub(crate) fn of_checkpoint(
        (checkpoint, point): (&CheckpointForm, &PointForm),
        state: Arc<Folded>,
        messages: Option<u64>,
        chunks: Arc<dyn Chunks>,
    ) -> Result<Self, ApiError> {
        let checkpoint = serde_json::to_string(checkpoint).map_err(|_| ApiError::Bug)?;
        let point = serde_json::to_string(point).map_err(|_| ApiError::Bug)?;
        let begin = format!("{{\"checkpoint\":{checkpoint},\"point\":{point}");
        Self::after(begin, state, messages, chunks)
    }

    /// Creates the text of an object that begins so and ends with a state.
    fn after(
        begin: String,
        state: Arc<Folded>,
        messages: Option<u64>,
        chunks: Arc<dyn Chunks>,
    ) -> Result<Self, ApiError> {
        let mut text = Self::new(state, chunks);
        text.push(begin);
        text.push(",\"state\":".into());
        match messages {
            Some(count) => text.whole_with(GUIDANCE_SHOWN, count)?,
            None => text.whole()?,
        }
        text.push("}".into());
        Ok(text)
    }

    fn push(&mut self, text: String) {
        self.parts.push_back(Part::Text(text, 0));
    }

    fn list(&mut self, list: List, last: u64) {
        let len = match list {
            List::Guidance => self.state.guidance.len(),
            List::Messages => self.state.messages.len(),
        };
        let first = len.saturating_sub(last);
        self.push("[".into());
        self.parts.push_back(Part::Items { list, first, from: first });
        self.push("]".into());
    }

    fn whole(&mut self) -> Result<(), ApiError> {
        self.whole_with(u64::MAX, u64::MAX)
    }

    /// Writes the whole state, with limits for the two long lists.
    fn whole_with(&mut self, guidance: u64, messages: u64) -> Result<(), ApiError> {
        // All fields except the long lists.
        let plain = self.state.text(self.chunks.0.as_ref(), None);
        let mut plain = plain.map_err(too_large)?;
        plain.pop();
        self.push(plain);
        for (list, last) in [(List::Guidance, guidance), (List::Messages, messages)] {
            self.push(format!(",\"{}\":", list.name()));
            self.list(list, last);
        }
        self.push("}".into());
        Ok(())
    }

    /// Appends up to `most` items of a list, separated by commas, until the buffer is full. Returns
    /// their number.
    fn items(&self, list: List, from: u64, most: usize, to: &mut Vec<u8>) -> Result<u64, ApiError> {
        let chunks = self.chunks.0.as_ref();
        match list {
            List::Guidance => {
                let items = self.state.guidance.iter_from(from, chunks);
                written(items, most, to, |guidance, to| guidance.write_json(to))
            }
            List::Messages => {
                let items = self.state.messages.iter_from(from, chunks);
                written(items, most, to, |entry, to| entry.write_json(to))
            }
        }
    }
}

/// Appends up to `most` items, separated by commas, until the buffer is full. Returns their number.
fn written<T>(
    items: impl Iterator<Item = milepost::Result<T>>,
    most: usize,
    to: &mut Vec<u8>,
    write: fn(T, Buffer<'_>) -> io::Result<()>,
) -> Result<u64, ApiError> {
    let (begin, mut count) = (to.len(), 0);
    for item in items.take(most) {
        if count > 0 {
            to.push(b',');
        }
        write(item?, Buffer::new(to)).map_err(|_| ApiError::Bug)?;
        count += 1;
        if to.len() - begin >= BUFFER {
            break;
        }
    }
    Ok(count)
}

impl Source for StateText {
    fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        let mut buffer = Vec::new();
        self.last = None;
        while buffer.len() < BUFFER {
            match self.parts.pop_front() {
                None if buffer.is_empty() => return Ok(None),
                None => break,
                Some(Part::Text(text, from)) => {
                    let (_, left) = text.as_bytes().split_at(from);
                    let (now, later) = left.split_at(left.len().min(BUFFER));
                    buffer.extend_from_slice(now);
                    if !later.is_empty() {
                        let from = from + now.len();
                        self.parts.push_front(Part::Text(text, from));
                    }
                }
                // Items get a buffer of their own, so that they can be read again.
                Some(items @ Part::Items { .. }) if !buffer.is_empty() => {
                    self.parts.push_front(items);
                    break;
                }
                Some(Part::Items { list, first, from }) => {
                    if from > first {
                        buffer.push(b',');
                    }
                    let count = self.items(list, from, usize::MAX, &mut buffer)?;
                    if count == 0 {
                        buffer.clear();
                        continue;
                    }
                    let next = from.saturating_add(count);
                    let behind = Part::Items { list, first, from: next };
                    self.parts.push_front(behind);
                    self.last = Some(Part::Items { list, first, from });
                    break;
                }
            }
        }
        Ok(Some(buffer))
    }

    fn again(&mut self) -> bool {
        let Some(items) = self.last.take() else {
            return false;
        };
        self.parts.pop_front();
        self.parts.push_front(items);
        true
    }
}

/// Converts the error of a part that is too large to be answered.
fn too_large(error: milepost::Error) -> ApiError {
    match error.kind() {
        ErrorKind::Invalid => ApiError::TooMuch(
            "the state has a part that is too large to be answered whole: ask for what is in it, \
             `?pointer=` by `?pointer=`",
        ),
        _ => error.into(),
    }
}

fn nothing(pointer: &Pointer) -> ApiError {
    ApiError::NotFound(format!("the state has nothing at `{}`", pointer.0))
}
