//! Snapshots: a cached fold, and the pieces that its sequences stand in.

use bincode::{Decode, Encode};

use crate::chunk::ChunkList;
use crate::error::Result;
use crate::id::{ChunkId, Head};
use crate::wire;

/// A sealed run of a sequence: a chunk that holds items, or a list of pieces of the level below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Piece {
    /// The chunk.
    pub id: ChunkId,
    /// Items in it and below.
    pub items: u64,
    /// Bytes of those items.
    pub bytes: u64,
}

impl Piece {
    /// The content of a chunk that lists pieces.
    pub fn encode_list(pieces: &[Self]) -> Vec<u8> {
        wire::encode(&pieces.to_vec())
    }

    /// Reads a list of pieces.
    pub fn decode_list(bytes: &[u8]) -> Result<Vec<Self>> {
        wire::decode(bytes, "list of pieces")
    }
}

/// A fold at a point, kept so that it need not be done again. Losing one changes no answer.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Snapshot {
    /// The reducer's name.
    pub reducer: String,
    /// The reducer's version: another one's snapshots are not used.
    pub version: u32,
    /// The point.
    pub head: Head,
    /// The encoded state.
    pub state: ChunkList,
    /// Chunks that the state refers to and are not in `state`.
    pub refers: Vec<ChunkId>,
}

impl Snapshot {
    /// The stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Reads a snapshot.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        wire::decode(bytes, "snapshot")
    }
}
