//! Metrics of the service: requests by route and status, and durations by route.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

/// Upper bounds of the duration buckets, in seconds.
pub(crate) const BUCKETS: [f64; 12] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// The counters. Routes are patterns, which are few, and never paths.
#[derive(Debug, Default)]
pub(crate) struct Meters(Mutex<Counts>);

/// A snapshot of the counters.
#[derive(Debug, Default, Clone)]
pub(crate) struct Counts {
    /// Requests by route and status.
    pub(crate) requests: BTreeMap<(String, u16), u64>,
    /// Durations by route.
    pub(crate) took: BTreeMap<String, Took>,
}

/// A histogram of durations.
#[derive(Debug, Default, Clone)]
pub(crate) struct Took {
    /// Requests that ended within each bucket and not within the previous one.
    pub(crate) buckets: [u64; BUCKETS.len()],
    pub(crate) count: u64,
    pub(crate) seconds: f64,
}

impl Meters {
    pub(crate) fn count(&self, route: &str, status: u16, took: Duration) {
        let mut counts = self.0.lock();
        let requests = counts.requests.entry((route.to_owned(), status));
        *requests.or_default() += 1;
        let seconds = took.as_secs_f64();
        let of = counts.took.entry(route.to_owned()).or_default();
        of.count += 1;
        of.seconds += seconds;
        let bucket = BUCKETS.iter().position(|end| seconds <= *end);
        if let Some(bucket) = bucket.and_then(|n| of.buckets.get_mut(n)) {
            *bucket += 1;
        }
    }

    pub(crate) fn now(&self) -> Counts {
        self.0.lock().clone()
    }
}
