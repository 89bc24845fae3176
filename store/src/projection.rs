//! The projection of commits: records, index, and the maintenance of both.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost_codec::{ChunkId, Error, LogId, Offset, Result, Seq};

use crate::extent::Extent;
use crate::index::{Entry, LogHead, SnapshotNote};
use crate::metrics::Meters;
use crate::open_report::{Finding, OpenReport, Repair};
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
/// Any thread may read at any time.
pub trait Index: Send + Sync {
    /// Returns the head of a log; `None` for a missing log.
    fn head(&self, log: LogId) -> Result<Option<LogHead>>;

    /// Returns an extent that holds the record at `offset` of `log` itself, without ancestors;
    /// `None` if the log has no such record.
    fn extent(&self, log: LogId, offset: Offset) -> Result<Option<Extent>>;

    /// Drops the cache of unpacked blocks: the next read comes from the disk.
    fn forget_unpacked(&self) {}

    /// Returns one entry of the index.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Returns up to `limit` entries of the index, from `from` to before `to`, in order of keys;
    /// from the end if `backwards`.
    fn scan(&self, from: &[u8], to: &[u8], backwards: bool, limit: usize) -> Result<Vec<Entry>>;

    /// Stores an entry that no record accounts for and that may be lost. Reads see it at once; the
    /// next sync of the index makes it durable.
    fn put_note(&self, key: Vec<u8>, value: Vec<u8>) -> Result<()>;

    /// Removes an entry stored by `put_note`.
    fn drop_note(&self, key: Vec<u8>) -> Result<()>;
}

/// The engine above a log, as a compaction uses it.
pub trait CompactionHost {
    /// Runs `work` while nothing is committed.
    fn hold(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()>;

    /// Returns chunks that are needed although no event names them.
    fn keeps(&self) -> HashSet<ChunkId>;

    /// Returns the roots of trees that states in bases name.
    fn roots(&self) -> Result<HashSet<ChunkId>>;

    /// Returns `true` if a snapshot is still useful, given its index key and its note.
    fn uses(&self, key: &[u8], note: &SnapshotNote) -> Result<bool>;
}

/// Content that a compaction did not process.
#[derive(Debug, Default)]
pub struct Compacted {
    /// The reason why packs were left unchanged, if they were.
    pub left: Option<Error>,
    /// Files that no compaction rewrites or removes.
    pub untouched: Vec<PathBuf>,
}

/// Progress of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompactionStep {
    /// Archive files done, of all.
    Archive(u64, u64),
    /// Commits replayed into a fresh sled folder, of all.
    Sled(u64, u64),
    /// Packs done, of all.
    Packs(u64, u64),
}

/// Maintenance of the projection and of its files. A store without files needs none.
pub trait Maintenance: Send + Sync {
    /// Returns the last applied commit, which needs no tail.
    fn applied(&self) -> Seq;

    /// Waits until all commits made so far are applied.
    fn drain(&self) -> Result<()>;

    /// Waits while commits come faster than they are applied, so that less urgent work does not
    /// delay them. Returns at once when `is_urgent` returns `true`, which is asked after each round
    /// of the applier.
    fn settle(&self, is_urgent: &dyn Fn() -> bool);

    /// Returns the disk usage.
    fn disk_bytes(&self) -> Result<DiskBytes>;

    /// Reads and checks the parts that only this log knows: files, frames, chunks.
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

    /// Returns `true` if opening found a torn frame after the last commit.
    fn was_torn(&self) -> bool {
        false
    }

    /// Returns the meters of the store, unless the engine keeps them.
    fn meters(&self) -> Option<&Arc<Meters>> {
        None
    }

    /// Returns `true` after a write with unknown outcome: the store has to be reopened.
    fn is_poisoned(&self) -> bool {
        false
    }

    /// Removes content that is not live from the disk. Returns a report of skipped content. An
    /// error of `report` ends it between two steps.
    ///
    /// # Errors
    ///
    /// `Conflict`: a compaction is running. `Unavailable`: the disk is full. `Corrupt`: live
    /// content cannot be read.
    fn compact(
        &self,
        _above: &dyn CompactionHost,
        _report: &mut dyn FnMut(CompactionStep) -> Result<()>,
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
    /// Errors of reading the index.
    fn packed_bytes(&self, _ids: &HashSet<ChunkId>) -> Result<u64> {
        Ok(0)
    }

    /// Rewrites damaged archive files, and damaged places of packs and their copies. Returns a
    /// finding for each file.
    ///
    /// # Errors
    ///
    /// Errors of the disk.
    fn mend_files(&self) -> Result<Vec<Finding>> {
        Ok(Vec::new())
    }

    /// Makes the next opening rebuild the index, because of this damage.
    ///
    /// # Errors
    ///
    /// Errors of the disk.
    fn distrust_index(&self, _damage: &str) -> Result<()> {
        Ok(())
    }

    /// Returns the records of repaired damage, acknowledged ones included.
    ///
    /// # Errors
    ///
    /// Errors of the disk.
    fn repairs(&self) -> Result<Vec<Repair>> {
        Ok(Vec::new())
    }

    /// Records damage, before it is repaired.
    ///
    /// # Errors
    ///
    /// Errors of the disk.
    fn record_damage(&self, _found: &[Finding], _mended_from: &str) -> Result<()> {
        Ok(())
    }

    /// Acknowledges the records of repaired damage. Returns the number of those that were not.
    ///
    /// # Errors
    ///
    /// Errors of the disk.
    fn acknowledge_repairs(&self) -> Result<u64> {
        Ok(0)
    }

    /// Notes a verification of the whole store.
    ///
    /// # Errors
    ///
    /// Errors of the disk.
    fn note_verified(&self, _events: u64, _faults: usize) -> Result<()> {
        Ok(())
    }
}
