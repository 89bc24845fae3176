//! The log: the seam between what is appended and where it is kept.
//!
//! ```text
//! commit_log.rs  the seam: commits and chunks, what another machine's log has to bring
//! projection.rs  what is read of them: records, index, and the upkeep of both
//! batch.rs       a commit: chained records, index entries
//! stretch.rs     the result of a read: some sections of one log, unpacked
//! tail.rs        commits that are not applied yet; all there is in memory
//! memory.rs      a log that forgets, for tests and trials
//! content.rs     bodies that are stored in chunks
//! local/         a log in a folder: journal, sled, archive, packs
//! check.rs       the check of its files, and the faults it finds
//! options.rs     the options that it is opened with
//! suite.rs       tests that every implementation passes
//! ```
//!
//! The committer above the seam assigns offsets and chains, so a log needs no knowledge of
//! either: it stores, orders and gives back.

mod batch;
mod check;
mod commit_log;
mod content;
pub mod local;
mod memory;
mod options;
mod projection;
mod stretch;
#[cfg(test)]
mod suite;
mod tail;

pub use check::{EventPlace, Fault};
pub use local::CompactionStep;

pub use batch::{Batch, GroupMeta};
pub use check::{Remedy, Sections, StorageCheck, place};
pub use memory::MemoryLog;
pub use options::OpenOptions;
pub use stretch::Stretch;
pub use tail::Tail;

use milepost_codec::Result;

use crate::index::{Shown, walk};
use crate::live::Live;

pub use commit_log::{ChunkStore, CommitLog};
pub use content::{CHUNK, INLINE_MAX, put_content};
pub use projection::{DiskBytes, Index, Maintenance};

/// Where logs are kept: lineages and control logs, the index over them, and chunks.
pub trait Log: CommitLog + ChunkStore + Index + Maintenance {}

impl<T: CommitLog + ChunkStore + Index + Maintenance> Log for T {}

impl dyn Log {
    /// Returns the part of the logs that retention kept, as the index has it.
    ///
    /// # Errors
    ///
    /// Those of reading the index.
    pub fn live(&self) -> Result<Live> {
        Live::scanned(&|from, to, limit| self.scan(from, to, false, limit))
    }

    /// Shows all entries of the index whose keys begin so, in order of keys.
    pub fn walk(&self, prefix: &[u8], show: &mut Shown<'_>) -> Result<()> {
        walk(prefix, &|from, to, limit| self.scan(from, to, false, limit), show)
    }
}
