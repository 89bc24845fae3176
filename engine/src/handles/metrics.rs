//! Metrics of an open store.

use milepost_store::metrics::Histogram;

use crate::history::state_cache::StateCacheStats;

/// Counts, levels and durations of this engine since its store was opened.
///
/// Names with `_us` are durations in microseconds, by the system's monotonic clock; names with
/// `bytes` are bytes; all others are counts. Values read during concurrent operations may differ
/// slightly in time.
///
/// With the feature `metrics` the same values go to the recorder of the `metrics` facade, as listed
/// in `docs/RUNS.md`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Metrics {
    /// Committed appends. A mark counts as one, and so do the events that open a task or a lineage,
    /// or activate one.
    pub appends: u64,
    /// Repeated appends, answered by their key.
    pub repeated: u64,
    /// Appends that were refused or failed, for any reason.
    pub append_errors: u64,
    /// Committed events of lineages.
    pub events: u64,
    /// Marked checkpoints.
    pub checkpoints: u64,
    /// Restores.
    pub restores: u64,
    /// Commits.
    pub commits: u64,
    /// Syncs of the journal: one for each commit. A store in memory has none.
    pub journal_syncs: u64,
    /// Bytes of commits written to the journal.
    pub journal_bytes: u64,
    /// Segments of the journal that were begun.
    pub segments: u64,
    /// Segments begun in the file of an archived segment.
    pub segments_recycled: u64,
    /// Stored chunks. A chunk that exists already is not counted.
    pub chunks: u64,
    /// Their bytes in the packs.
    pub chunk_bytes: u64,
    /// Syncs of packs.
    pub pack_syncs: u64,
    /// Snapshots made.
    pub snapshots: u64,
    /// Archived segments.
    pub archive_files: u64,
    /// Bytes of archived segments.
    pub archive_bytes: u64,
    /// Captures of workspaces, except those of the present state in a restore.
    pub captures: u64,
    /// Files that captures examined.
    pub capture_files: u64,
    /// Files that captures had to read.
    pub capture_files_read: u64,
    /// Commits that wait for the applier now.
    pub lag_commits: u64,
    /// Bytes that wait for the applier now, held in memory.
    pub lag_bytes: u64,
    /// Appends of each commit. Their sum is `appends`.
    pub appends_per_commit: Histogram,
    /// Events of each commit. Their sum is `events`.
    pub events_per_commit: Histogram,
    /// Duration of each append for its caller: from the encoding of its events until the call
    /// returns, or until the ticket has its result. Includes repeated appends, and excludes failed
    /// ones.
    pub append_us: Histogram,
    /// Duration of writing each commit to the journal and syncing it, including the start of a new
    /// segment.
    pub commit_us: Histogram,
    /// Duration of each round of the applier.
    pub apply_us: Histogram,
    /// Duration of archiving each segment.
    pub archive_us: Histogram,
    /// Duration of each fold of a requested state.
    pub fold_us: Histogram,
    /// Duration of each capture of a workspace, including its lock and its event.
    pub capture_us: Histogram,
    /// Statistics of the cache of checkpoint states.
    pub kept: StateCacheStats,
    /// `true` after a write failed: the store has to be reopened.
    pub poisoned: bool,
}
