//! Handles of the recorder of the `metrics` facade. A handle is obtained once, so recording is a
//! call without a look-up.

use metrics::Unit;

/// Creates handles whose label `store` is the store's id.
#[derive(Debug, Clone)]
pub struct Facade {
    store: String,
}

impl Facade {
    pub fn new(store: String) -> Self {
        Self { store }
    }

    pub fn counter(&self, name: &'static str, what: &'static str) -> CounterHandle {
        let unit = if name.contains("_bytes_") { Unit::Bytes } else { Unit::Count };
        metrics::describe_counter!(name, unit, what);
        CounterHandle(metrics::counter!(name, "store" => self.store.clone()))
    }

    pub fn gauge(&self, name: &'static str, what: &'static str) -> GaugeHandle {
        let unit = if name.ends_with("_bytes") { Unit::Bytes } else { Unit::Count };
        metrics::describe_gauge!(name, unit, what);
        GaugeHandle(metrics::gauge!(name, "store" => self.store.clone()))
    }

    /// Returns a gauge for the bytes of one part of the store.
    pub fn part(&self, name: &'static str, part: &'static str, what: &'static str) -> GaugeHandle {
        metrics::describe_gauge!(name, Unit::Bytes, what);
        GaugeHandle(metrics::gauge!(name, "store" => self.store.clone(), "part" => part))
    }

    /// Returns a histogram of counts.
    pub fn counts(&self, name: &'static str, what: &'static str) -> HistogramHandle {
        metrics::describe_histogram!(name, Unit::Count, what);
        let histogram = metrics::histogram!(name, "store" => self.store.clone());
        HistogramHandle(histogram, 1.0)
    }

    /// Returns a histogram of durations: recorded in microseconds, reported in seconds.
    pub fn seconds(&self, name: &'static str, what: &'static str) -> HistogramHandle {
        metrics::describe_histogram!(name, Unit::Seconds, what);
        let histogram = metrics::histogram!(name, "store" => self.store.clone());
        HistogramHandle(histogram, 1e6)
    }
}

#[derive(Debug)]
pub struct CounterHandle(metrics::Counter);

impl CounterHandle {
    pub fn add(&self, more: u64) {
        self.0.increment(more);
    }
}

#[derive(Debug)]
pub struct GaugeHandle(metrics::Gauge);

impl GaugeHandle {
    pub fn set(&self, now: u64) {
        self.0.set(now as f64);
    }
}

/// A handle, and the divisor of its values.
#[derive(Debug)]
pub struct HistogramHandle(metrics::Histogram, f64);

impl HistogramHandle {
    pub fn record(&self, value: u64) {
        self.0.record(value as f64 / self.1);
    }
}
