//! What one commit brings.

use std::ops::Range;

use milepost_codec::{FRAME_HEADER_LEN, Hash, LogId, Offset, Seq};
use smallvec::SmallVec;

use crate::index::{IndexPut, LogHead};

/// One group of a batch: where it goes, and where its bytes are.
#[derive(Debug, Clone)]
pub struct LogBatchMeta {
    /// The log that it goes to.
    pub log: LogId,
    /// The offset of its first record.
    pub first: Offset,
    /// The number of its records.
    pub count: u32,
    /// The chain hash before the first record.
    pub prev: Hash,
    /// The log's head after the last record.
    pub head: LogHead,
    /// Its section in the batch's buffer.
    pub section: Range<usize>,
}

/// What one commit brings: groups of chained records in one buffer that becomes a frame, and the
/// index entries that follow from them.
#[derive(Debug)]
pub struct CommitBatch {
    /// The number of the commit.
    pub seq: Seq,
    /// Room for a frame's header, then the groups.
    pub buf: Vec<u8>,
    /// The groups, in the order of the buffer.
    pub groups: SmallVec<[LogBatchMeta; 1]>,
    /// Changes of the index.
    pub index: Vec<IndexPut>,
}

impl CommitBatch {
    /// Makes an empty batch.
    pub fn new(seq: Seq) -> Self {
        Self::with_room(seq, 0)
    }

    /// With room for groups of so many bytes.
    pub fn with_room(seq: Seq, bytes: usize) -> Self {
        let mut buf = Vec::with_capacity(FRAME_HEADER_LEN + bytes);
        buf.resize(FRAME_HEADER_LEN, 0);
        Self { seq, buf, groups: SmallVec::new(), index: Vec::new() }
    }

    /// Takes the check of the frame it was read from.
    pub fn set_check(&mut self, check: [u8; 16]) {
        if let Some(room) = self.buf.first_chunk_mut::<16>() {
            *room = check;
        }
    }

    /// Returns `true` if it has no groups.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}
