//! The clock: the only file that asks the system for the time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The source of event times. Order never depends on it.
pub trait Clock: Send + Sync {
    /// Returns microseconds since the Unix epoch.
    fn now_us(&self) -> u64;
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the injected clock")]
    fn now_us(&self) -> u64 {
        // A clock before the epoch reads 0.
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}

/// A clock for tests that changes only when it is advanced.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// Returns a clock that shows `now_us`, in microseconds since the Unix epoch.
    pub fn at(now_us: u64) -> Self {
        Self(AtomicU64::new(now_us))
    }

    /// Advances the clock by `us` microseconds.
    pub fn advance(&self, us: u64) {
        self.0.fetch_add(us, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now_us(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Measures a duration. No event time comes from it.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts the measurement.
    #[expect(clippy::disallowed_methods, reason = "how long something takes decides nothing")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the microseconds since the start.
    pub fn us(self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
