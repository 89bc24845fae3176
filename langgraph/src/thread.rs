//! The state of a thread: its channels and their values.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::items::joined;

/// Bytes of LangGraph's serializer, and the name of their encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    /// The encoding, such as `msgpack`.
    pub encoding: Arc<str>,
    /// The bytes.
    pub bytes: Arc<[u8]>,
}

impl Typed {
    /// Creates a value.
    pub fn new(encoding: &str, bytes: &[u8]) -> Self {
        Self { encoding: encoding.into(), bytes: bytes.into() }
    }

    /// Returns what LangGraph's serializer gives for a value of MessagePack: nothing and bytes have
    /// encodings of their own.
    ///
    /// ```
    /// use milepost_langgraph::Typed;
    ///
    /// assert_eq!(Typed::of_packed(&[0xc0]), Typed::new("null", &[]));
    /// assert_eq!(Typed::of_packed(&[0xc4, 1, 255]), Typed::new("bytes", &[255]));
    /// assert_eq!(Typed::of_packed(&[0x07]), Typed::new("msgpack", &[0x07]));
    /// ```
    pub fn of_packed(bytes: &[u8]) -> Self {
        match bytes {
            [0xc0] => Self::default(),
            [0xc4, _, raw @ ..] | [0xc5, _, _, raw @ ..] | [0xc6, _, _, _, _, raw @ ..] => {
                Self::new("bytes", raw)
            }
            _ => Self::new("msgpack", bytes),
        }
    }
}

impl Default for Typed {
    fn default() -> Self {
        Self::new("null", &[])
    }
}

/// A channel: the version that LangGraph gave it, as JSON, and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// The version.
    pub version: Arc<str>,
    /// The value.
    pub content: Content,
}

/// The value of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// As a whole.
    Whole(Typed),
    /// The items of a list in MessagePack. States of consecutive checkpoints share them.
    Items(Arc<Vec<Arc<[u8]>>>),
    /// Unknown: an event that it depends on was erased.
    Lost,
}

/// A value that an erasure removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost;

/// The state of a thread at a checkpoint. A copy shares the bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thread {
    /// The id of the last checkpoint; empty before the first.
    pub id: Arc<str>,
    /// The id of its parent.
    pub parent: Option<Arc<str>>,
    /// The checkpoint without the values of its channels.
    pub content: Typed,
    /// The metadata.
    pub metadata: Typed,
    /// The channels that have a value.
    pub channels: BTreeMap<Arc<str>, Channel>,
}

impl Thread {
    /// Returns the value of a channel; `None` if it has none.
    pub fn value(&self, channel: &str) -> Option<Result<Typed, Lost>> {
        self.channels.get(channel).map(|channel| channel.content.typed())
    }
}

impl Content {
    /// Returns the value as a whole.
    ///
    /// # Errors
    ///
    /// [`Lost`]: an event that it depends on was erased.
    pub fn typed(&self) -> Result<Typed, Lost> {
        match self {
            Self::Whole(value) => Ok(value.clone()),
            Self::Items(items) => Ok(Typed::new("msgpack", &joined(items))),
            Self::Lost => Err(Lost),
        }
    }
}
