//! Metrics of an open store.

use milepost_store::metrics::Histogram;

use crate::handles::engine::Engine;
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

impl Engine {
    /// Returns the counts, levels and durations so far. Reads nothing from disk.
    ///
    /// ```
    /// use milepost::events::Message;
    /// use milepost::{Append, Engine, Options};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// let engine = Engine::open(dir.path().join(".milepost"), Options::default())?;
    /// let task = engine.start_task("tuning", "ana")?;
    /// let before = engine.metrics();
    /// task.append(Append::batch([Message::text("user", "a"), Message::text("user", "b")]))?;
    /// let now = engine.metrics();
    /// assert_eq!(now.appends - before.appends, 1);
    /// assert_eq!(now.events - before.events, 2);
    /// assert_eq!(now.journal_syncs, now.commits, "one sync for each commit");
    /// assert_eq!(now.append_us.count(), now.appends);
    /// assert_eq!(now.appends_per_commit.quantile(0.5), Some(1), "one append in each");
    /// assert_eq!(now.appends_per_commit.quantile(1.5), None, "no share of all values");
    /// println!("half of the appends took up to {:?} us", now.append_us.quantile(0.5));
    /// # engine.close()?;
    /// # Ok::<(), milepost::Error>(())
    /// ```
    pub fn metrics(&self) -> Metrics {
        let meters = &self.inner.meters;
        let log = self.inner.catalog.log();
        let (lag_commits, lag_bytes) = log.lag();
        Metrics {
            appends: meters.appends.get(),
            repeated: meters.repeated.get(),
            append_errors: meters.append_errors.get(),
            events: meters.events.get(),
            checkpoints: meters.checkpoints.get(),
            restores: meters.restores.get(),
            commits: meters.commits.get(),
            journal_syncs: meters.journal_syncs.get(),
            journal_bytes: meters.journal_bytes.get(),
            segments: meters.segments.get(),
            segments_recycled: meters.segments_recycled.get(),
            chunks: meters.chunks.get(),
            chunk_bytes: meters.chunk_bytes.get(),
            pack_syncs: meters.pack_syncs.get(),
            snapshots: meters.snapshots.get(),
            archive_files: meters.archive_files.get(),
            archive_bytes: meters.archive_bytes.get(),
            captures: meters.captures.get(),
            capture_files: meters.capture_files.get(),
            capture_files_read: meters.capture_files_read.get(),
            lag_commits,
            lag_bytes,
            appends_per_commit: meters.appends_per_commit.now(),
            events_per_commit: meters.events_per_commit.now(),
            append_us: meters.append_us.now(),
            commit_us: meters.commit_us.now(),
            apply_us: meters.apply_us.now(),
            archive_us: meters.archive_us.now(),
            capture_us: meters.capture_us.now(),
            fold_us: meters.fold_us.now(),
            kept: self.inner.kept.counts(),
            poisoned: log.is_poisoned(),
        }
    }
}
