//! Archives: the frames of a finished segment, unchanged and compressed together.
//!
//! A file is an 80-byte header, laid out like a segment's but with the magic "MPAR", and
//! consecutive blocks of frames. The last block is empty:
//!
//! ```text
//!  0  magic     "MPAB"
//!  4  flags     u32: 1 = zstd, 0 = uncompressed; in the last block 2 = the file was rewritten
//!  8  raw       u32, bytes of the frames
//! 12  stored    u32, bytes of the payload
//! 16  frames    u32
//! 20  zero      u32
//! 24  first     u64, the commit of the first frame; in the last block, the next commit
//! 32  check     16 bytes: BLAKE3 of bytes 0 to 32 and the payload, cut to 16
//! 48  payload
//! ```

use crate::compress::{check, pack, unpack};
use crate::error::{Error, Result};
use crate::frame::{FRAME_HEADER_LEN, FRAME_PAYLOAD_MAX};
use crate::id::Seq;
use crate::segment::SegmentHeader;
use crate::wire::Reader;

const MAGIC: &[u8; 4] = b"MPAR";
const BLOCK_MAGIC: &[u8; 4] = b"MPAB";
const BLOCK_HEADER_LEN: usize = 48;
const CHECKED_LEN: usize = 32;
const FLAG_PACKED: u32 = 1;
const FLAG_REWRITTEN: u32 = 2;

/// The most bytes of frames in one block: a frame of the largest size and 1 MiB more.
pub const ARCHIVE_BLOCK_RAW_MAX: usize = FRAME_PAYLOAD_MAX + FRAME_HEADER_LEN + 8 + (1 << 20);

/// The header of an archive file: the header of the archived segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveHeader(pub SegmentHeader);

impl ArchiveHeader {
    /// Length of the header, in bytes.
    pub const LEN: usize = 80;

    /// Returns the stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        self.0.encode_with(MAGIC)
    }

    /// Decodes and checks a header.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        SegmentHeader::decode_with(bytes, MAGIC, "archive header").map(Self)
    }
}

/// One block of an archive file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveBlock {
    packed: bool,
    raw_len: u32,
    stored_len: u32,
    /// The number of frames; 0 in the last block of a file.
    pub frames: u32,
    /// The commit of the first frame, or the next commit in the last block.
    pub first: Seq,
    /// Set in the last block of a file whose frames were rebuilt from blocks. The checks of such
    /// frames differ from those of the committed frames, so the next file does not follow by check.
    pub rewritten: bool,
    check: [u8; 16],
}

impl ArchiveBlock {
    /// Length of a block's header, in bytes.
    pub const HEADER_LEN: usize = BLOCK_HEADER_LEN;

    /// Appends a block of `frames` frames, which `raw` holds one after another.
    pub fn encode(raw: &[u8], frames: u32, first: Seq, out: &mut Vec<u8>) {
        assert!(raw.len() <= ARCHIVE_BLOCK_RAW_MAX, "an archive block of {} bytes", raw.len());
        let packed = pack(raw);
        let payload = packed.as_deref().unwrap_or(raw);
        let flags = if packed.is_some() { FLAG_PACKED } else { 0 };
        Self::write(flags, raw.len(), payload, frames, first, out);
    }

    /// Appends the last block of a file; `next` is the commit after the file.
    pub fn encode_end(next: Seq, rewritten: bool, out: &mut Vec<u8>) {
        let flags = if rewritten { FLAG_REWRITTEN } else { 0 };
        Self::write(flags, 0, &[], 0, next, out);
    }

    fn write(
        flags: u32,
        raw_len: usize,
        payload: &[u8],
        frames: u32,
        first: Seq,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        out.extend_from_slice(BLOCK_MAGIC);
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&(raw_len as u32).to_le_bytes());
        out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        out.extend_from_slice(&frames.to_le_bytes());
        out.extend_from_slice(&0_u32.to_le_bytes());
        out.extend_from_slice(&first.to_le_bytes());
        let sum = check(&[out.split_at(start).1, payload]);
        out.extend_from_slice(&sum);
        out.extend_from_slice(payload);
    }

    /// Decodes a block's header, before the payload is read.
    pub fn decode_header(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes, "archive block");
        if reader.array::<4>()? != *BLOCK_MAGIC {
            return Err(Error::corrupt("archive block", "its magic", "other bytes"));
        }
        let (flags, raw_len, stored_len) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let (frames, _zero, first) = (reader.u32()?, reader.u32()?, reader.u64()?);
        let check = reader.array()?;
        let rewritten = flags == FLAG_REWRITTEN && frames == 0;
        if (flags > FLAG_PACKED && !rewritten)
            || raw_len as usize > ARCHIVE_BLOCK_RAW_MAX
            || stored_len > raw_len
            || (flags != FLAG_PACKED && stored_len != raw_len)
        {
            let found = format!("{stored_len} bytes for {raw_len}");
            return Err(Error::corrupt("archive block", "lengths that fit", found));
        }
        Ok(Self {
            packed: flags == FLAG_PACKED,
            raw_len,
            stored_len,
            frames,
            first,
            rewritten,
            check,
        })
    }

    /// Returns the length of the payload after the header, in bytes.
    pub fn stored_len(&self) -> usize {
        self.stored_len as usize
    }

    /// Checks a payload and returns the frames' bytes. `header` is the encoded header.
    pub fn decode(&self, header: &[u8], payload: &[u8]) -> Result<Vec<u8>> {
        let checked = header.get(..CHECKED_LEN).unwrap_or_default();
        if check(&[checked, payload]) != self.check {
            return Err(Error::corrupt("archive block", "bytes that match its check", "others"));
        }
        if self.packed {
            return unpack(payload, self.raw_len as usize, "archive block");
        }
        Ok(payload.to_vec())
    }
}
