//! Counters and levels, and the updates of several at once.

use std::sync::atomic::{AtomicU64, Ordering};

use milepost_codec::Result;

use crate::metrics::facade::{self, Facade};
use crate::metrics::table::Meters;

/// A counter.
#[derive(Debug)]
pub struct Count {
    value: AtomicU64,
    exported: facade::CounterHandle,
}

impl Count {
    pub(super) fn new(exported: facade::CounterHandle) -> Self {
        Self { value: AtomicU64::new(0), exported }
    }

    pub fn add(&self, more: u64) {
        self.value.fetch_add(more, Ordering::Relaxed);
        self.exported.add(more);
    }

    pub fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }
}

/// A number that rises and falls.
#[derive(Debug)]
pub struct Level {
    value: AtomicU64,
    exported: facade::GaugeHandle,
}

impl Level {
    pub(super) fn new(exported: facade::GaugeHandle) -> Self {
        Self { value: AtomicU64::new(0), exported }
    }

    fn set(&self, now: u64) {
        self.value.store(now, Ordering::Relaxed);
        self.exported.set(now);
    }

    pub(super) fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }
}

/// Disk usage of the parts of a store, for the facade.
#[derive(Debug)]
pub struct DiskLevels([facade::GaugeHandle; 4]);

impl DiskLevels {
    pub(super) fn new(facade: &Facade) -> Self {
        let what = "Bytes of each part of the store on disk, when its statistics were read last.";
        let part = |part| facade.part("milepost_disk_bytes", part, what);
        Self(["journal", "archive", "sled", "packs"].map(part))
    }
}

impl Meters {
    /// Returns the meters of the store with this id, all at zero.
    pub fn new(store: String) -> Self {
        let meters = Self::of(store);
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

    /// Sets the limits of kept states, and the bytes over which they raise an alert, or 0.
    pub fn kept_limits(&self, states: u64, bytes: u64, alert: u64) {
        self.kept_states_limit.set(states);
        self.kept_bytes_limit.set(bytes);
        self.kept_bytes_alert.set(alert);
    }

    /// Records a failed write.
    pub fn poisoned(&self) {
        self.poisoned.set(1);
    }

    /// Sets the disk usage of journal, archive, sled and packs, in bytes.
    pub fn disk(&self, parts: [u64; 4]) {
        for (gauge, bytes) in self.disk.0.iter().zip(parts) {
            gauge.set(bytes);
        }
    }
}

/// Health of a supervised store, for the facade.
#[derive(Debug)]
pub struct DegradedMeters {
    failures: facade::CounterHandle,
    degraded: facade::GaugeHandle,
    pending: facade::GaugeHandle,
    lasted: facade::HistogramHandle,
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
