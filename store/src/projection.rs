//! The projection of commits that is read: records, index, and the upkeep of both.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost_codec::{ChunkId, Error, LogId, Offset, Result, Seq};

use crate::extent::Extent;
use crate::index::{Entry, LogHead, SnapshotNote};
use crate::metrics::Meters;
use crate::open_report::{Finding, OpenReport};
use crate::storage_check::StorageCheck;

/// Disk usage of a store, in bytes of blocks as `du` counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskBytes {
    /// The journal's segments, free ones included.
    pub journal: u64,
    /// The archive.
    pub archive: u64,
    /// sled's folder.
    pub sled: u64,
    /// The packs.
    pub packs: u64,
    /// Everything.
    pub total: u64,
}

/// The readable form of the commits: heads, extents of records, and the index over them.
///
/// Any thread reads at any time.
pub trait Index: Send + Sync {
    /// Returns the head of a log; `None` if there is no such log.
    fn head(&self, log: LogId) -> Result<Option<LogHead>>;

    /// An extent that holds the record at `offset` of `log` itself, ancestors not included; nothing
    /// where it has no such record.
    fn extent(&self, log: LogId, offset: Offset) -> Result<Option<Extent>>;

    /// Drops the cache of unpacked blocks: the next read comes from the disk.
    fn forget_unpacked(&self) {}

    /// One entry of the index.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Entries of the index from `from` to before `to`, in order of keys, at most `limit`;
    /// from the end where `backwards`.
    fn scan(&self, from: &[u8], to: &[u8], backwards: bool, limit: usize) -> Result<Vec<Entry>>;

    /// Puts an entry that no record accounts for: what may be lost. It is kept as soon as
    /// possible.
    fn put_note(&self, key: Vec<u8>, value: Vec<u8>) -> Result<()>;

    /// Removes an entry that was put so.
    fn drop_note(&self, key: Vec<u8>) -> Result<()>;
}

/// The owner of a log, as a compaction needs it.
pub trait CompactionHost {
    /// Runs something while nothing is committed.
    fn hold(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()>;

    /// Returns chunks that are needed without being named.
    fn keeps(&self) -> HashSet<ChunkId>;

    /// Returns the roots of trees that states in bases name.
    fn roots(&self) -> Result<HashSet<ChunkId>>;

    /// Returns `true` if a snapshot is still of use, by its key in the index and its note.
    fn uses(&self, key: &[u8], note: &SnapshotNote) -> Result<bool>;
}

/// Content that a compaction did not look through.
#[derive(Debug, Default)]
pub struct Compacted {
    /// The reason why packs were left as they are, where they were.
    pub left: Option<Error>,
    /// Files that no compaction writes anew, nor removes.
    pub untouched: Vec<PathBuf>,
}

/// Progress of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompactionStep {
    /// Archive files were looked at: so many, of so many.
    Archive(u64, u64),
    /// Commits were taken into a fresh sled folder: so many, of so many.
    Sled(u64, u64),
    /// Packs were looked at: so many, of so many.
    Packs(u64, u64),
}

/// Upkeep of the projection and of the files under it. A store without files has none.
pub trait Maintenance: Send + Sync {
    /// Returns the last commit that is applied, and needs no tail.
    fn applied(&self) -> Seq;

    /// Waits until all commits made so far are applied.
    fn drain(&self) -> Result<()>;

    /// Waits while much waits to be applied, so that what is less urgent does not stand in its way.
    fn settle(&self);

    /// Returns the disk usage.
    fn disk_bytes(&self) -> Result<DiskBytes>;

    /// Reads and checks what only this log knows: files, frames, chunks.
    fn check_storage(&self, check: &mut StorageCheck) -> Result<()>;

    /// Ends all work. Later calls fail with `Unavailable`.
    fn close(&self) -> Result<()>;

    /// Returns the folder of the store, if it has one.
    fn folder(&self) -> Option<&Path> {
        None
    }

    /// Returns the report of the opening.
    fn opened(&self) -> OpenReport {
        OpenReport::default()
    }

    /// Returns `true` if opening found a torn frame behind the last commit.
    fn was_torn(&self) -> bool {
        false
    }

    /// Returns the meters of the store, unless it leaves them to the engine.
    fn meters(&self) -> Option<&Arc<Meters>> {
        None
    }

    /// Returns the number of commits that wait to be applied, and their bytes.
    fn lag(&self) -> (u64, u64) {
        (0, 0)
    }

    /// Returns `true` after a write whose outcome is unknown: the store has to be opened again.
    fn is_poisoned(&self) -> bool {
        false
    }

    /// Removes from the disk what is not live. Returns a report of what is left.
    ///
    /// # Errors
    ///
    /// `Conflict` if one is under way. `Unavailable` if the disk is full. `Corrupt` if live content
    /// cannot be read.
    fn compact(
        &self,
        _above: &dyn CompactionHost,
        _tell: &mut dyn FnMut(CompactionStep),
    ) -> Result<Compacted> {
        Ok(Compacted::default())
    }

    /// Returns the free bytes that a compaction needs.
    fn compaction_needs(&self) -> u64 {
        0
    }

    /// Returns the bytes that chunks take on disk.
    ///
    /// # Errors
    ///
    /// Those of reading the index.
    fn packed_bytes(&self, _ids: &HashSet<ChunkId>) -> Result<u64> {
        Ok(0)
    }

    /// Writes damaged archive files again. Returns what was mended.
    ///
    /// # Errors
    ///
    /// Those of the disk.
    fn mend_archive(&self) -> Result<Vec<Finding>> {
        Ok(Vec::new())
    }

    /// Makes the next opening build the index anew.
    ///
    /// # Errors
    ///
    /// Those of the disk.
    fn distrust_index(&self) -> Result<()> {
        Ok(())
    }
}
