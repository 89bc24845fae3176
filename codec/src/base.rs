//! Bases: the durable beginning of a trimmed lineage. A base is durable data, not a cache.

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
    /// Chunks that the state refers to and that are not in `state`.
    pub refers: Vec<ChunkId>,
}

/// An idempotency key whose append was trimmed away (promise I14).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct BaseKey {
    /// The key.
    pub key: String,
    /// The first offset of the append.
    pub first: Offset,
    /// Number of events in the append.
    pub count: u32,
    /// Fresh salt of `digest`.
    pub salt: [u8; 16],
    /// BLAKE3 of the salt and the append's bodies, to compare a repeated append with.
    pub digest: Hash,
}

/// Replacement for the events before a trimmed lineage's first offset.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Base {
    /// The origin of the history.
    pub origin: Origin,
    /// The lineage.
    pub lineage: LineageId,
    /// The trim offset and the chain hash there.
    pub head: Head,
    /// The state of each registered reducer at the head.
    pub states: Vec<ReducerState>,
    /// Idempotency keys of the appends before the head: the content of encoded [`BaseKey`]s.
    pub keys: ChunkList,
}

impl Base {
    /// Returns the stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Decodes a base.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        wire::decode(bytes, "base")
    }
}

impl BaseKey {
    /// Encodes a list of keys.
    pub fn encode_list(keys: &[Self]) -> Vec<u8> {
        wire::encode(&keys.to_vec())
    }

    /// Decodes a list of keys.
    pub fn decode_list(bytes: &[u8]) -> Result<Vec<Self>> {
        wire::decode(bytes, "list of keys")
    }
}
