//! Granularity of stamps: the time between two writes after which their stamps differ.
//!
//! The kernel takes stamps from a clock that advances by a *tick* at a time, and a file system
//! stores as many digits as it has room for. The tick is queried, the digits are observed.

use std::sync::atomic::{AtomicU8, Ordering};

use super::platform;
use super::stamp::{Moment, Stamp};

/// For stamps with parts of a millisecond and an unknown tick: the longest tick of a kernel (100
/// Hz).
const TICK_MAX_NS: i128 = 10_000_000;

/// For stamps with parts of a second: some file systems count in steps of 10 ms.
const PARTS_NS: i128 = 20_000_000;

/// For all others: some count in steps of two seconds.
const COARSE_NS: i128 = 2_000_000_000;

/// Precision of observed stamps, ascending.
const SECONDS: u8 = 0;
const PARTS: u8 = 1;
const FINE: u8 = 2;

/// Granularity of the workspace's file system, according to the stamps observed.
#[derive(Debug)]
pub(crate) struct Grain {
    /// `true` if the probe's clock is that of the workspace's device.
    one_device: bool,
    tick_ns: i128,
    finest: AtomicU8,
}

impl Grain {
    pub(crate) fn new(one_device: bool) -> Self {
        Self { one_device, tick_ns: tick_ns(), finest: AtomicU8::new(SECONDS) }
    }

    /// Observes the precision of a stamp.
    pub(crate) fn see(&self, stamp: &Stamp) {
        let fineness = fineness(stamp);
        if fineness > self.finest.load(Ordering::Relaxed) {
            self.finest.fetch_max(fineness, Ordering::Relaxed);
        }
    }

    /// Returns the granularity in nanoseconds.
    pub(crate) fn ns(&self) -> i128 {
        match self.finest.load(Ordering::Relaxed) {
            FINE if self.one_device => self.tick_ns,
            PARTS if self.one_device => PARTS_NS,
            _ => COARSE_NS,
        }
    }
}

fn fineness(stamp: &Stamp) -> u8 {
    let below = |moment: Moment, ns: u32| !moment.ns.is_multiple_of(ns);
    // `mtime` is less reliable: programs can set it to any value.
    if below(stamp.ctime, 1_000_000) {
        FINE
    } else if stamp.mtime.ns != 0 || stamp.ctime.ns != 0 {
        PARTS
    } else {
        SECONDS
    }
}

/// Returns the tick of the clock behind stamps.
fn tick_ns() -> i128 {
    match platform::tick_ns() {
        Some(ns @ 1_000_000..=TICK_MAX_NS) => ns,
        _ => TICK_MAX_NS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(mtime: u32, ctime: u32) -> Stamp {
        let at = |ns| Moment { s: 1, ns };
        Stamp { mtime: at(mtime), ctime: at(ctime), ..Stamp::default() }
    }

    #[test]
    fn the_grain_is_that_of_the_finest_stamp_on_one_device_and_coarse_on_two() {
        let (one, two) = (Grain::new(true), Grain::new(false));
        let tick = one.tick_ns;
        assert!((1_000_000..=TICK_MAX_NS).contains(&tick));
        let finest = [
            (stamp(0, 0), COARSE_NS),
            // A program can set `mtime` to any value.
            (stamp(1, 0), PARTS_NS),
            (stamp(0, 990_000_000), PARTS_NS),
            (stamp(0, 990_000_001), tick),
            (stamp(0, 0), tick),
        ];
        for (stamp, grain) in finest {
            one.see(&stamp);
            two.see(&stamp);
            assert_eq!((one.ns(), two.ns()), (grain, COARSE_NS));
        }
    }
}
