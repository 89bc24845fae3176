//! Bases: the durable beginning of a trimmed lineage. A base is truth, kept like events.

use bincode::{Decode, Encode};

use crate::chunk::ChunkList;
use crate::error::Result;
use crate::id::{ChunkId, Hash, Head, LineageId, Offset, Origin};
use crate::wire;

/// The state of one reducer at a base.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ReducerState {
    /// The reducer's name.
    pub reducer: String,
    /// The reducer's version.
    pub version: u32,
    /// The encoded state.
    pub state: ChunkList,
    /// Chunks that the state refers to and are not in `state`.
    pub refers: Vec<ChunkId>,
}

/// An idempotency key whose append was trimmed away (promise I14).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct BaseKey {
    /// The key.
    pub key: String,
    /// The first offset of the append.
    pub first: Offset,
    /// How many events it had.
    pub count: u32,
    /// A fresh salt, and
    pub salt: [u8; 16],
    /// BLAKE3 over the salt and the append's bodies, to compare another append with.
    pub digest: Hash,
}

/// What stands for the events before a trimmed lineage's first offset.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Base {
    /// The origin of the history.
    pub origin: Origin,
    /// The lineage.
    pub lineage: LineageId,
    /// The trim offset and the chain hash there.
    pub head: Head,
    /// The state of each registered reducer there.
    pub states: Vec<ReducerState>,
    /// The keys of appends before it: a content of encoded [`BaseKey`]s.
    pub keys: ChunkList,
}

impl Base {
    /// The stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Reads a base.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        wire::decode(bytes, "base")
    }
}

impl BaseKey {
    /// The stored bytes of several.
    pub fn encode_list(keys: &[Self]) -> Vec<u8> {
        wire::encode(&keys.to_vec())
    }

    /// Reads several.
    pub fn decode_list(bytes: &[u8]) -> Result<Vec<Self>> {
        wire::decode(bytes, "list of keys")
    }
}
