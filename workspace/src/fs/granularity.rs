//! The grain: how far apart two stamps have to be, so that a write between them shows.
//!
//! The kernel takes stamps from a clock that goes on by a *tick* at a time, and a file system keeps
//! so much of them as it has room for. Both are found out: the tick is asked for, the rest is seen.

use std::sync::atomic::{AtomicU8, Ordering};

use rustix::time::{ClockId, clock_getres};

use super::stamp::{Moment, Stamp};

/// Where stamps have parts of a millisecond and the tick is not known: the longest tick of a kernel
/// (100 Hz).
const TICK_MAX_NS: i128 = 10_000_000;

/// Where stamps have parts of a second: there are file systems that count in steps of 10 ms.
const PARTS_NS: i128 = 20_000_000;

/// Everywhere else: some count in steps of two seconds.
const COARSE_NS: i128 = 2_000_000_000;

/// What was seen of stamps, each finer than the one before.
const SECONDS: u8 = 0;
const PARTS: u8 = 1;
const FINE: u8 = 2;

/// The grain of a workspace's file system, as far as its stamps were seen.
#[derive(Debug)]
pub(crate) struct Grain {
    /// Whether the moment's clock is the one of the workspace's device.
    one_device: bool,
    tick_ns: i128,
    seen: AtomicU8,
}

impl Grain {
    pub(crate) fn new(one_device: bool) -> Self {
        Self { one_device, tick_ns: tick_ns(), seen: AtomicU8::new(SECONDS) }
    }

    /// Takes note of how fine a stamp is.
    pub(crate) fn see(&self, stamp: &Stamp) {
        let fineness = fineness(stamp);
        if fineness > self.seen.load(Ordering::Relaxed) {
            self.seen.fetch_max(fineness, Ordering::Relaxed);
        }
    }

    /// The grain, in nanoseconds.
    pub(crate) fn ns(&self) -> i128 {
        match self.seen.load(Ordering::Relaxed) {
            FINE if self.one_device => self.tick_ns,
            PARTS if self.one_device => PARTS_NS,
            _ => COARSE_NS,
        }
    }
}

fn fineness(stamp: &Stamp) -> u8 {
    let below = |moment: Moment, ns: u32| !moment.ns.is_multiple_of(ns);
    // A program can set the other time to anything.
    if below(stamp.ctime, 1_000_000) {
        FINE
    } else if stamp.mtime.ns != 0 || stamp.ctime.ns != 0 {
        PARTS
    } else {
        SECONDS
    }
}

/// The tick of the clock that stamps are taken from.
fn tick_ns() -> i128 {
    let tick = clock_getres(ClockId::RealtimeCoarse);
    match i128::from(tick.tv_sec) * 1_000_000_000 + i128::from(tick.tv_nsec) {
        ns @ 1_000_000..=TICK_MAX_NS => ns,
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
        let seen = [
            (stamp(0, 0), COARSE_NS),
            // A program sets one time of a file to what it likes.
            (stamp(1, 0), PARTS_NS),
            (stamp(0, 990_000_000), PARTS_NS),
            (stamp(0, 990_000_001), tick),
            (stamp(0, 0), tick),
        ];
        for (stamp, grain) in seen {
            one.see(&stamp);
            two.see(&stamp);
            assert_eq!((one.ns(), two.ns()), (grain, COARSE_NS));
        }
    }
}
