//! The meters of an open store, updated without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

use milepost_codec::Result;

use crate::metrics::facade;
use crate::metrics::facade::Facade;
use crate::metrics::histogram::Spread;

/// A counter.
#[derive(Debug)]
pub struct Count {
    value: AtomicU64,
    told: facade::Counter,
}

impl Count {
    fn new(told: facade::Counter) -> Self {
        Self { value: AtomicU64::new(0), told }
    }

    pub fn add(&self, more: u64) {
        self.value.fetch_add(more, Ordering::Relaxed);
        self.told.add(more);
    }

    pub fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }
}

/// All meters of one open store. The meters of a commit are updated before its callers return.
#[derive(Debug)]
#[repr(align(128))]
pub struct Meters {
    /// Appends that were committed.
    pub appends: Count,
    /// Appends whose key was seen before.
    pub repeated: Count,
    /// Appends that were refused or failed.
    pub append_errors: Count,
    /// Events that were committed.
    pub events: Count,
    /// Checkpoints that were marked.
    pub checkpoints: Count,
    /// Restores.
    pub restores: Count,
    /// Commits.
    pub commits: Count,
    /// Syncs of commits.
    pub journal_syncs: Count,
    /// Bytes of commits that were written to the journal.
    pub journal_bytes: Count,
    /// Segments of the journal that were begun.
    pub segments: Count,
    /// Segments that were begun in an old one's file.
    pub segments_recycled: Count,
    /// Chunks that were stored.
    pub chunks: Count,
    /// Bytes of chunks that were written to the packs.
    pub chunk_bytes: Count,
    /// Syncs of packs.
    pub pack_syncs: Count,
    /// Snapshots that were made.
    pub snapshots: Count,
    /// Segments that were archived.
    pub archive_files: Count,
    /// Bytes that were written to the archive.
    pub archive_bytes: Count,
    /// Captures of workspaces.
    pub captures: Count,
    /// Files that captures looked at.
    pub capture_files: Count,
    /// Files that captures had to read.
    pub capture_files_read: Count,
    /// States of checkpoints that were found in memory.
    pub kept_hits: Count,
    /// States of checkpoints that had to be folded.
    pub kept_misses: Count,
    /// States that were dropped from memory.
    pub kept_evictions: Count,
    /// Appends of each commit.
    pub appends_per_commit: Spread,
    /// Events of each commit.
    pub events_per_commit: Spread,
    /// Duration of each append, as its caller sees it.
    pub append_us: Spread,
    /// Duration of writing each commit to the journal and syncing it.
    pub commit_us: Spread,
    /// Duration of each round of the applier.
    pub apply_us: Spread,
    /// Duration of archiving each segment.
    pub archive_us: Spread,
    /// Duration of folding each state that was asked for.
    pub fold_us: Spread,
    /// Duration of each capture of a workspace.
    pub capture_us: Spread,
    lag_commits: facade::Gauge,
    lag_bytes: facade::Gauge,
    kept_states: facade::Gauge,
    kept_bytes: facade::Gauge,
    poisoned: facade::Gauge,
    disk: [facade::Gauge; 4],
}

impl Meters {
    /// Returns the meters of the store with this id, all at zero.
    pub fn new(store: String) -> Self {
        let facade = Facade::new(store);
        let count = |name, what| Count::new(facade.counter(name, what));
        let sizes = |name, what| Spread::new(facade.sizes(name, what));
        let seconds = |name, what| Spread::new(facade.seconds(name, what));
        let disk = |part| {
            let what = "what the store takes on disk, when its stats were asked for last";
            facade.part("milepost_disk_bytes", part, what)
        };
        let meters = Self {
            appends: count("milepost_appends_total", "appends that were committed"),
            repeated: count("milepost_repeated_appends_total", "appends whose key was seen before"),
            append_errors: count(
                "milepost_append_errors_total",
                "appends that were refused or failed",
            ),
            events: count("milepost_events_total", "events that were committed"),
            checkpoints: count("milepost_checkpoints_total", "checkpoints that were marked"),
            restores: count("milepost_restores_total", "restores"),
            commits: count("milepost_commits_total", "commits"),
            journal_syncs: count("milepost_journal_syncs_total", "syncs of commits"),
            journal_bytes: count(
                "milepost_journal_bytes_total",
                "bytes of commits that were written to the journal",
            ),
            segments: count("milepost_segments_total", "segments of the journal that were begun"),
            segments_recycled: count(
                "milepost_segments_recycled_total",
                "segments that were begun in an old one's file",
            ),
            chunks: count("milepost_chunks_total", "chunks that were stored"),
            chunk_bytes: count(
                "milepost_chunk_bytes_total",
                "bytes of chunks that were written to the packs",
            ),
            pack_syncs: count("milepost_pack_syncs_total", "syncs of packs"),
            snapshots: count("milepost_snapshots_total", "snapshots that were made"),
            archive_files: count("milepost_archive_files_total", "segments that were archived"),
            archive_bytes: count(
                "milepost_archive_bytes_total",
                "bytes that were written to the archive",
            ),
            captures: count("milepost_captures_total", "captures of workspaces"),
            capture_files: count("milepost_capture_files_total", "files that captures looked at"),
            capture_files_read: count(
                "milepost_capture_files_read_total",
                "files that captures had to read",
            ),
            kept_hits: count(
                "milepost_kept_state_hits_total",
                "states of checkpoints that were kept",
            ),
            kept_misses: count(
                "milepost_kept_state_misses_total",
                "states of checkpoints that had to be folded",
            ),
            kept_evictions: count(
                "milepost_kept_state_evictions_total",
                "cached states that were evicted",
            ),
            appends_per_commit: sizes("milepost_commit_appends", "appends of one commit"),
            events_per_commit: sizes("milepost_commit_events", "events of one commit"),
            append_us: seconds("milepost_append_seconds", "an append, as its caller sees it"),
            commit_us: seconds(
                "milepost_commit_seconds",
                "writing one commit to the journal and syncing it",
            ),
            apply_us: seconds("milepost_apply_seconds", "one round of the applier"),
            archive_us: seconds("milepost_archive_seconds", "archiving one segment"),
            fold_us: seconds("milepost_fold_seconds", "folding a state that was asked for"),
            capture_us: seconds("milepost_capture_seconds", "capturing a workspace"),
            lag_commits: facade
                .gauge("milepost_applier_lag_commits", "commits that wait for the applier"),
            lag_bytes: facade
                .gauge("milepost_applier_lag_bytes", "bytes that wait for the applier"),
            kept_states: facade.gauge("milepost_kept_states", "states that are kept in memory"),
            kept_bytes: facade.gauge("milepost_kept_state_bytes", "bytes of the kept states"),
            poisoned: facade.gauge(
                "milepost_poisoned",
                "1 where a write failed and the store has to be reopened",
            ),
            disk: ["journal", "archive", "sled", "packs"].map(disk),
        };
        // Clears the value of an earlier engine of the same store that failed.
        meters.poisoned.set(0);
        meters
    }

    /// Counts an append that was refused or failed.
    pub fn refused<T>(&self, done: Result<T>) -> Result<T> {
        done.inspect_err(|_| self.append_errors.add(1))
    }

    /// Sets the lag of the applier. Called under the lock of the tail, so that the last value wins.
    pub fn lag(&self, commits: usize, bytes: usize) {
        self.lag_commits.set(commits as u64);
        self.lag_bytes.set(bytes as u64);
    }

    /// Sets the number and bytes of kept states. Called under their lock.
    pub fn kept(&self, states: u64, bytes: u64) {
        self.kept_states.set(states);
        self.kept_bytes.set(bytes);
    }

    /// Records a failed write.
    pub fn poisoned(&self) {
        self.poisoned.set(1);
    }

    /// Sets the disk usage of journal, archive, sled and packs, in bytes.
    pub fn disk(&self, parts: [u64; 4]) {
        for (gauge, bytes) in self.disk.iter().zip(parts) {
            gauge.set(bytes);
        }
    }
}

/// Health of a supervised store, for the facade.
#[derive(Debug)]
pub struct DegradedMeters {
    failures: facade::Counter,
    degraded: facade::Gauge,
    pending: facade::Gauge,
    lasted: facade::Histogram,
}

impl DegradedMeters {
    /// Returns the meters of a supervised store.
    pub fn new(store: String) -> Self {
        let facade = Facade::new(store);
        let meters = Self {
            failures: facade
                .counter("milepost_degraded_total", "how often a supervised store became degraded"),
            degraded: facade.gauge("milepost_degraded", "1 while a supervised store is degraded"),
            pending: facade.gauge("milepost_degraded_pending", "appends that are held"),
            lasted: facade.seconds(
                "milepost_degraded_seconds",
                "how long a supervised store was degraded, told when it is well again",
            ),
        };
        meters.degraded.set(0);
        meters.pending.set(0);
        meters
    }

    /// Counts a failure of the store.
    pub fn began(&self) {
        self.failures.add(1);
        self.degraded.set(1);
    }

    /// Records that the store works again, after how many microseconds.
    pub fn ended(&self, after_us: u64) {
        self.lasted.record(after_us);
        self.degraded.set(0);
    }

    /// Sets the number of buffered appends.
    pub fn pending(&self, appends: usize) {
        self.pending.set(appends as u64);
    }
}
