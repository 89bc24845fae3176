//! The header of an event: what stays when its body is erased.

use bincode::{Decode, Encode};

use crate::error::Result;
use crate::wire;

/// What every event carries beside its body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Header {
    /// The number of the body's kind.
    pub kind: u16,
    /// When, in microseconds since the Unix epoch. Order comes from offsets, never from this.
    pub time_us: u64,
    /// Who or what did it; absent for the program itself.
    pub actor: Option<String>,
    /// The user it was done for; absent for the task's owner.
    pub user: Option<String>,
    /// What ties it to work elsewhere.
    pub correlation: Option<String>,
    /// The idempotency key of the append, on its first event.
    pub key: Option<String>,
    /// With a key: how many events the append had.
    pub batch: u32,
}

impl Header {
    /// The stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Puts the stored bytes behind `out`.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        wire::encode_into(self, out);
    }

    /// Reads a header. Bytes after the fields known here belong to a newer version and are
    /// skipped; they stay in the record and in its hash.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        wire::decode_prefix(bytes, "event header").map(|(header, _)| header)
    }
}
