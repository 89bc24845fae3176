//! Values of the `metrics` facade equal those of the snapshot.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;

use metrics::Unit;
use milepost::metrics::{Metric, Value};
use milepost::{Append, Engine, Mark, Options};
use milepost_runtime::failover::{FailoverEngine, FailoverOptions};
use milepost_tests::bodies;

use super::recorder::Numbers;
use super::{check, message};

/// Something of everything.
fn work(engine: &Engine) {
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..30 {
        let many = (0..5).map(|m| bodies::bytes(n * 5 + m, 100_000));
        let append = Append::batch(many).mark(Mark::new().label(format!("m{n}")));
        task.append(append.key(format!("k{n}"))).unwrap();
        let point = engine.point(&format!("t@m{n}")).unwrap();
        engine.run_state(&point).unwrap();
        engine.run_state(&point).unwrap();
    }
    task.append(bodies::bytes(1, 1_000_000)).unwrap();
    task.append(Append::from(message(1)).key("k")).unwrap();
    task.append(Append::from(message(1)).key("k")).unwrap();
    task.append(Append::from(message(1)).expect_head(1)).unwrap_err();
    let point = engine.point("t@m3").unwrap();
    engine.restore(&point).run().unwrap();
    engine.store().drain().unwrap();
    engine.task("t").unwrap().append(bodies::bytes(2, 1000)).unwrap();
}

#[test]
fn a_recorder_is_told_the_same_numbers_and_is_asked_for_handles_once() {
    let dir = tempfile::tempdir().unwrap();
    let numbers = Numbers::default();
    let open = || Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let engine = metrics::with_local_recorder(&numbers, open);
    let asked = numbers.asked.load(Ordering::Relaxed);
    metrics::with_local_recorder(&numbers, || work(&engine));
    assert_eq!(numbers.asked.load(Ordering::Relaxed), asked);
    let disk = engine.store().stats().unwrap().disk;
    let rest = engine.clone();
    let (lag_commits, lag_bytes) = {
        let now = engine.store().metrics();
        (now.lag_commits, now.lag_bytes)
    };
    assert_eq!(lag_commits, 1);
    assert_eq!(numbers.gauge("milepost_applier_lag_commits"), 1.0);
    assert_eq!(numbers.gauge("milepost_applier_lag_bytes"), lag_bytes as f64);
    engine.close().unwrap();
    let now = rest.store().metrics();
    check(&now);
    let untried = [
        "milepost_captures_total",
        "milepost_capture_files_total",
        "milepost_capture_files_read_total",
        "milepost_capture_seconds",
        "milepost_segments_recycled_total",
        "milepost_applier_lag_commits",
        "milepost_applier_lag_bytes",
        "milepost_poisoned",
        "milepost_kept_state_alert_bytes",
    ];
    for Metric { name, value, .. } in now.all() {
        let tried = match value {
            Value::Counter(value) => {
                assert_eq!(numbers.counter(name), value, "{name}");
                value > 0
            }
            Value::Gauge(value) => {
                assert_eq!(numbers.gauge(name), value as f64, "{name}");
                value > 0
            }
            Value::Distribution(ours, divisor) => {
                let (count, sum) = numbers.histogram(name);
                assert_eq!(count, ours.count(), "{name}");
                let ours = ours.sum() as f64 / divisor;
                assert!((sum - ours).abs() < 1e-6, "{name}: {sum}, not {ours}");
                count > 0
            }
        };
        assert!(tried || untried.contains(&name), "{name} was not tried");
    }
    for (part, bytes) in [
        ("journal", disk.journal),
        ("archive", disk.archive),
        ("sled", disk.sled),
        ("packs", disk.packs),
    ] {
        assert_eq!(numbers.gauge(&format!("milepost_disk_bytes/{part}")), bytes as f64, "{part}");
        assert!(bytes > 0, "{part} was not tried");
    }
    // The close applied these commits.
    assert_eq!(numbers.gauge("milepost_applier_lag_commits"), 0.0);
    assert_eq!(numbers.gauge("milepost_poisoned"), 0.0);
}

#[test]
fn a_store_whose_write_failed_is_told_and_the_next_engine_takes_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let numbers = Numbers::default();
    let path = dir.path().join("store");
    let open = || Engine::open(&path, Options::default()).unwrap();
    let engine = metrics::with_local_recorder(&numbers, open);
    let task = engine.start_task("t", "ana").unwrap();
    // The next file of the archive has no folder.
    let (archive, away) = (path.join("archive"), dir.path().join("archive"));
    std::fs::rename(&archive, &away).unwrap();
    let mut appends = (0..1000).map(|n| task.append(bodies::bytes(n, 100_000)));
    assert!(appends.any(|done| done.is_err()));
    assert_eq!(numbers.gauge("milepost_poisoned"), 1.0);
    drop(task);
    let _ = engine.close();
    std::fs::rename(&away, &archive).unwrap();
    let engine = metrics::with_local_recorder(&numbers, open);
    assert_eq!(numbers.gauge("milepost_poisoned"), 0.0);
    engine.close().unwrap();
}

/// The table of `docs/RUNS.md`: names and units.
fn documented() -> BTreeSet<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/RUNS.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| line.contains("| `milepost_"));
    let row = |line: &str| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let name = cells.iter().find(|cell| cell.starts_with("`milepost_"));
        let name = name.unwrap().trim_matches('`').to_owned();
        (name, cells[3].to_owned())
    };
    rows.map(row).collect()
}

#[test]
fn every_metric_is_described_and_stands_in_the_documentation_with_its_unit() {
    let dir = tempfile::tempdir().unwrap();
    let numbers = Numbers::default();
    let path = dir.path().join("store");
    let open =
        || FailoverEngine::open(path, Options::default(), FailoverOptions::default()).unwrap();
    let store = metrics::with_local_recorder(&numbers, open);
    store.close().unwrap();
    let described = numbers.described().into_iter().map(|(name, (unit, what))| {
        assert!(!what.is_empty(), "{name}");
        let unit = match unit {
            Some(Unit::Bytes) => "bytes",
            Some(Unit::Seconds) => "seconds",
            Some(Unit::Count) => "count",
            other => panic!("{name}: {other:?}"),
        };
        (name, unit.to_owned())
    });
    assert_eq!(described.collect::<BTreeSet<_>>(), documented());
}
