//! Block files: rounds of blocks, each with a commit table. `docs/BLOCKS.md` has the design; nothing
//! is stored in this form yet.
//!
//! ```text
//! mod.rs      header of a file      runs.rs          runs of logs, in a block
//! block.rs    frame of a block      contents.rs      contents of chunks, in a block
//!                                   commit_table.rs  end of a round
//! ```

mod block;
mod commit_table;
mod contents;
mod runs;

pub use self::block::{BlockHeader, Packing, Sealing};
pub use self::commit_table::{CommitCount, CommitTable, CommitTableHeader};
pub use self::contents::{ContentBlock, ContentEntry};
pub use self::runs::{Run, RunBlock};

use crate::error::Result;
use crate::segment::{SEGMENT_HEADER_LEN, SegmentHeader};

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
    /// `Corrupt`: the bytes are no header. `Unsupported`: it has a newer version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        SegmentHeader::decode_with(bytes, MAGIC, "block file header").map(Self)
    }
}
