//! Blocks: sections of one log, compressed together, as sled stores them.
//!
//! ```text
//!  0  magic     "MPBK"
//!  4  version   u16
//!  6  flags     u16: 1 = zstd, 0 = uncompressed
//!  8  first     u64, the offset of the first record
//! 16  count     u32, records
//! 20  raw       u32, bytes of the sections
//! 24  prev      32 bytes, the chain hash before the first record
//! 56  check     16 bytes: BLAKE3 of the log's task (u64) and number (u32), bytes 0 to 56 and
//!               the payload, cut to 16; keyed in a keyed store
//! 72  payload   sections, section.rs
//! ```
//!
//! Numbers are little-endian. The log is part of the check but not stored: a block found under
//! another log's key fails the check.

use crate::compress::{check_keyed, pack, unpack};
use crate::error::{Error, Result};
use crate::id::{Hash, LogId, Offset};
use crate::key::StoreKey;
use crate::section::{SectionRef, Sections};
use crate::wire::{FORMAT_VERSION, Reader, check_version};

/// Target size of a block, in bytes of sections. Larger blocks compress better, but reading one
/// event decompresses the whole block.
pub const BLOCK_RAW_TARGET: usize = 64 << 10;

/// Target size of a section, in bytes of records. Sections of this size fill blocks well without a
/// cut, and one event is checked without the rest of its block.
pub const SECTION_RAW_TARGET: usize = 8 << 10;

/// The most bytes of sections in a block: one section with a single record of the largest size
/// fits.
pub const BLOCK_RAW_MAX: usize = crate::frame::FRAME_PAYLOAD_MAX;

const MAGIC: &[u8; 4] = b"MPBK";
const CHECKED_LEN: usize = 56;

/// A decompressed block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The offset of the first record.
    pub first: Offset,
    /// The number of records.
    pub count: u32,
    /// The chain hash before the first record.
    pub prev: Hash,
    /// The encoded sections.
    pub sections: Vec<u8>,
}

impl Block {
    /// Returns the stored bytes of this block of `log`.
    pub fn encode(&self, log: LogId, key: Option<&StoreKey>) -> Vec<u8> {
        let packed = pack(&self.sections);
        let payload = packed.as_deref().unwrap_or(&self.sections);
        let mut out = Vec::with_capacity(CHECKED_LEN + 16 + payload.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&u16::from(packed.is_some()).to_le_bytes());
        out.extend_from_slice(&self.first.to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&(self.sections.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.prev.0);
        let sum = check_keyed(key, &[&place(log), &out, payload]);
        out.extend_from_slice(&sum);
        out.extend_from_slice(payload);
        out
    }

    /// Decodes and checks a block of `log`.
    pub fn decode(log: LogId, bytes: &[u8], key: Option<&StoreKey>) -> Result<Self> {
        Self::read(log, bytes, key).map_err(|e| e.at(log))
    }

    fn read(log: LogId, bytes: &[u8], key: Option<&StoreKey>) -> Result<Self> {
        let mut reader = Reader::new(bytes, "block");
        let mut checked = Reader::new(reader.take(CHECKED_LEN)?, "block");
        let expected = reader.array::<16>()?;
        let payload = reader.rest();
        if checked.rest().get(..4) != Some(MAGIC) {
            return Err(Error::corrupt("block", "its magic", "other bytes"));
        }
        if check_keyed(key, &[&place(log), checked.rest(), payload]) != expected {
            return Err(Error::corrupt("block", "bytes that match its check", "others"));
        }
        checked.take(4)?;
        check_version("block", checked.u16()?)?;
        let flags = checked.u16()?;
        let (first, count, raw_len) = (checked.u64()?, checked.u32()?, checked.u32()? as usize);
        let prev = Hash(checked.array()?);
        if raw_len > BLOCK_RAW_MAX
            || count as usize > raw_len
            || first.checked_add(u64::from(count)).is_none()
        {
            return Err(Error::corrupt("block", "a length and offsets that fit", raw_len));
        }
        let sections = match flags {
            0 if payload.len() == raw_len => payload.to_vec(),
            0 => {
                return Err(Error::corrupt("block", format!("{raw_len} bytes"), payload.len()));
            }
            1 => unpack(payload, raw_len, "block")?,
            _ => return Err(Error::corrupt("block", "known flags", flags)),
        };
        Ok(Self { first, count, prev, sections })
    }

    /// Returns the offset after the last record.
    pub fn end(&self) -> Offset {
        self.first + u64::from(self.count)
    }
}

fn place(log: LogId) -> [u8; 12] {
    let mut out = [0; 12];
    let (task, number) = out.split_at_mut(8);
    task.copy_from_slice(&log.task.0.to_le_bytes());
    number.copy_from_slice(&log.kind.number().to_le_bytes());
    out
}

/// Fills blocks of about [`BLOCK_RAW_TARGET`] bytes with sections of one log. It never cuts a
/// section; the caller keeps sections at [`SECTION_RAW_TARGET`].
#[derive(Debug)]
pub struct BlockBuilder {
    block: Block,
    finished: Vec<Block>,
}

impl BlockBuilder {
    /// Continues a block that is not full.
    pub fn new(block: Block) -> Self {
        Self { block, finished: Vec::new() }
    }

    /// Starts an empty block at `first`, where the chain hash is `prev`.
    pub fn at(first: Offset, prev: Hash) -> Self {
        Self::new(Block { first, count: 0, prev, sections: Vec::new() })
    }

    /// Appends a section; `before` is the chain hash before its first record.
    pub fn push(&mut self, section: &SectionRef<'_>, before: Hash) {
        let filled = self.block.sections.len() + section.records.len();
        if filled > BLOCK_RAW_TARGET && self.block.count > 0 {
            let first = self.block.end();
            let next = Block { first, count: 0, prev: before, sections: Vec::new() };
            self.finished.push(std::mem::replace(&mut self.block, next));
        }
        section.encode(&mut self.block.sections);
        self.block.count += section.count;
    }

    /// Returns the blocks in order. The last one may be partly filled.
    pub fn finish(mut self) -> Vec<Block> {
        if self.block.count > 0 {
            self.finished.push(self.block);
        }
        self.finished
    }
}

impl Block {
    /// Returns an iterator over the sections.
    pub fn sections(&self) -> Sections<'_> {
        Sections::new(&self.sections)
    }
}
