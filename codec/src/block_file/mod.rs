//! Block files: packed blocks, and in the archive commit tables.
//!
//! ```text
//! mod.rs      header of a file      runs.rs          runs of logs, in a block
//! block.rs    frame of a block      commit_table.rs  end of a round
//! ```

mod block;
mod commit_table;
mod runs;

pub use self::block::{BlockHeader, Packing, Sealing};
pub use self::commit_table::{CommitTable, CommitTableHeader};
pub use self::runs::{BLOCK_RAW_TARGET, ROUND_RAW_MAX, Run, RunBlock, SECTION_RAW_TARGET};

use crate::error::{Error, Result};
use crate::segment::{SEGMENT_HEADER_LEN, SEGMENT_HEADER_USED, SegmentHeader};

const MAGIC: &[u8; 4] = b"MPBF";

/// The header of a block file: laid out like a segment's, with the magic "MPBF".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockFileHeader(pub SegmentHeader);

impl BlockFileHeader {
    /// Length of the header, in bytes. It is one page, so that no block shares a page with it.
    pub const LEN: usize = SEGMENT_HEADER_LEN;

    /// Returns the stored bytes, [`BlockFileHeader::LEN`] of them.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.0.encode_with(MAGIC);
        out.resize(Self::LEN, 0);
        out
    }

    /// Decodes and checks a header.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the bytes are not a header, or its fields are not followed by zeros.
    /// `Unsupported`: it has a newer version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let header = SegmentHeader::decode_with(bytes, MAGIC, "block file header")?;
        match bytes.get(SEGMENT_HEADER_USED..Self::LEN) {
            Some(zeros) if zeros.iter().all(|byte| *byte == 0) => Ok(Self(header)),
            _ => Err(Error::corrupt("block file header", "zeros after its fields", "others")),
        }
    }
}
