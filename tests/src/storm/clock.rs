//! A clock that is set forward and back.

use std::sync::atomic::{AtomicI64, Ordering};

use milepost::clock::{Clock, SystemClock};

/// Microseconds of an hour.
const HOUR: i64 = 3_600_000_000;

/// The system's clock, with a difference.
#[derive(Debug, Default)]
pub struct SetClock(AtomicI64);

impl SetClock {
    /// Sets it forward by a number of hours, or back.
    pub fn set(&self, hours: i16) {
        self.0.fetch_add(i64::from(hours) * HOUR, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now_us(&self) -> u64 {
        SystemClock.now_us().saturating_add_signed(self.0.load(Ordering::SeqCst))
    }
}
