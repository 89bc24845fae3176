//! What the service counts of itself: requests by route and status, and how long each route took.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

/// Ends of the buckets of durations, in seconds.
pub(crate) const BUCKETS: [f64; 12] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// What is counted. Routes are patterns, of which there are few, and never paths.
#[derive(Debug, Default)]
pub(crate) struct Meters(Mutex<Counts>);

/// As it was at one moment.
#[derive(Debug, Default, Clone)]
pub(crate) struct Counts {
    /// WriteContext route and status.
    pub(crate) requests: BTreeMap<(String, u16), u64>,
    /// WriteContext route.
    pub(crate) took: BTreeMap<String, Took>,
}

/// How long requests took.
#[derive(Debug, Default, Clone)]
pub(crate) struct Took {
    /// How many ended within each bucket, and not within the one before.
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
