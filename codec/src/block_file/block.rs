//! The frame of a block: header, table and payload under one hash.
//!
//! ```text
//!  0  magic       "MPBL"
//!  4  version     u16
//!  6  flags       u16: 1 = zstd, 4 = to be packed again, 8 = rewritten
//!  8  raw         u32, bytes of the payload, unpacked
//! 12  stored      u32, bytes of the payload
//! 16  table       u32, bytes of the table
//! 20  parts       u16, 1 to 4096
//! 22  dictionary  u16, zero
//! 24  epoch       u64, of the file
//! 32  hash        32 bytes: BLAKE3 of bytes 0 to 32, the table and the payload; keyed in a keyed
//!                 store
//! 64  table, payload
//! ```
//!
//! Numbers are little-endian.

use crate::compress::{hash_keyed, pack_at, unpack};
use crate::error::{Error, Result};
use crate::frame::FRAME_PAYLOAD_MAX;
use crate::id::Hash;
use crate::key::StoreKey;
use crate::wire::{FORMAT_VERSION, Reader, check_version};

const MAGIC: &[u8; 4] = b"MPBL";
const HASHED_LEN: usize = 32;
const PACKED: u16 = 1;
const HASTY: u16 = 4;
const REWRITTEN: u16 = 8;
const KNOWN: u16 = PACKED | HASTY | REWRITTEN;

/// The most parts of a block.
pub(super) const PARTS_MAX: usize = 4096;

/// The fewest and the most bytes of a part in a table.
const PART_MIN: usize = 34;
const PART_MAX: usize = 80;

/// Form of the payload of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Compressed by zstd at a level, unless less than a sixteenth is saved.
    Level(i32),
    /// Unpacked, because the disk is behind; it is to be packed later.
    Later,
}

/// Properties of a block that are not in its parts.
#[derive(Debug, Clone, Copy)]
pub struct Sealing<'a> {
    /// Form of the payload.
    pub packing: Packing,
    /// Set if withdrawn content was left out.
    pub rewritten: bool,
    /// The epoch of the file.
    pub epoch: u64,
    /// The key of a keyed store.
    pub key: Option<&'a StoreKey>,
}

/// The header of a block, which is read before the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHeader {
    version: u16,
    flags: u16,
    raw_len: u32,
    stored_len: u32,
    table_len: u32,
    parts: u16,
    /// The epoch of the file.
    pub epoch: u64,
    /// The hash of the block.
    pub hash: Hash,
}

impl BlockHeader {
    /// The first bytes of a block.
    pub const MAGIC: &[u8] = MAGIC;

    /// Length of the header, in bytes.
    pub const LEN: usize = 64;

    /// Decodes a header. The version is compared after the hash, which covers it: a changed byte
    /// must not look like another version.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the bytes are not a header, or claim more than a block may have.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes, "block");
        if reader.array::<4>()? != *MAGIC {
            return Err(reader.corrupt("its magic", "other bytes"));
        }
        let (version, flags) = (reader.u16()?, reader.u16()?);
        let (raw_len, stored_len, table_len) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let (parts, dictionary) = (reader.u16()?, reader.u16()?);
        let (epoch, hash) = (reader.u64()?, Hash(reader.array()?));
        let header = Self { version, flags, raw_len, stored_len, table_len, parts, epoch, hash };
        if flags & !KNOWN != 0 || dictionary != 0 {
            return Err(reader.corrupt("known flags", format!("{flags}, {dictionary}")));
        }
        let count = usize::from(parts);
        if !(1..=PARTS_MAX).contains(&count)
            || !(count * PART_MIN..=count * PART_MAX).contains(&(table_len as usize))
            || raw_len as usize > FRAME_PAYLOAD_MAX
            || stored_len > raw_len
            || (flags & PACKED == 0 && stored_len != raw_len)
        {
            let found = format!("{parts} parts of {raw_len} bytes in {table_len} and {stored_len}");
            return Err(reader.corrupt("lengths that fit", found));
        }
        Ok(header)
    }

    /// Returns `true` if the block was written as it is, to be packed later.
    pub fn is_to_be_packed(&self) -> bool {
        self.flags & HASTY != 0
    }

    /// Returns `true` if withdrawn content was left out.
    pub fn is_rewritten(&self) -> bool {
        self.flags & REWRITTEN != 0
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        usize::from(self.parts)
    }

    /// Returns the length of the payload, unpacked, in bytes.
    pub fn raw_len(&self) -> usize {
        self.raw_len as usize
    }

    /// Returns the length of the whole block, in bytes.
    pub fn block_len(&self) -> usize {
        Self::LEN + self.table_len as usize + self.stored_len as usize
    }

    /// Returns `true` if `block`, all of its bytes, is complete and undamaged.
    pub fn is_intact(&self, block: &[u8], key: Option<&StoreKey>) -> bool {
        let (header, rest) = block.split_at_checked(Self::LEN).unwrap_or_default();
        let hashed = header.get(..HASHED_LEN).unwrap_or_default();
        block.len() == self.block_len() && hash_keyed(key, &[hashed, rest]) == self.hash.0
    }
}

/// A block whose hash was compared: its table, and its payload unpacked.
pub(super) struct Opened<'a> {
    pub(super) table: Reader<'a>,
    pub(super) parts: usize,
    pub(super) raw: Vec<u8>,
}

/// Checks and unpacks a block.
pub(super) fn open<'a>(block: &'a [u8], key: Option<&StoreKey>) -> Result<Opened<'a>> {
    let header = BlockHeader::decode(block)?;
    if !header.is_intact(block, key) {
        return Err(Error::corrupt("block", "bytes that match its hash", "others"));
    }
    check_version("block", header.version)?;
    let rest = block.split_at_checked(BlockHeader::LEN).unwrap_or_default().1;
    let table_len = header.table_len as usize;
    let (table, payload) = rest.split_at_checked(table_len).unwrap_or_default();
    let raw = match header.flags & PACKED {
        0 => payload.to_vec(),
        _ => unpack(payload, header.raw_len as usize, "block")?,
    };
    Ok(Opened { table: Reader::new(table, "table of a block"), parts: header.parts(), raw })
}

/// Appends a block to `out`. Returns its hash.
pub(super) fn seal(
    parts: usize,
    table: &[u8],
    raw: &[u8],
    of: &Sealing<'_>,
    out: &mut Vec<u8>,
) -> Result<Hash> {
    if !(1..=PARTS_MAX).contains(&parts) || raw.len() > FRAME_PAYLOAD_MAX {
        return Err(Error::invalid(format!(
            "a block has 1 to {PARTS_MAX} parts and at most {FRAME_PAYLOAD_MAX} bytes, not {parts} \
             of {}",
            raw.len()
        )));
    }
    let packed = match of.packing {
        // A payload that saves less is read faster as it is.
        Packing::Level(level) => {
            pack_at(raw, level).filter(|packed| packed.len() <= raw.len() - raw.len() / 16)
        }
        Packing::Later => None,
    };
    let payload = packed.as_deref().unwrap_or(raw);
    let flags = [
        (packed.is_some(), PACKED),
        (of.packing == Packing::Later, HASTY),
        (of.rewritten, REWRITTEN),
    ];
    let flags: u16 = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum();
    let start = out.len();
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    out.extend_from_slice(&flags.to_le_bytes());
    for len in [raw.len(), payload.len(), table.len()] {
        out.extend_from_slice(&(len as u32).to_le_bytes());
    }
    out.extend_from_slice(&(parts as u16).to_le_bytes());
    out.extend_from_slice(&0_u16.to_le_bytes());
    out.extend_from_slice(&of.epoch.to_le_bytes());
    let hash = Hash(hash_keyed(of.key, &[out.split_at(start).1, table, payload]));
    out.extend_from_slice(&hash.0);
    out.extend_from_slice(table);
    out.extend_from_slice(payload);
    Ok(hash)
}
