//! The degraded mode: where a disk fails, appends are held in memory, and are there once it is
//! back.
//!
//! The test starts its own binary with calls made to fail (`tests/faults`).

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use milepost::events::Message;
use milepost::{Append, Body, Engine, ErrorKind, Options};
use milepost_runtime::failover::{Accepted, FailoverEngine, FailoverOptions, Health};
use milepost_tests::{bodies, faults};

const STORE: &str = "MILEPOST_TEST_DEGRADED_STORE";
const SAID: &str = "MILEPOST_TEST_DEGRADED_SAID";
const LIMIT: &str = "MILEPOST_TEST_DEGRADED_LIMIT";
const APPENDS: u64 = 60;
const LONG: Duration = Duration::from_secs(60);

fn message(n: u64) -> Body {
    Message::text("user", &format!("message {n}")).into()
}

/// Every message once, in order.
fn check(store: &Path, all: u64) {
    let engine = Engine::open(store, Options::default()).unwrap();
    let task = engine.task("t").unwrap();
    let mut next = 0;
    for event in task.read(1..).unwrap() {
        let body = event.unwrap().body.unwrap();
        if let Body::Message(_) = body {
            assert_eq!(body, message(next), "I1, I14: in order, and once");
            next += 1;
        }
    }
    assert_eq!(next, all);
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    engine.close().unwrap();
}

/// The process whose disk fails.
#[test]
fn child_that_goes_on_while_its_disk_fails() {
    let (Ok(store), Ok(limit)) = (std::env::var(STORE), std::env::var(LIMIT)) else {
        return;
    };
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let degraded = FailoverOptions::default()
        .limit_bytes(limit.parse().unwrap())
        .retry(Duration::from_millis(5))
        .on_change(move |health| told.lock().unwrap().push(health.clone()));
    let options = Options::default().backlog_bytes(1 << 20);
    let store = FailoverEngine::open(store, options, degraded).unwrap();
    store.engine().unwrap().start_task("t", "ana").unwrap();
    let (mut buffered, mut refused) = (0, 0);
    for n in 0..APPENDS {
        // Now and then one that makes segments roll, and one in chunks.
        let size = if n % 7 == 0 { 300_000 } else { 30_000 };
        // A retry after an error uses the same key, so that it is the same append.
        let both = Append::batch([message(n), bodies::bytes(n, size)]).key(format!("m{n}"));
        match store.append("t", both.clone()) {
            Ok(Accepted::Appended(_)) => {}
            Ok(Accepted::Buffered { pending }) => {
                buffered += 1;
                assert!(pending > 0);
            }
            Err(error) => {
                // Over the limit the error comes through; the caller tries again.
                assert!(matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Poisoned));
                refused += 1;
                assert!(store.wait_healthy(LONG));
                store.append("t", both).unwrap();
            }
        }
    }
    assert!(store.wait_healthy(LONG), "{:?}", store.health());
    assert_eq!(store.health(), Health::Healthy);
    let stats = store.stats();
    assert!(stats.buffered >= buffered, "{stats:?}");
    assert_eq!(stats.buffered, stats.drained, "{stats:?}");
    assert_eq!(stats.refused, 0, "{stats:?}");
    store.close().unwrap();
    let seen = seen.lock().unwrap();
    if stats.reopened > 0 {
        let worse = seen.iter().any(|h| matches!(h, Health::Degraded { .. }));
        assert!(worse && seen.last() == Some(&Health::Healthy), "{seen:?}");
    }
    let said = format!("{} {refused}", stats.reopened);
    std::fs::write(std::env::var(SAID).unwrap(), said).unwrap();
}

/// Returns the numbers of reopenings and of errors that came through; `None` if faults cannot be
/// injected here.
fn run(fail: &str, limit: u64) -> Option<(u64, u64)> {
    let faults = faults::built()?;
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let store = dir.join("store");
    let (path, limit) = (store.to_str().unwrap(), limit.to_string());
    let said = dir.join("said");
    let settings = [
        (STORE, path),
        (LIMIT, limit.as_str()),
        (SAID, said.to_str().unwrap()),
        (faults::FAIL, fail),
    ];
    let ended =
        faults::run(faults, "degraded::child_that_goes_on_while_its_disk_fails", &dir, &settings);
    assert_eq!(ended.fault(false), None, "{fail}");
    check(&store, APPENDS);
    let said = std::fs::read_to_string(said).unwrap();
    let (reopened, refused) = said.split_once(' ').unwrap();
    Some((reopened.parse().unwrap(), refused.parse().unwrap()))
}

/// Runs with each fault; returns the numbers of those that hit, and of errors that came through. A
/// write of the witness of the last acknowledged commit may fail without harm.
fn runs(fails: impl IntoIterator<Item = String>, limit: u64) -> Option<(u64, u64)> {
    let (mut hits, mut refused) = (0, 0);
    for fail in fails {
        let said = run(&fail, limit)?;
        hits += u64::from(said.0 > 0);
        refused += said.1;
    }
    Some((hits, refused))
}

#[test]
fn an_append_whose_sync_fails_is_held_and_there_once_when_the_disk_is_back() {
    let fails = [30, 41, 55, 70].map(|n| format!("sync:{n}:EIO:once"));
    if let Some((hits, _)) = runs(fails, 16 << 20) {
        assert_eq!(hits, 4);
    }
}

#[test]
fn an_append_whose_write_fails_is_held_and_there_once_when_the_disk_is_back() {
    let fails = [60, 61, 90, 91, 130, 131].map(|n| format!("write:{n}:ENOSPC:once"));
    if let Some((hits, _)) = runs(fails, 16 << 20) {
        assert!(hits >= 2, "{hits}");
    }
}

#[test]
fn over_the_limit_the_error_comes_through_and_what_is_tried_again_is_there_once() {
    let fails = [33, 48, 62].map(|n| format!("sync:{n}:EIO:once"));
    if let Some((_, refused)) = runs(fails, 1) {
        assert!(refused > 0);
    }
}

#[test]
fn an_append_that_expects_a_head_and_errors_of_the_caller_are_never_held() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let store =
        FailoverEngine::open(store, Options::default(), FailoverOptions::default()).unwrap();
    store.engine().unwrap().start_task("t", "ana").unwrap();
    let missing = store.append("nobody", message(0)).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let wrong = Append::from(message(0)).expect_head(7);
    assert_eq!(store.append("t", wrong).unwrap_err().kind(), ErrorKind::Conflict);
    let right = Append::from(message(0)).expect_head(1);
    assert!(matches!(store.append("t", right), Ok(Accepted::Appended(_))));
    // A closed engine is opened again.
    store.engine().unwrap().close().unwrap();
    let held = store.append("t", message(1)).unwrap();
    assert_eq!(held, Accepted::Buffered { pending: 1 });
    store.retry_now();
    assert!(store.wait_healthy(LONG));
    assert_eq!((store.stats().drained, store.stats().reopened), (1, 1));
    store.close().unwrap();
}
