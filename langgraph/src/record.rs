//! Bytes of the event of a checkpoint, and of a state.
//!
//! ```text
//! event   1, id, parent?, fresh, content, metadata, changes
//! state   1, id, parent?, content, metadata, channels
//! text    length, bytes        typed   encoding, length, bytes
//! change  1 removed  name
//!         2 version  name, from, version
//!         3 set      name, version, typed
//!         4 list     name, from, version, kept, items
//!         5 new list name, version, items
//! ```
//!
//! Lengths and counts are variable-length integers, as in `docs/FORMAT.md`.

use std::sync::Arc;

use milepost::{Error, Result};
use milepost_codec::{Reader, put_varint};

use crate::change::Change;
use crate::thread::{Channel, Content, Thread, Typed};

/// The name of the event that has the bytes.
pub(crate) const EVENT: &str = "langgraph.checkpoint";

/// The version of both forms.
const VERSION: u8 = 1;

const WHAT: &str = "a checkpoint of LangGraph";

/// The changes of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) id: Arc<str>,
    pub(crate) parent: Option<Arc<str>>,
    /// Set if the channels begin empty here, regardless of the events before it.
    pub(crate) fresh: bool,
    pub(crate) content: Typed,
    pub(crate) metadata: Typed,
    pub(crate) changes: Vec<Change>,
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_typed(out: &mut Vec<u8>, value: &Typed) {
    put(out, value.encoding.as_bytes());
    put(out, &value.bytes);
}

fn put_option(out: &mut Vec<u8>, text: Option<&str>) {
    out.push(u8::from(text.is_some()));
    if let Some(text) = text {
        put(out, text.as_bytes());
    }
}

fn put_items(out: &mut Vec<u8>, items: &[Arc<[u8]>]) {
    put_varint(out, items.len() as u64);
    for item in items {
        put(out, item);
    }
}

impl Record {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        put(&mut out, self.id.as_bytes());
        put_option(&mut out, self.parent.as_deref());
        out.push(u8::from(self.fresh));
        put_typed(&mut out, &self.content);
        put_typed(&mut out, &self.metadata);
        put_varint(&mut out, self.changes.len() as u64);
        for change in &self.changes {
            put_change(&mut out, change);
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes, WHAT);
        version(&mut from)?;
        let record = Self {
            id: text(&mut from)?,
            parent: option(&mut from)?,
            fresh: flag(&mut from)?,
            content: typed(&mut from)?,
            metadata: typed(&mut from)?,
            changes: each(&mut from, change)?,
        };
        end(&from)?;
        Ok(record)
    }
}

fn put_change(out: &mut Vec<u8>, change: &Change) {
    let (kind, texts): (u8, Vec<&str>) = match change {
        Change::Removed { name } => (1, vec![name]),
        Change::Version { name, from, version } => (2, vec![name, from, version]),
        Change::Set { name, version, .. } => (3, vec![name, version]),
        Change::List { name, from, version, .. } => (4, vec![name, from, version]),
        Change::NewList { name, version, .. } => (5, vec![name, version]),
    };
    out.push(kind);
    for text in texts {
        put(out, text.as_bytes());
    }
    match change {
        Change::Removed { .. } | Change::Version { .. } => {}
        Change::Set { value, .. } => put_typed(out, value),
        Change::List { kept, items, .. } => {
            put_varint(out, *kept as u64);
            put_items(out, items);
        }
        Change::NewList { items, .. } => put_items(out, items),
    }
}

fn change(from: &mut Reader<'_>) -> Result<Change> {
    Ok(match from.u8()? {
        1 => Change::Removed { name: text(from)? },
        2 => Change::Version { name: text(from)?, from: text(from)?, version: text(from)? },
        3 => Change::Set { name: text(from)?, version: text(from)?, value: typed(from)? },
        4 => Change::List {
            name: text(from)?,
            from: text(from)?,
            version: text(from)?,
            kept: len(from)?,
            items: each(from, item)?,
        },
        5 => Change::NewList { name: text(from)?, version: text(from)?, items: each(from, item)? },
        other => return Err(Error::corrupt(WHAT, "a change", other)),
    })
}

/// Encodes a state.
pub(crate) fn encode_thread(thread: &Thread) -> Vec<u8> {
    let mut out = vec![VERSION];
    put(&mut out, thread.id.as_bytes());
    put_option(&mut out, thread.parent.as_deref());
    put_typed(&mut out, &thread.content);
    put_typed(&mut out, &thread.metadata);
    put_varint(&mut out, thread.channels.len() as u64);
    for (name, channel) in &thread.channels {
        put(&mut out, name.as_bytes());
        put(&mut out, channel.version.as_bytes());
        match &channel.content {
            Content::Lost => out.push(0),
            Content::Whole(value) => {
                out.push(1);
                put_typed(&mut out, value);
            }
            Content::Items(items) => {
                out.push(2);
                put_items(&mut out, items);
            }
        }
    }
    out
}

/// Decodes a state.
pub(crate) fn decode_thread(bytes: &[u8]) -> Result<Thread> {
    let mut from = Reader::new(bytes, WHAT);
    version(&mut from)?;
    let thread = Thread {
        id: text(&mut from)?,
        parent: option(&mut from)?,
        content: typed(&mut from)?,
        metadata: typed(&mut from)?,
        channels: each(&mut from, channel)?.into_iter().collect(),
    };
    end(&from)?;
    Ok(thread)
}

fn channel(from: &mut Reader<'_>) -> Result<(Arc<str>, Channel)> {
    let (name, version) = (text(from)?, text(from)?);
    let content = match from.u8()? {
        0 => Content::Lost,
        1 => Content::Whole(typed(from)?),
        2 => Content::Items(each(from, item)?.into()),
        other => return Err(Error::corrupt(WHAT, "a value", other)),
    };
    Ok((name, Channel { version, content }))
}

fn version(from: &mut Reader<'_>) -> Result<()> {
    match from.u8()? {
        VERSION => Ok(()),
        other => Err(Error::corrupt(WHAT, format!("version {VERSION}"), other)),
    }
}

fn len(from: &mut Reader<'_>) -> Result<usize> {
    let number = from.varint()?;
    usize::try_from(number).map_err(|_| Error::corrupt(WHAT, "a length", number))
}

fn item(from: &mut Reader<'_>) -> Result<Arc<[u8]>> {
    let len = len(from)?;
    from.take(len).map(Arc::from)
}

fn text(from: &mut Reader<'_>) -> Result<Arc<str>> {
    let len = len(from)?;
    let text = std::str::from_utf8(from.take(len)?);
    text.map(Arc::from).map_err(|error| Error::corrupt(WHAT, "text", error))
}

fn typed(from: &mut Reader<'_>) -> Result<Typed> {
    Ok(Typed { encoding: text(from)?, bytes: item(from)? })
}

fn flag(from: &mut Reader<'_>) -> Result<bool> {
    match from.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Error::corrupt(WHAT, "0 or 1", other)),
    }
}

fn option(from: &mut Reader<'_>) -> Result<Option<Arc<str>>> {
    Ok(match flag(from)? {
        true => Some(text(from)?),
        false => None,
    })
}

fn each<T>(from: &mut Reader<'_>, read: impl Fn(&mut Reader<'_>) -> Result<T>) -> Result<Vec<T>> {
    let count = len(from)?;
    // Each has at least one byte: a wrong count allocates no more than there is.
    let mut all = Vec::with_capacity(count.min(from.rest().len()));
    for _ in 0..count {
        all.push(read(from)?);
    }
    Ok(all)
}

fn end(from: &Reader<'_>) -> Result<()> {
    match from.is_empty() {
        true => Ok(()),
        false => Err(Error::corrupt(WHAT, "its end", format!("{} more bytes", from.rest().len()))),
    }
}
