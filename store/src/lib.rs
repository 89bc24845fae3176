//! The store of [Milepost](https://crates.io/crates/milepost): logs of records in a folder, with an
//! index over them, and chunks.
//!
//! The store handles records, frames and index entries, but not checkpoints, restores or states.
//! The engine assigns offsets and chains; the store makes a batch durable, orders it and reads it
//! back. This crate is part of the engine, not an interface: use `milepost`.
//!
//! ```text
//! log.rs             a log as the engine sees it
//! commit_log.rs      the seam: commits and chunks, all that another log has to implement
//! projection.rs      derived data: records, index, and the maintenance of both
//! commit_batch.rs    a commit: chained records, index entries      content.rs  bodies in chunks
//! extent.rs          the result of a read: some sections of one log, unpacked
//! tail.rs            commits that are not applied yet              options.rs  options of opening
//! memory.rs          a log in memory, for tests and trials
//! local/             a log in a folder: journal, sled, archive, packs
//! storage_check.rs   the check of its files, and its faults        open_report.rs  opening report
//! index/             keys and entries, and what a record adds      digest.rs  sums over entries
//! liveness.rs        the parts of logs that retention kept         tree_walk.rs  captured trees
//! metrics/           counts, levels and durations                  process.rs  the owning process
//! files/             files that a crash cannot break               clock.rs  entropy.rs
//! threads.rs         named threads                                 cache.rs  unpacked content
//! platform/          calls that differ by system
//! sync/              locks and channels, or those of a scheduler that tries interleavings
//! testing/           tests that every implementation passes
//! ```

mod cache;
pub mod clock;
mod commit_batch;
mod commit_log;
mod content;
pub mod digest;
pub mod entropy;
mod extent;
pub mod files;
pub mod index;
pub mod liveness;
pub mod local;
mod log;
mod memory;
pub mod metrics;
pub mod open_report;
mod options;
mod platform;
pub mod process;
mod projection;
mod storage_check;
pub mod sync;
mod tail;
#[cfg(test)]
mod testing;
pub mod threads;
pub mod tree_walk;

pub use cache::{Cache, InMemory};
pub use commit_batch::{CommitBatch, LogBatchMeta};
pub use commit_log::{ChunkStore, CommitLog};
pub use content::{
    CHUNK, INLINE_MAX, chunked, compared, middle, put_body, put_content, stored_apart,
};
pub use extent::Extent;
pub use log::Log;
pub use memory::MemoryStore;
pub use options::OpenOptions;
pub use projection::{Compacted, CompactionHost, CompactionStep, DiskBytes, Index, Maintenance};
pub use storage_check::{EventPlace, Fault, Remedy, Sections, StorageCheck, place};
pub use tail::Tail;
