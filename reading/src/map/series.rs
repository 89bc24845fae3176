//! The values of a metric in a history, in buckets.

use milepost_codec::Offset;
use milepost_replay::Event;

/// Maximum number of buckets that are kept. With more, two become one.
const BUCKETS: usize = if cfg!(test) { 8 } else { 4096 };

/// Consecutive values of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct MetricBucket {
    /// The offset of the first value.
    pub at: Offset,
    /// The step of the first value.
    pub step: u64,
    /// The time of the first value, in microseconds since the Unix epoch.
    pub time_us: u64,
    /// The first value.
    pub first: f64,
    /// The last value.
    pub last: f64,
    /// The least value. A NaN is neither the least nor the greatest, unless all are.
    pub min: f64,
    /// The greatest value.
    pub max: f64,
    /// The number of values.
    pub count: u64,
    /// The offset of the last value.
    pub last_at: Offset,
    /// The offset of the least value, the first of several.
    pub min_at: Offset,
    /// The offset of the greatest value, the first of several.
    pub max_at: Offset,
}

impl MetricBucket {
    /// Returns a value, with its step, its time and its offset.
    pub fn of(value: f64, step: u64, event: &Event) -> Self {
        let (at, time_us) = (event.offset, event.header.time_us);
        let [first, last, min, max] = [value; 4];
        let [last_at, min_at, max_at] = [at; 3];
        Self { at, step, time_us, first, last, min, max, count: 1, last_at, min_at, max_at }
    }

    /// Joins consecutive buckets, so that at most this many are left.
    pub fn joined(buckets: &[Self], most: usize) -> Vec<Self> {
        joined(buckets, buckets.len().div_ceil(most.max(1)).max(1))
    }

    /// Adds the values that follow those of the bucket.
    pub fn join(&mut self, behind: &Self) {
        (self.last, self.last_at) = (behind.last, behind.last_at);
        if behind.min < self.min || self.min.is_nan() {
            (self.min, self.min_at) = (behind.min, behind.min_at);
        }
        if behind.max > self.max || self.max.is_nan() {
            (self.max, self.max_at) = (behind.max, behind.max_at);
        }
        self.count += behind.count;
    }
}

/// The values of a metric, each bucket but the last with the same number of them.
#[derive(Debug, Clone)]
pub(super) struct Series {
    /// The number of values of a bucket.
    width: u64,
    buckets: Vec<MetricBucket>,
}

impl Series {
    pub(super) const fn new() -> Self {
        Self { width: 1, buckets: Vec::new() }
    }

    pub(super) fn add(&mut self, value: &MetricBucket) {
        if let Some(last) = self.buckets.last_mut().filter(|last| last.count < self.width) {
            return last.join(value);
        }
        if self.buckets.len() == BUCKETS {
            self.width *= 2;
            self.buckets = joined(&self.buckets, 2);
        }
        self.buckets.push(*value);
    }

    /// Returns the buckets that begin before an offset. The last one may reach beyond it.
    pub(super) fn buckets(&self, before: Offset) -> &[MetricBucket] {
        let end = self.buckets.partition_point(|bucket| bucket.at < before);
        self.buckets.get(..end).unwrap_or_default()
    }

    /// Returns all values as one bucket.
    pub(super) fn whole(&self) -> Option<MetricBucket> {
        joined(&self.buckets, self.buckets.len().max(1)).first().copied()
    }

    /// Returns about the bytes that it takes.
    pub(super) fn weight(&self) -> usize {
        self.buckets.capacity() * size_of::<MetricBucket>()
    }
}

/// Joins each `group` of buckets to one.
fn joined(buckets: &[MetricBucket], group: usize) -> Vec<MetricBucket> {
    let groups = buckets.chunks(group);
    let whole = groups.filter_map(|group| {
        let (first, behind) = group.split_first()?;
        let mut all = *first;
        behind.iter().for_each(|bucket| all.join(bucket));
        Some(all)
    });
    whole.collect()
}
