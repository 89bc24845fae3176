//! The log: the seam between what is appended and where it is kept.
//!
//! ```text
//! batch.rs    what one commit brings: chained records, index entries
//! stretch.rs      what a read gets: some sections of one log, unpacked
//! tail.rs     what is committed but not applied yet; all there is in memory
//! memory.rs   a log that forgets, for tests and trials
//! local/      a log in a folder: journal, sled, archive, packs
//! check.rs    the check of its files, and the faults it finds
//! options.rs  how it is opened
//! suite.rs    what every implementation must do, run on each
//! ```
//!
//! The committer above the seam assigns offsets and chains, so a log needs no knowledge of
//! either: it stores, orders and gives back.

mod batch;
mod check;
pub mod local;
mod memory;
mod options;
mod stretch;
#[cfg(test)]
mod suite;
mod tail;

use milepost_codec::{ChunkId, LogId, Offset, Result, Seq};

pub use check::{EventPlace, Fault};
pub use local::CompactionStep;

pub use batch::{Batch, GroupMeta, IndexPut};
pub use check::{Remedy, Sections, StorageCheck, place};
pub use memory::MemoryLog;
pub use options::OpenOptions;
pub use stretch::Stretch;
pub use tail::Tail;

use crate::index::{LogHead, keys};
use crate::process::Owner;

/// A pair of the index.
pub type Entry = (Vec<u8>, Vec<u8>);

/// Scans entries of an index in order of keys, at most so many.
pub type Scan<'a> = dyn Fn(&[u8], &[u8], usize) -> Result<Vec<Entry>> + 'a;

/// What is done with an entry: its key and value.
pub type Shown<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

/// Entries that a walk holds at once.
const WALK: usize = 1024;

/// Shows all entries whose keys begin with `prefix`, in order of keys, by whatever scans them.
pub fn walk(prefix: &[u8], scan: &Scan<'_>, show: &mut Shown<'_>) -> Result<()> {
    let mut from = prefix.to_vec();
    let end = match prefix {
        // No key is as long as this.
        [] => vec![0xFF; 64],
        prefix => keys::after_prefix(prefix),
    };
    loop {
        let page = scan(&from, &end, WALK)?;
        for (key, value) in &page {
            show(key, value)?;
        }
        let Some((last, _)) = page.into_iter().next_back() else {
            return Ok(());
        };
        from = last;
        from.push(0);
    }
}

impl dyn Log {
    /// Shows all entries of the index whose keys begin so, in order of keys.
    pub fn walk(&self, prefix: &[u8], show: &mut Shown<'_>) -> Result<()> {
        walk(prefix, &|from, to, limit| self.scan(from, to, false, limit), show)
    }
}

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

/// Where logs are kept: lineages and control logs, the index over them, and chunks.
///
/// One caller appends at a time (the committer); anybody reads at any time.
pub trait Log: Send + Sync {
    /// The process that opened it: in another one every call fails with `Unavailable`.
    fn owner(&self) -> &Owner;

    /// `Unavailable` with [`Detail::ReadOnly`](milepost_codec::Detail) where the log was opened for
    /// reading only. Callers ask before they change anything, here or elsewhere.
    fn check_writable(&self) -> Result<()> {
        Ok(())
    }

    /// `Unavailable` where the files that a log opened for reading stands on were replaced since.
    fn check_unmoved(&self) -> Result<()> {
        Ok(())
    }

    /// Stores a batch: when this returns, it survives power loss. `batch.seq` follows the last
    /// one, and each group follows its log's head; both are asserted, since the committer has
    /// checked them. After an error the outcome is unknown and every later call to append fails
    /// with `Poisoned` (promise I11), unless [`Log::has_failed`] says otherwise.
    fn append(&self, batch: Batch) -> Result<()>;

    /// Returns `false` after an append that failed before it wrote anything: nothing of it is
    /// there, and the next may succeed.
    fn has_failed(&self) -> bool {
        true
    }

    /// The last commit.
    fn seq(&self) -> Seq;

    /// Where a log ends; nothing where there is no such log.
    fn head(&self, log: LogId) -> Result<Option<LogHead>>;

    /// A stretch that holds the record at `offset` of `log` itself, ancestors not included; nothing
    /// where it has no such record.
    fn stretch(&self, log: LogId, offset: Offset) -> Result<Option<Stretch>>;

    /// Lets go of what it keeps unpacked: what is read next is read from where it is stored.
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

    /// Stores a chunk, once. It is durable after `sync_chunks`.
    fn put_chunk(&self, content: &[u8], pieces: bool) -> Result<ChunkId>;

    /// Stores chunks of at most 1 MiB each that list no pieces, each once; those that are not there
    /// together. They are durable after `sync_chunks`.
    fn put_chunks(&self, contents: &[&[u8]]) -> Result<Vec<ChunkId>> {
        contents.iter().map(|content| self.put_chunk(content, false)).collect()
    }

    /// Which chunks are stored, and whole as far as is known. Each counts as used from now on.
    fn has_chunks(&self, ids: &[ChunkId]) -> Result<Vec<bool>> {
        ids.iter().map(|id| self.get_chunk(id).map(|content| content.is_some())).collect()
    }

    /// Says that chunks which are there are needed: a compaction that is under way keeps them.
    fn uses_chunks(&self, _ids: &[ChunkId]) {}

    /// Whether a compaction is under way, which wants to know.
    fn notes_uses(&self) -> bool {
        false
    }

    /// Puts chunks into the order in which they lie, so that reading them one after another reads
    /// what is side by side; those that are not stored come last.
    fn order_chunks(&self, _ids: &mut [ChunkId]) -> Result<()> {
        Ok(())
    }

    /// A chunk; nothing where it was never stored.
    fn get_chunk(&self, id: &ChunkId) -> Result<Option<Vec<u8>>>;

    /// Whether a chunk lists pieces; not where it was never stored.
    fn lists_pieces(&self, id: &ChunkId) -> Result<bool>;

    /// Chunks that were found damaged since the log is open, and how many of them have not been
    /// stored again.
    fn damaged_chunks(&self) -> (u64, usize);

    /// Says that chunks are being stored that nothing names yet: until what it gives is dropped,
    /// they stay.
    fn storing(&self) -> Option<Box<dyn std::any::Any + Send>> {
        None
    }

    /// Makes all chunks stored so far durable.
    fn sync_chunks(&self) -> Result<()>;

    /// How far everything is where it stays: the last commit that needs no tail.
    fn applied(&self) -> Seq;

    /// Waits until all commits made so far are applied.
    fn drain(&self) -> Result<()>;

    /// Waits while much waits to be applied, so that what is less urgent does not stand in its way.
    fn settle(&self);

    /// What it takes on disk.
    fn disk_bytes(&self) -> Result<DiskBytes>;

    /// Reads and checks what only this log knows: files, frames, chunks.
    fn check_storage(&self, check: &mut StorageCheck) -> Result<()>;

    /// Ends all work. Later calls fail with `Unavailable`.
    fn close(&self) -> Result<()>;
}
