//! What one commit brings.

use std::ops::Range;

use milepost_codec::{FRAME_HEADER_LEN, Hash, LogId, Offset, Seq};
use smallvec::SmallVec;

use crate::index::LogHead;

/// A change of one entry of the index: a value, or none to remove it.
pub(crate) type IndexPut = (Vec<u8>, Option<Vec<u8>>);

/// One group of a batch: where it goes, and where its bytes are.
#[derive(Debug, Clone)]
pub(crate) struct GroupMeta {
    pub(crate) log: LogId,
    pub(crate) first: Offset,
    pub(crate) count: u32,
    /// The chain hash before the first record.
    pub(crate) prev: Hash,
    /// The log's head after the last record.
    pub(crate) head: LogHead,
    /// Its section in the batch's buffer.
    pub(crate) section: Range<usize>,
}

/// What one commit brings: groups of chained records in one buffer that becomes a frame, and the
/// index entries that follow from them.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) seq: Seq,
    /// Room for a frame's header, then the groups.
    pub(crate) buf: Vec<u8>,
    pub(crate) groups: SmallVec<[GroupMeta; 1]>,
    pub(crate) index: Vec<IndexPut>,
}

impl Batch {
    pub(crate) fn new(seq: Seq) -> Self {
        Self::with_room(seq, 0)
    }

    /// With room for groups of so many bytes.
    pub(crate) fn with_room(seq: Seq, bytes: usize) -> Self {
        let mut buf = Vec::with_capacity(FRAME_HEADER_LEN + bytes);
        buf.resize(FRAME_HEADER_LEN, 0);
        Self { seq, buf, groups: SmallVec::new(), index: Vec::new() }
    }

    /// Takes the check of the frame it was read from.
    pub(crate) fn set_check(&mut self, check: [u8; 16]) {
        if let Some(room) = self.buf.first_chunk_mut::<16>() {
            *room = check;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}
