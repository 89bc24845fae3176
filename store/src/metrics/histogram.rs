//! Histograms: distributions of values, in buckets that grow with the value.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use histogram::{AtomicHistogram, Config};

use crate::metrics::facade;

/// 32 buckets for each power of two: the error of a value is about 3 %. The last bucket ends at
/// 2^40, which is 12 days in microseconds.
const CONFIG: Config = match Config::new(5, 40) {
    Ok(config) => config,
    Err(_) => panic!("32 buckets for each of 40 powers of two"),
};

/// The largest value with a bucket: larger ones are counted there.
const LAST: u64 = (1 << 40) - 1;

/// Distribution of values at the time of the call.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    buckets: histogram::Histogram,
    count: u64,
    sum: u64,
    max: u64,
}

impl Histogram {
    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the exact sum of all values.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Returns the exact largest value, or 0 if there was none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns the mean of all values, or `None` if there was none.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the value that a share of all values, from 0 to 1, is at or below: 0.5 is the
    /// median. The result is up to about 3 % too large. `None` if there was no value, or `share` is
    /// out of range.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let bucket = self.buckets.quantile_bucket(share).ok().flatten()?;
        Some(bucket.end().min(self.max))
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("sum", &self.sum)
            .field("p50", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .field("max", &self.max)
            .finish()
    }
}

/// A histogram that several threads record into without a lock. Its alignment keeps threads that
/// record into different ones from sharing a cache line.
#[derive(Debug)]
#[repr(align(128))]
pub struct Distribution {
    buckets: AtomicHistogram,
    sum: AtomicU64,
    max: AtomicU64,
    exported: facade::HistogramHandle,
}

impl Distribution {
    pub fn new(exported: facade::HistogramHandle) -> Self {
        Self {
            buckets: AtomicHistogram::with_config(&CONFIG),
            sum: AtomicU64::new(0),
            max: AtomicU64::new(0),
            exported,
        }
    }

    pub fn record(&self, value: u64) {
        // Every value up to `LAST` has a bucket, so this cannot fail.
        let _ = self.buckets.increment(value.min(LAST));
        self.sum.fetch_add(value, Ordering::Relaxed);
        // A load first: most values are not the largest.
        if value > self.max.load(Ordering::Relaxed) {
            self.max.fetch_max(value, Ordering::Relaxed);
        }
        self.exported.record(value);
    }

    pub fn now(&self) -> Histogram {
        let buckets = self.buckets.load();
        Histogram {
            count: buckets.as_slice().iter().sum(),
            buckets,
            sum: self.sum.load(Ordering::Relaxed),
            max: self.max.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::facade::Facade;

    fn distribution() -> Distribution {
        Distribution::new(Facade::new(String::new()).counts("milepost_test", "a test"))
    }

    #[test]
    fn without_values_there_is_no_quantile() {
        let empty = distribution().now();
        assert_eq!((empty.count(), empty.sum(), empty.max()), (0, 0, 0));
        assert_eq!((empty.quantile(0.5), empty.mean()), (None, None));
    }

    #[test]
    fn a_quantile_is_at_most_three_percent_too_large_and_the_largest_value_is_exact() {
        let distribution = distribution();
        (1..=100_000).for_each(|value| distribution.record(value));
        let now = distribution.now();
        assert_eq!((now.count(), now.max()), (100_000, 100_000));
        assert_eq!(now.sum(), 100_000 * 100_001 / 2);
        for share in [0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999] {
            let exact = share * 100_000.0;
            let estimate = now.quantile(share).unwrap() as f64;
            assert!((exact..=exact * 1.04).contains(&estimate), "{share}: {estimate}, not {exact}");
        }
        assert_eq!(now.quantile(1.0), Some(100_000));
    }

    #[test]
    fn a_value_without_a_bucket_of_its_own_is_counted_in_the_last() {
        let distribution = distribution();
        distribution.record(LAST);
        distribution.record(LAST + 1);
        distribution.record(1 << 50);
        let now = distribution.now();
        assert_eq!((now.count(), now.max()), (3, 1 << 50));
        assert_eq!(now.quantile(0.5), Some(LAST));
    }
}
