//! Duration of the degraded mode, by a clock that the test moves.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use milepost::Options;
use milepost::clock::{Clock, ManualClock};
use milepost_runtime::failover::{Accepted, FailoverEngine, FailoverOptions};

use super::message;
use super::recorder::Numbers;

const LONG: Duration = Duration::from_secs(60);
const SECOND: u64 = 1_000_000;

#[test]
fn degraded_time_is_what_the_clock_says_between_the_failure_and_the_end_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let (path, aside) = (dir.path().join("store"), dir.path().join("aside"));
    let clock = Arc::new(ManualClock::at(1_700_000_000_000_000));
    let options = Options::default().clock(clock.clone());
    let numbers = Numbers::default();
    let open = || FailoverEngine::open(&path, options, FailoverOptions::default()).unwrap();
    let store = metrics::with_local_recorder(&numbers, open);
    store.engine().unwrap().start_task("t", "ana").unwrap();
    let times = || {
        let stats = store.stats();
        (stats.degraded, stats.degraded_us / SECOND)
    };
    clock.advance(7 * SECOND);
    assert_eq!(times(), (0, 0));
    let (mut number, mut in_all) = (0, 0);
    for lasts in [5, 11] {
        // Closed behind its back, and nowhere to be found.
        store.engine().unwrap().close().unwrap();
        std::fs::rename(&path, &aside).unwrap();
        number += 1;
        for pending in 1..=3 {
            let held = store.append("t", message(pending)).unwrap();
            assert_eq!(held, Accepted::Buffered { pending });
        }
        assert_eq!(times(), (number, in_all), "the clock stands still");
        assert_eq!(numbers.gauge("milepost_degraded"), 1.0);
        assert_eq!(numbers.gauge("milepost_degraded_pending"), 3.0);
        clock.advance(2 * SECOND);
        assert_eq!(times(), (number, in_all + 2), "it goes on");
        clock.advance((lasts - 2) * SECOND);
        in_all += lasts;
        std::fs::rename(&aside, &path).unwrap();
        store.retry_now();
        assert!(store.wait_healthy(LONG));
        assert_eq!(times(), (number, in_all));
        clock.advance(100 * SECOND);
        assert_eq!(times(), (number, in_all), "it is over");
        assert_eq!(numbers.gauge("milepost_degraded"), 0.0);
        assert_eq!(numbers.gauge("milepost_degraded_pending"), 0.0);
        assert_eq!(numbers.counter("milepost_degraded_total"), number);
        let told = numbers.histogram("milepost_degraded_seconds");
        assert_eq!(told, (number, in_all as f64));
    }
    assert_eq!(store.stats().drained, 6);
    store.close().unwrap();
}

/// A clock that blocks its next caller on request.
struct Holding {
    clock: ManualClock,
    hold: AtomicBool,
    held: Barrier,
    let_go: Barrier,
}

impl Clock for Holding {
    fn now_us(&self) -> u64 {
        if self.hold.swap(false, Ordering::SeqCst) {
            self.held.wait();
            self.let_go.wait();
        }
        self.clock.now_us()
    }
}

#[test]
fn an_append_that_fails_while_the_store_is_degraded_already_does_not_begin_it_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (path, aside) = (dir.path().join("store"), dir.path().join("aside"));
    let clock = Arc::new(Holding {
        clock: ManualClock::at(1_700_000_000_000_000),
        hold: AtomicBool::new(false),
        held: Barrier::new(2),
        let_go: Barrier::new(2),
    });
    let options = Options::default().clock(clock.clone());
    let store = FailoverEngine::open(&path, options, FailoverOptions::default()).unwrap();
    store.engine().unwrap().start_task("t", "ana").unwrap();
    let times = || (store.stats().degraded, store.stats().degraded_us);
    std::thread::scope(|threads| {
        clock.hold.store(true, Ordering::SeqCst);
        let late = threads.spawn(|| store.append("t", message(2)));
        // It has the engine that is about to fail.
        clock.held.wait();
        store.engine().unwrap().close().unwrap();
        std::fs::rename(&path, &aside).unwrap();
        store.append("t", message(1)).unwrap();
        clock.clock.advance(3 * SECOND);
        assert_eq!(times(), (1, 3 * SECOND));
        clock.let_go.wait();
        let late = late.join().unwrap().unwrap();
        assert_eq!(late, Accepted::Buffered { pending: 2 });
        assert_eq!(times(), (1, 3 * SECOND));
    });
    std::fs::rename(&aside, &path).unwrap();
    store.retry_now();
    assert!(store.wait_healthy(LONG));
    assert_eq!(times(), (1, 3 * SECOND));
    store.close().unwrap();
}
