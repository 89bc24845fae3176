//! Snapshots: a cached fold, and the pieces of its sequences.

use bincode::{Decode, Encode};

use crate::chunk::ChunkList;
use crate::error::Result;
use crate::id::{ChunkId, Head, Offset};
use crate::wire;

/// A sealed part of a sequence: a chunk of items, or of a list of pieces of the level below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Piece {
    /// The chunk.
    pub id: ChunkId,
    /// Number of items in the piece and the levels below.
    pub items: u64,
    /// Size of those items, in bytes.
    pub bytes: u64,
}

impl Piece {
    /// Returns the content of a chunk that lists pieces.
    pub fn encode_list(pieces: &[Self]) -> Vec<u8> {
        wire::encode(&pieces.to_vec())
    }

    /// Decodes a list of pieces.
    pub fn decode_list(bytes: &[u8]) -> Result<Vec<Self>> {
        wire::decode(bytes, "list of pieces")
    }
}

/// The events of a lineage from which a piece of a run's state is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct PieceSource {
    /// `true` for a piece of the guidance, `false` for one of the messages.
    pub guidance: bool,
    /// The offset of the first event.
    pub first: Offset,
    /// The offset of the last event.
    pub last: Offset,
}

impl PieceSource {
    /// Returns the stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Decodes a source.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        wire::decode(bytes, "source of a piece")
    }
}

/// A cached fold at a point. Losing a snapshot changes no answer.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Snapshot {
    /// The reducer's name.
    pub reducer: String,
    /// The reducer's version. Another version does not use the snapshot.
    pub version: u32,
    /// The point.
    pub head: Head,
    /// The encoded state.
    pub state: ChunkList,
    /// Chunks that the state refers to and that are not in `state`.
    pub refers: Vec<ChunkId>,
}

impl Snapshot {
    /// Returns the stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Decodes a snapshot.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        wire::decode(bytes, "snapshot")
    }
}
