//! The content of one commit.

use std::ops::Range;

use milepost_codec::{FRAME_HEADER_LEN, Hash, LogId, Offset, Seq};
use smallvec::SmallVec;

use crate::index::{IndexPut, LogHead};

/// One log batch of a commit: its log, and the range of its bytes.
#[derive(Debug, Clone)]
pub struct LogBatchMeta {
    /// The log.
    pub log: LogId,
    /// The offset of its first record.
    pub first: Offset,
    /// The number of its records.
    pub count: u32,
    /// The chain hash before the first record.
    pub prev: Hash,
    /// The log's head after the last record.
    pub head: LogHead,
    /// The range of its section in the commit's buffer.
    pub section: Range<usize>,
}

/// The content of one commit: log batches of chained records in one buffer that becomes a frame,
/// and the index entries that follow from them.
#[derive(Debug)]
pub struct CommitBatch {
    /// The number of the commit.
    pub seq: Seq,
    /// Room for a frame's header, then the log batches.
    pub buf: Vec<u8>,
    /// The log batches, in the order of the buffer.
    pub groups: SmallVec<[LogBatchMeta; 1]>,
    /// Changes of the index.
    pub index: Vec<IndexPut>,
    /// Set if records name chunks that are stored for them, and are durable before the batch is.
    pub names_chunks: bool,
}

impl CommitBatch {
    /// Returns an empty batch.
    pub fn new(seq: Seq) -> Self {
        Self::with_room(seq, 0)
    }

    /// Returns an empty batch with capacity for log batches of `bytes` bytes.
    pub fn with_room(seq: Seq, bytes: usize) -> Self {
        let mut buf = Vec::with_capacity(FRAME_HEADER_LEN + bytes);
        buf.resize(FRAME_HEADER_LEN, 0);
        Self { seq, buf, groups: SmallVec::new(), index: Vec::new(), names_chunks: false }
    }

    /// Stores the check of the frame that the batch was read from.
    pub fn set_check(&mut self, check: [u8; 16]) {
        if let Some(room) = self.buf.first_chunk_mut::<16>() {
            *room = check;
        }
    }

    /// Returns `true` if the batch has no log batches.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}
