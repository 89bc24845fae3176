//! The header of an event. It remains when the body is erased.

use bincode::{Decode, Encode};

use crate::error::Result;
use crate::wire;

/// Metadata of an event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Header {
    /// The number of the body's kind.
    pub kind: u16,
    /// The time in microseconds since the Unix epoch. Offsets define the order, not times.
    pub time_us: u64,
    /// The actor that caused the event; absent for the program itself.
    pub actor: Option<String>,
    /// The user that the actor worked for; absent for the task's owner.
    pub user: Option<String>,
    /// An id that links the event to work in other systems.
    pub correlation: Option<String>,
    /// The idempotency key of the append, on its first event.
    pub key: Option<String>,
    /// With a key: the number of events in the append.
    pub batch: u32,
}

impl Header {
    /// Returns the stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Appends the stored bytes to `out`.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        wire::encode_into(self, out);
    }

    /// Decodes a header. Bytes after the known fields belong to a newer version and are skipped;
    /// they remain in the record and in its hash.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        wire::decode_prefix(bytes, "event header").map(|(header, _)| header)
    }
}
