//! The acknowledged commit: a small witness file next to the journal. It is written in place after
//! each commit and not synced, so it never names a commit that is not durable. A journal that ends
//! before it has lost commits.
//!
//! ```text
//!  0  magic     "MPAK"
//!  4  version   u16
//!  6  zero      u16
//!  8  store     16 bytes
//! 24  seq       u64, the last commit that was acknowledged
//! 32  zero      16 bytes
//! 48  check     16 bytes: BLAKE3 of bytes 0 to 48, cut to 16
//! ```

use crate::compress::check;
use crate::error::{Error, Result};
use crate::id::{Seq, StoreId};
use crate::wire::{FORMAT_VERSION, Reader, check_version};

const MAGIC: &[u8; 4] = b"MPAK";
const CHECKED_LEN: usize = 48;

/// The last acknowledged commit of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckWatermark {
    /// The store.
    pub store: StoreId,
    /// The commit.
    pub seq: Seq,
}

impl AckWatermark {
    /// Length of the stored bytes.
    pub const LEN: usize = 64;

    /// Returns the stored bytes.
    pub fn encode(&self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        let version = FORMAT_VERSION.to_le_bytes();
        let seq = self.seq.to_le_bytes();
        let parts: [(usize, &[u8]); 4] =
            [(0, MAGIC), (4, &version), (8, &self.store.0), (24, &seq)];
        for (at, part) in parts {
            if let Some(room) = out.get_mut(at..at + part.len()) {
                room.copy_from_slice(part);
            }
        }
        let (checked, sum) = out.split_at_mut(CHECKED_LEN);
        sum.copy_from_slice(&check(&[checked]));
        out
    }

    /// Decodes and checks the stored bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        const WHAT: &str = "acknowledged commit";
        let mut reader = Reader::new(bytes, WHAT);
        let mut checked = Reader::new(reader.take(CHECKED_LEN)?, WHAT);
        let sum = check(&[checked.rest()]);
        if checked.array::<4>()? != *MAGIC || reader.array::<16>()? != sum {
            return Err(Error::corrupt(WHAT, "bytes that match its check", "others"));
        }
        check_version(WHAT, checked.u16()?)?;
        checked.u16()?;
        Ok(Self { store: StoreId(checked.array()?), seq: checked.u64()? })
    }
}
