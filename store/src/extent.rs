//! The result of a read: some sections of one log, unpacked.

use std::ops::Range;
use std::sync::Arc;

use milepost_codec::{Hash, Offset, SectionRef, Sections};

/// Consecutive records of one log in memory: a run of a block, or a log batch of a frame.
#[derive(Debug, Clone)]
pub struct Extent {
    /// The offset of the first record.
    pub first: Offset,
    /// The number of its records.
    pub count: u32,
    /// The chain hash before the first record.
    pub prev: Hash,
    /// The range of its sections in `bytes`.
    pub range: Range<usize>,
    /// Bytes shared with the committed frame, or with the runs of the block.
    pub bytes: Arc<Vec<u8>>,
}

impl Extent {
    /// Returns the offset after the last record.
    pub fn end(&self) -> Offset {
        self.first + u64::from(self.count)
    }

    /// Returns its sections with their bytes.
    pub fn sections_and_bytes(
        &self,
    ) -> impl Iterator<Item = milepost_codec::Result<(SectionRef<'_>, &[u8])>> {
        let mut rest = self.section_bytes();
        let mut sections = Sections::new(rest);
        std::iter::from_fn(move || {
            let section = sections.next()?;
            let (bytes, behind) = rest.split_at(rest.len() - sections.rest().len());
            rest = behind;
            Some(section.map(|section| (section, bytes)))
        })
    }

    /// Returns its sections.
    pub fn sections(&self) -> Sections<'_> {
        Sections::new(self.section_bytes())
    }

    /// Returns the bytes of its sections.
    pub fn section_bytes(&self) -> &[u8] {
        self.bytes.get(self.range.clone()).expect("an extent lies in its bytes")
    }

    /// Returns the extent without the bytes of other extents, if they are most of its memory.
    pub fn detached(self) -> Self {
        if self.range.len() >= self.bytes.len() / 2 {
            return self;
        }
        let bytes = self.section_bytes().to_vec();
        Self { range: 0..bytes.len(), bytes: Arc::new(bytes), ..self }
    }
}
