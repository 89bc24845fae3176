//! Frames: the unit that one sync of the journal makes durable.
//!
//! ```text
//!  0  check     16 bytes: BLAKE3 of all bytes that follow, payload included, cut to 16; keyed in
//!               a keyed store
//! 16  magic     "MPFR"
//! 20  length    u32, of the payload
//! 24  seq       u64, the number of the commit in the store
//! 32  epoch     u64, of the segment's use; old frames in a recycled file have another one
//! 40  flags     u32: 1 = the store was closed cleanly after this frame, which has no log batches
//! 44  zero      u32
//! 48  prev      16 bytes, the check of the previous frame, also across segments
//! 64  payload   log batches, log_batch.rs
//! ```
//!
//! Numbers are little-endian. A frame begins at a multiple of 8 in its segment.

use crate::compress::check_keyed;
use crate::error::{Error, Result};
use crate::id::Seq;
use crate::key::StoreKey;
use crate::wire::Reader;

/// Length of a frame's header, in bytes.
pub const FRAME_HEADER_LEN: usize = 64;

/// The largest payload of one frame, in bytes. It bounds the size of an append, and the memory that
/// a reader allocates for a claimed length.
pub const FRAME_PAYLOAD_MAX: usize = 32 << 20;

const MAGIC: &[u8; 4] = b"MPFR";
const CHECK_LEN: usize = 16;
const MAGIC_AT: usize = 16;
const EPOCH_AT: usize = 32;
const FLAG_CLOSED: u32 = 1;

const _: () = assert!(CHECK_LEN + 4 + 4 + 8 + 8 + 4 + 4 + CHECK_LEN == FRAME_HEADER_LEN);

/// Header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// The check of the frame.
    pub check: [u8; 16],
    /// Length of the payload, in bytes.
    pub payload_len: u32,
    /// The number of the commit.
    pub seq: Seq,
    /// The epoch of the frame's segment.
    pub epoch: u64,
    /// Set if the store was closed cleanly after this frame.
    pub closed: bool,
    /// The check of the previous frame.
    pub prev: [u8; 16],
}

impl FrameHeader {
    /// Returns `true` if magic and epoch at the start of `bytes` match a frame of that epoch.
    pub fn looks_like(bytes: &[u8], epoch: u64) -> bool {
        bytes.get(MAGIC_AT..MAGIC_AT + 4) == Some(MAGIC)
            && bytes.get(EPOCH_AT..EPOCH_AT + 8) == Some(&epoch.to_le_bytes())
    }

    /// Returns `true` if the magic at the start of `bytes` is that of a frame, of any epoch.
    pub fn looks_like_any(bytes: &[u8]) -> bool {
        bytes.get(MAGIC_AT..MAGIC_AT + 4) == Some(MAGIC)
    }

    /// Returns the claimed length of the payload, unchecked, or `None` if it is over the limit.
    pub fn payload_len(bytes: &[u8]) -> Option<usize> {
        let len = bytes.get(MAGIC_AT + 4..)?.first_chunk::<4>()?;
        let len = u32::from_le_bytes(*len) as usize;
        (len <= FRAME_PAYLOAD_MAX).then_some(len)
    }

    /// Reads a frame from the start of `bytes` and verifies its check. The caller verifies number,
    /// epoch and predecessor.
    pub fn read<'a>(bytes: &'a [u8], key: Option<&StoreKey>) -> Result<(Self, &'a [u8])> {
        let (header, payload) = Self::read_unverified(bytes)?;
        let body = bytes.get(CHECK_LEN..FRAME_HEADER_LEN + payload.len());
        let expected = check_keyed(key, &[body.unwrap_or_default()]);
        if expected != header.check {
            return Err(Error::corrupt("frame", hex(&expected), hex(&header.check)));
        }
        Ok((header, payload))
    }

    /// Reads a frame and does not verify its check: that was done before, or the frame is damaged
    /// and its claims are wanted.
    pub fn read_unverified(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let mut reader = Reader::new(bytes, "frame");
        let check = reader.array()?;
        if reader.array::<4>()? != *MAGIC {
            return Err(Error::corrupt("frame", "its magic", "other bytes"));
        }
        let payload_len = reader.u32()?;
        let (seq, epoch, flags, zero) =
            (reader.u64()?, reader.u64()?, reader.u32()?, reader.u32()?);
        let prev = reader.array()?;
        if payload_len as usize > FRAME_PAYLOAD_MAX {
            return Err(Error::corrupt("frame", "at most 32 MiB", payload_len));
        }
        let payload = reader.take(payload_len as usize)?;
        if flags > FLAG_CLOSED || zero != 0 {
            return Err(Error::corrupt("frame", "known flags", flags));
        }
        let closed = flags == FLAG_CLOSED;
        let header = Self { check, payload_len, seq, epoch, closed, prev };
        Ok((header, payload))
    }

    /// Returns the bytes after the frame and its padding, which may be cut off after the last one.
    pub fn after<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.stride() as usize..).unwrap_or(&[])
    }

    /// Returns the frame's size in its segment, padding to the start of the next frame included.
    pub fn stride(&self) -> u64 {
        (FRAME_HEADER_LEN as u64 + u64::from(self.payload_len)).next_multiple_of(8)
    }
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// Turns a buffer of [`FRAME_HEADER_LEN`] free bytes and a payload into a frame, padded to a
/// multiple of 8. Returns the check.
///
/// # Panics
///
/// Panics if the buffer is shorter than the header or the payload over [`FRAME_PAYLOAD_MAX`]. The
/// committer bounds both.
pub fn seal_frame(
    buf: &mut Vec<u8>,
    seq: Seq,
    epoch: u64,
    closed: bool,
    prev: &[u8; 16],
    key: Option<&StoreKey>,
) -> [u8; 16] {
    let payload_len = buf.len().checked_sub(FRAME_HEADER_LEN);
    let payload_len = payload_len.filter(|len| *len <= FRAME_PAYLOAD_MAX);
    assert!(payload_len.is_some(), "a frame of {} bytes", buf.len());
    let payload_len = payload_len.unwrap_or_default() as u32;
    let flags = if closed { FLAG_CLOSED } else { 0 };
    let (check_at, rest) = buf.split_at_mut(CHECK_LEN);
    let mut room = &mut *rest;
    let fields: [&[u8]; 7] = [
        MAGIC,
        &payload_len.to_le_bytes(),
        &seq.to_le_bytes(),
        &epoch.to_le_bytes(),
        &flags.to_le_bytes(),
        &0_u32.to_le_bytes(),
        prev,
    ];
    for field in fields {
        let (to, behind) = room.split_at_mut(field.len());
        to.copy_from_slice(field);
        room = behind;
    }
    let sum = check_keyed(key, &[rest]);
    check_at.copy_from_slice(&sum);
    buf.resize(buf.len().next_multiple_of(8), 0);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_bit_anywhere_in_a_frame_is_found() {
        let mut buf = vec![0; FRAME_HEADER_LEN];
        buf.extend_from_slice(b"payload");
        let sum = seal_frame(&mut buf, 3, 4, false, &[5; 16], None);
        let (header, payload) = FrameHeader::read(&buf, None).unwrap();
        assert_eq!((header.check, header.seq, header.epoch), (sum, 3, 4));
        assert_eq!((payload, header.stride()), (&b"payload"[..], buf.len() as u64));
        assert!(FrameHeader::looks_like(&buf, 4) && !FrameHeader::looks_like(&buf, 5));
        for at in 0..FRAME_HEADER_LEN + 7 {
            for bit in 0..8 {
                let mut bad = buf.clone();
                bad[at] ^= 1 << bit;
                assert!(FrameHeader::read(&bad, None).is_err(), "byte {at} bit {bit}");
            }
        }
        for len in 0..FRAME_HEADER_LEN + 7 {
            assert!(FrameHeader::read(&buf[..len], None).is_err(), "cut to {len}");
        }
    }
}
