//! Segments: the header of a journal file. Frames start at [`SEGMENT_HEADER_LEN`].
//!
//! ```text
//!  0  magic     "MPSG"
//!  4  version   u16
//!  6  flags     u16: 1 = the file is recycled and still holds old frames
//!  8  store     16 bytes
//! 24  number    u64, of the segment in the journal, from 1
//! 32  epoch     u64, random for each use of the file
//! 40  first     u64, the commit of its first frame
//! 48  prev      16 bytes, the check of the frame before `first`
//! 64  check     16 bytes: BLAKE3 of bytes 0 to 64, cut to 16
//! ```
//!
//! Numbers are little-endian; zeros fill the space up to the first frame.

use crate::compress::check;
use crate::error::{Error, Result};
use crate::id::{Seq, StoreId};
use crate::wire::{FORMAT_VERSION, Reader, check_version};

/// Length of a segment's header, in bytes. It is one page, so that rewriting the header of a
/// recycled file cannot tear a frame.
pub const SEGMENT_HEADER_LEN: usize = 4096;

const MAGIC: &[u8; 4] = b"MPSG";
const CHECKED_LEN: usize = 64;

/// Length of the header's fields and their check. The rest of the header is zeros.
pub const SEGMENT_HEADER_USED: usize = CHECKED_LEN + 16;

/// The header of a journal segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The store of the segment.
    pub store: StoreId,
    /// The segment's number in the journal.
    pub number: u64,
    /// The epoch in the segment's frames.
    pub epoch: u64,
    /// The commit of the first frame.
    pub first: Seq,
    /// Set if the file was used before and still holds old frames.
    pub recycled: bool,
    /// The check of the frame before `first`.
    pub prev: [u8; 16],
}

impl SegmentHeader {
    /// Returns the stored bytes, [`SEGMENT_HEADER_LEN`] of them.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.encode_with(MAGIC);
        out.resize(SEGMENT_HEADER_LEN, 0);
        out
    }

    pub(crate) fn encode_with(&self, magic: &[u8; 4]) -> Vec<u8> {
        let mut out = Vec::with_capacity(SEGMENT_HEADER_LEN);
        out.extend_from_slice(magic);
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&u16::from(self.recycled).to_le_bytes());
        out.extend_from_slice(&self.store.0);
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.epoch.to_le_bytes());
        out.extend_from_slice(&self.first.to_le_bytes());
        out.extend_from_slice(&self.prev);
        assert_eq!(out.len(), CHECKED_LEN, "the layout above");
        let sum = check(&[&out]);
        out.extend_from_slice(&sum);
        out
    }

    /// Decodes and checks a header.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        Self::decode_with(bytes, MAGIC, "segment header")
    }

    pub(crate) fn decode_with(bytes: &[u8], magic: &[u8; 4], what: &'static str) -> Result<Self> {
        let mut reader = Reader::new(bytes, what);
        let mut checked = Reader::new(reader.take(CHECKED_LEN)?, what);
        let expected = check(&[checked.rest()]);
        if checked.array::<4>()? != *magic {
            return Err(Error::corrupt(what, "its magic", "other bytes"));
        }
        let found = reader.array::<16>()?;
        if expected != found {
            return Err(Error::corrupt(what, format!("{expected:02x?}"), format!("{found:02x?}")));
        }
        check_version(what, checked.u16()?)?;
        let recycled = checked.u16()? & 1 == 1;
        Ok(Self {
            store: StoreId(checked.array()?),
            number: checked.u64()?,
            epoch: checked.u64()?,
            first: checked.u64()?,
            recycled,
            prev: checked.array()?,
        })
    }
}
