//! Chunks: content-addressed pieces of large bodies, snapshots and files, as stored in packs.
//!
//! ```text
//!  0  magic     "MPCK"
//!  4  flags     u16: 1 = zstd; 2 = the content is a list of pieces, snapshot.rs
//!  6  zero      u16
//!  8  raw       u32, bytes of the content
//! 12  stored    u32, bytes of the payload
//! 16  id        32 bytes, BLAKE3 of the content
//! 48  check     16 bytes: BLAKE3 of bytes 0 to 48 and the payload, cut to 16
//! 64  payload
//! ```
//!
//! Numbers are little-endian. The check detects a torn entry without decompressing it.

use std::ops::Range;

use bincode::{Decode, Encode};
use serde::{Deserialize, Serialize};

use crate::compress::{check, pack, unpack};
use crate::error::{Error, Result};
use crate::id::ChunkId;
use crate::wire::{self, Reader};

/// The most bytes of content in one chunk.
pub const CHUNK_RAW_MAX: usize = 1 << 20;

const MAGIC: &[u8; 4] = b"MPCK";
const CHECKED_LEN: usize = 48;
const FLAG_PACKED: u16 = 1;
const FLAG_PIECES: u16 = 2;

/// Header of a chunk in a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkEntry {
    packed: bool,
    /// Set if the content is a list of pieces, which refer to other chunks.
    pub pieces: bool,
    raw_len: u32,
    stored_len: u32,
    /// The id of the content.
    pub id: ChunkId,
    check: [u8; 16],
}

impl ChunkEntry {
    /// The first bytes of an entry.
    pub const MAGIC: &[u8] = MAGIC;

    /// Length of the header, in bytes.
    pub const HEADER_LEN: usize = 64;

    /// Returns the id of a content.
    pub fn id_of(content: &[u8]) -> ChunkId {
        ChunkId(*blake3::hash(content).as_bytes())
    }

    /// Appends a chunk to `out`. Fails with `Invalid` if the content is over [`CHUNK_RAW_MAX`].
    pub fn encode(content: &[u8], pieces: bool, out: &mut Vec<u8>) -> Result<ChunkId> {
        if content.len() > CHUNK_RAW_MAX {
            return Err(Error::invalid(format!(
                "a chunk has at most {CHUNK_RAW_MAX} bytes, not {}",
                content.len()
            )));
        }
        let id = Self::id_of(content);
        let packed = pack(content);
        let payload = packed.as_deref().unwrap_or(content);
        let flags = (if packed.is_some() { FLAG_PACKED } else { 0 })
            | (if pieces { FLAG_PIECES } else { 0 });
        let start = out.len();
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&0_u16.to_le_bytes());
        out.extend_from_slice(&(content.len() as u32).to_le_bytes());
        out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        out.extend_from_slice(&id.0);
        let sum = check(&[out.split_at(start).1, payload]);
        out.extend_from_slice(&sum);
        out.extend_from_slice(payload);
        Ok(id)
    }

    /// Decodes a header, before the payload is read.
    pub fn decode_header(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes, "chunk");
        if reader.array::<4>()? != *MAGIC {
            return Err(Error::corrupt("chunk", "its magic", "other bytes"));
        }
        let (flags, _zero, raw_len, stored_len) =
            (reader.u16()?, reader.u16()?, reader.u32()?, reader.u32()?);
        if flags > 3
            || raw_len as usize > CHUNK_RAW_MAX
            || stored_len > raw_len
            || (flags & FLAG_PACKED == 0 && stored_len != raw_len)
        {
            let found = format!("{stored_len} bytes for {raw_len}");
            return Err(Error::corrupt("chunk", "lengths that fit", found));
        }
        Ok(Self {
            packed: flags & FLAG_PACKED != 0,
            pieces: flags & FLAG_PIECES != 0,
            raw_len,
            stored_len,
            id: ChunkId(reader.array()?),
            check: reader.array()?,
        })
    }

    /// Returns the length of the payload after the header, in bytes.
    pub fn stored_len(&self) -> usize {
        self.stored_len as usize
    }

    /// Returns `true` if `entry`, a header and its payload, is complete and undamaged.
    pub fn is_intact(&self, entry: &[u8]) -> bool {
        let (header, payload) = entry.split_at_checked(Self::HEADER_LEN).unwrap_or_default();
        let checked = header.get(..CHECKED_LEN).unwrap_or_default();
        payload.len() == self.stored_len() && check(&[checked, payload]) == self.check
    }

    /// Returns the header and the content, checked against its id. `entry` is header and payload.
    pub fn decode(entry: &[u8]) -> Result<(Self, Vec<u8>)> {
        let header = Self::decode_header(entry)?;
        let damaged = |expected: &str| {
            Error::corrupt(format!("chunk {}", header.id), expected, "other bytes")
        };
        if !header.is_intact(entry) {
            return Err(damaged("bytes that match its check"));
        }
        let payload = entry.split_at_checked(Self::HEADER_LEN).unwrap_or_default().1;
        let content = match header.packed {
            true => unpack(payload, header.raw_len as usize, "chunk")?,
            false => payload.to_vec(),
        };
        if Self::id_of(&content) != header.id {
            return Err(damaged("content that matches its id"));
        }
        Ok((header, content))
    }
}

/// The chunks of a content that is longer than one chunk, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct ChunkList {
    /// Length of the content, in bytes.
    pub len: u64,
    /// The ids of the chunks.
    pub chunks: Vec<ChunkId>,
}

impl ChunkList {
    /// Returns the stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Decodes a list.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        wire::decode(bytes, "chunk list")
    }
}

/// The payload of a chunked record: a body's payload whose middle is in chunks.
///
/// Bodies that carry the same text with another id each have different ends, and their middles are
/// stored once. The ends of a body that is chunked for its length are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct ChunkedBody {
    /// The beginning of the body's payload.
    pub before: Vec<u8>,
    /// The middle, in chunks.
    pub content: ChunkList,
    /// The end of the body's payload.
    pub after: Vec<u8>,
}

impl ChunkedBody {
    /// Makes the record's payload of a body's payload and the chunks of its middle.
    ///
    /// # Panics
    ///
    /// If the middle is not a part of the payload.
    pub fn of(payload: &[u8], middle: &Range<usize>, chunks: Vec<ChunkId>) -> Self {
        let (rest, after) = payload.split_at(middle.end);
        let before = rest.split_at(middle.start).0.to_vec();
        let content = ChunkList { len: middle.len() as u64, chunks };
        Self { before, content, after: after.to_vec() }
    }

    /// Returns the stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Decodes the payload of a chunked record.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        wire::decode(bytes, "chunked body")
    }

    /// Returns the length of the body's payload, in bytes.
    pub fn payload_len(&self) -> u64 {
        let ends = self.before.len().saturating_add(self.after.len()) as u64;
        self.content.len.saturating_add(ends)
    }
}
