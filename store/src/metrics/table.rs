//! The table of metrics. A row is a meter, a field of [`Metrics`], and the name of both exporters:
//! the `metrics` facade and the text format of Prometheus. Its comment is the help text.

use crate::metrics::facade::Facade;
use crate::metrics::histogram::{Distribution, Histogram};
use crate::metrics::meters::{Count, DiskLevels, Level};

/// Value of a metric.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// A number that only grows.
    Counter(u64),
    /// A number that rises and falls.
    Gauge(u64),
    /// A distribution, and the divisor that turns its values into the unit of the metric's name.
    Distribution(&'a Histogram, f64),
}

/// A metric as exporters report it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Metric<'a> {
    /// Name, as in `docs/RUNS.md`.
    pub name: &'static str,
    /// Description.
    pub help: &'static str,
    /// Current value.
    pub value: Value<'a>,
}

/// The divisor of a distribution's values for the unit of its name.
macro_rules! divisor {
    (counts) => {
        1.0
    };
    (seconds) => {
        1e6
    };
}

macro_rules! help {
    ($($doc:literal)+) => {
        concat!($($doc),+).trim_start()
    };
}

macro_rules! metrics {
    (
        counters { $($(#[doc = $counter_doc:literal])+ $counter:ident $counter_name:literal;)* }
        levels { $($(#[doc = $level_doc:literal])+ $level:ident $level_name:literal;)* }
        distributions {
            $($(#[doc = $doc:literal])+ $distribution:ident $unit:ident $name:literal;)*
        }
    ) => {
        /// All meters of one open store, updated without a lock. The meters of a commit are updated
        /// before its callers return.
        #[derive(Debug)]
        #[repr(align(128))]
        pub struct Meters {
            $($(#[doc = $counter_doc])+ pub $counter: Count,)*
            $($(#[doc = $doc])+ pub $distribution: Distribution,)*
            $(pub(super) $level: Level,)*
            pub(super) disk: DiskLevels,
        }

        impl Meters {
            pub(super) fn of(store: String) -> Self {
                let facade = Facade::new(store);
                Self {
                    $($counter: Count::new(
                        facade.counter($counter_name, help!($($counter_doc)+)),
                    ),)*
                    $($distribution: Distribution::new(facade.$unit($name, help!($($doc)+))),)*
                    $($level: Level::new(facade.gauge($level_name, help!($($level_doc)+))),)*
                    disk: DiskLevels::new(&facade),
                }
            }

            /// Returns the current values.
            pub fn now(&self) -> Metrics {
                Metrics {
                    $($counter: self.$counter.get(),)*
                    $($level: self.$level.get(),)*
                    $($distribution: self.$distribution.now(),)*
                }
            }
        }

        /// Counts, levels and durations of an engine since its store was opened.
        ///
        /// Names with `_us` are durations in microseconds, by the system's monotonic clock; names
        /// with `bytes` are bytes; all others are counts. Values read during concurrent operations
        /// may differ slightly in time.
        ///
        /// With the feature `metrics` the same values go to the recorder of the `metrics` facade,
        /// as listed in `docs/RUNS.md`.
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub struct Metrics {
            $($(#[doc = $counter_doc])+ pub $counter: u64,)*
            $($(#[doc = $level_doc])+ pub $level: u64,)*
            $($(#[doc = $doc])+ pub $distribution: Histogram,)*
        }

        impl Metrics {
            /// Returns each metric with its name and help text.
            pub fn all(&self) -> Vec<Metric<'_>> {
                vec![
                    $(Metric {
                        name: $counter_name,
                        help: help!($($counter_doc)+),
                        value: Value::Counter(self.$counter),
                    },)*
                    $(Metric {
                        name: $level_name,
                        help: help!($($level_doc)+),
                        value: Value::Gauge(self.$level),
                    },)*
                    $(Metric {
                        name: $name,
                        help: help!($($doc)+),
                        value: Value::Distribution(&self.$distribution, divisor!($unit)),
                    },)*
                ]
            }
        }
    };
}

metrics! {
    counters {
        /// Committed appends. A mark counts as one, and so do the events that open a task or a
        /// lineage, or activate one.
        appends "milepost_appends_total";
        /// Repeated appends, answered by their key.
        repeated "milepost_repeated_appends_total";
        /// Appends that were refused or failed, for any reason.
        append_errors "milepost_append_errors_total";
        /// Committed events of lineages.
        events "milepost_events_total";
        /// Marked checkpoints.
        checkpoints "milepost_checkpoints_total";
        /// Restores.
        restores "milepost_restores_total";
        /// Commits.
        commits "milepost_commits_total";
        /// Syncs of the journal: one for each commit. A store in memory has none.
        journal_syncs "milepost_journal_syncs_total";
        /// Bytes of commits written to the journal.
        journal_bytes "milepost_journal_bytes_total";
        /// Segments of the journal that were begun.
        segments "milepost_segments_total";
        /// Segments begun in the file of an archived segment.
        segments_recycled "milepost_segments_recycled_total";
        /// Stored chunks. A chunk that exists already is not counted.
        chunks "milepost_chunks_total";
        /// Bytes of stored chunks in the packs.
        chunk_bytes "milepost_chunk_bytes_total";
        /// Syncs of packs.
        pack_syncs "milepost_pack_syncs_total";
        /// Snapshots made.
        snapshots "milepost_snapshots_total";
        /// Archived segments.
        archive_files "milepost_archive_files_total";
        /// Bytes of archived segments.
        archive_bytes "milepost_archive_bytes_total";
        /// Captures of workspaces, except those of the present state in a restore.
        captures "milepost_captures_total";
        /// Files that captures examined.
        capture_files "milepost_capture_files_total";
        /// Files that captures had to read.
        capture_files_read "milepost_capture_files_read_total";
        /// Requested states of checkpoints that were cached.
        kept_hits "milepost_kept_state_hits_total";
        /// Requested states of checkpoints that had to be folded.
        kept_misses "milepost_kept_state_misses_total";
        /// Cached states removed to make room.
        kept_evictions "milepost_kept_state_evictions_total";
    }
    levels {
        /// Commits that wait for the applier now.
        lag_commits "milepost_applier_lag_commits";
        /// Bytes that wait for the applier now, held in memory.
        lag_bytes "milepost_applier_lag_bytes";
        /// Cached states of checkpoints now.
        kept_states "milepost_kept_states";
        /// Encoded bytes of the cached states.
        kept_bytes "milepost_kept_state_bytes";
        /// The most states of checkpoints that are cached.
        kept_states_limit "milepost_kept_states_limit";
        /// The most encoded bytes of the cached states.
        kept_bytes_limit "milepost_kept_state_limit_bytes";
        /// The bytes over which cached states raise an alert; 0 for none.
        kept_bytes_alert "milepost_kept_state_alert_bytes";
        /// 1 after a write failed: the store has to be reopened.
        poisoned "milepost_poisoned";
    }
    distributions {
        /// Appends of each commit. Their sum is `appends`.
        appends_per_commit counts "milepost_commit_appends";
        /// Events of each commit. Their sum is `events`.
        events_per_commit counts "milepost_commit_events";
        /// Duration of each append for its caller: from the encoding of its events until the call
        /// returns, or until the ticket has its result. Includes repeated appends, and excludes
        /// failed ones.
        append_us seconds "milepost_append_seconds";
        /// Duration of writing each commit to the journal and syncing it, including the start of a
        /// new segment.
        commit_us seconds "milepost_commit_seconds";
        /// Duration of each round of the applier.
        apply_us seconds "milepost_apply_seconds";
        /// Duration of archiving each segment.
        archive_us seconds "milepost_archive_seconds";
        /// Duration of each fold of a requested state.
        fold_us seconds "milepost_fold_seconds";
        /// Duration of each capture of a workspace, including its lock and its event.
        capture_us seconds "milepost_capture_seconds";
    }
}
