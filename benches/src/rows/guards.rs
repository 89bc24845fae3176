//! Cost of each guard: appends with and without it, verification, building sled anew.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use milepost::{Append, Engine, Hook, Options, StoreKey, Task};
use milepost_runtime::failover::{FailoverEngine, FailoverOptions};
use milepost_runtime::run::{Run, RunOptions};

use super::{folder, store};
use crate::corpus::{Rounds, generated};
use crate::measure::{alternate, median, row, seconds};
use crate::peers::RawFile;

const EVENT: usize = 200;

/// A hook that does nothing.
struct Quiet;

impl Hook for Quiet {
    fn name(&self) -> &str {
        "quiet"
    }
}

/// One writer, one event at a time, in stores that differ by one guard.
pub fn guards(rounds: usize, count: u64) {
    let dir = folder();
    let elsewhere = folder();
    let open = |name: &str, options: Options| -> (Engine, Task) {
        let engine = Engine::open(dir.path().join(name), options).unwrap();
        let task = engine.start_task("bench", "bench").unwrap();
        (engine, task)
    };
    let (_plain, plain) = open("plain", Options::default());
    let (_keyed, keyed) = open("keyed", Options::default().key(StoreKey::new(&[7; 32])));
    let anchor = elsewhere.path().join("anchor");
    let (_anchored, anchored) = open("anchored", Options::default().anchor_to(anchor));
    let options = Options::default().snapshots(false);
    let (_bare, bare) = open("without snapshots", options);
    drop(open("supervised", Options::default()));
    let supervisor = FailoverEngine::open(
        dir.path().join("supervised"),
        Options::default(),
        FailoverOptions::default(),
    )
    .unwrap();
    assert!(supervisor.wait_healthy(Duration::from_secs(10)));
    let options = Options::default().hook(Arc::new(Quiet));
    let (_driven, driven) = open("driven", options);
    let options = RunOptions::default().actor("bench").correlation("bench-1");
    let run = Run::of(driven, options).unwrap();
    let body = generated(1, EVENT);
    let rate = |time: f64| count as f64 / time;
    let each = |task: &Task| {
        rate(seconds(|| {
            for _ in 0..count {
                task.append(body.clone()).unwrap();
            }
        }))
    };
    let [base, keyed, anchored, bare, supervised, driven] = alternate(
        rounds,
        [
            &mut || each(&plain),
            &mut || each(&keyed),
            &mut || each(&anchored),
            &mut || each(&bare),
            &mut || {
                rate(seconds(|| {
                    for _ in 0..count {
                        supervisor.append("bench", body.clone()).unwrap();
                    }
                }))
            },
            &mut || {
                rate(seconds(|| {
                    for _ in 0..count {
                        run.append(body.clone()).unwrap();
                    }
                }))
            },
        ],
    );
    let against = |name: &str, guarded: f64| {
        let peer = format!("without {base:.0}/s");
        let figure = format!("{guarded:.0}/s");
        row(name, figure, peer, guarded / base, 0.9, false);
    };
    against("append with a key", keyed);
    against("append with an anchor kept up to date", anchored);
    against("append through a supervisor", supervised);
    against("append by a run: hooks, autosave, audit", driven);
    let figure = format!("{base:.0}/s");
    let peer = format!("without {bare:.0}/s");
    row("append with snapshots", figure, peer, base / bare, 0.9, false);
    raw(rounds, count, dir.path());
    supervisor.close().unwrap();
}

/// Measures the same on a bare file: the costs of the chain, the witness of the last acknowledged
/// commit and the sync.
fn raw(rounds: usize, count: u64, dir: &Path) {
    let file = RawFile::new(dir);
    let payload = generated(1, EVENT).encode().1;
    let rate = |time: f64| count as f64 / time;
    let [synced, chained, witnessed, unsynced] = alternate(
        rounds,
        [
            &mut || rate(seconds(|| (0..count).for_each(|_| file.append(&payload)))),
            &mut || {
                rate(seconds(|| {
                    (0..count).for_each(|_| file.append_chained(&[&payload]));
                }))
            },
            &mut || {
                rate(seconds(|| {
                    for n in 0..count {
                        file.append_chained(&[&payload]);
                        file.witness(n);
                    }
                }))
            },
            &mut || rate(seconds(|| (0..count).for_each(|_| file.write(&payload)))),
        ],
    );
    let line = |name: &str, with: f64, without: f64| {
        let peer = format!("without {without:.0}/s");
        row(name, format!("{with:.0}/s"), peer, with / without, 0.9, false);
    };
    line("raw file: chain", chained, synced);
    line("raw file: witness", witnessed, chained);
    let peer = format!("without {unsynced:.0}/s");
    let figure = format!("{synced:.0}/s");
    row("raw file: sync", figure, peer, synced / unsynced, 0.0, false);
}

/// Real events in a store that is all applied; and their bytes.
fn loaded(dir: &Path, bytes: u64) -> (Engine, f64) {
    let all = Rounds::of(bytes);
    let (engine, task) = store(dir);
    for number in 0..all.times {
        for batch in all.round(number).chunks(256) {
            task.append(Append::batch(batch.iter().cloned())).unwrap();
        }
    }
    engine.store().drain().unwrap();
    (engine, all.size as f64)
}

/// Verifying chains and both copies.
pub fn verify(rounds: usize, bytes: u64) {
    let dir = folder();
    let (engine, size) = loaded(dir.path(), bytes);
    let mut rates = Vec::new();
    for _ in 0..rounds {
        let time = seconds(|| {
            let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
            assert!(report.is_clean(), "{:?}", report.faults.first());
        });
        rates.push(size / time / 1e9);
    }
    let rate = median(rates);
    let figure = format!("{rate:.2}");
    let name = "verify of chains and both copies, GB/s";
    row(name, figure, String::new(), rate, 0.6, false);
    engine.close().unwrap();
}

/// Building sled anew from journal and archive.
pub fn rebuild(rounds: usize, bytes: u64) {
    let dir = folder();
    let (engine, size) = loaded(dir.path(), bytes);
    engine.close().unwrap();
    let root = dir.path().join("store");
    let mut rates = Vec::new();
    for _ in 0..rounds {
        fs::remove_dir_all(root.join("sled")).unwrap();
        let mut engine = None;
        let time = seconds(|| {
            engine = Some(Engine::open(&root, Options::default()).unwrap());
        });
        rates.push(size / time / 1e6);
        engine.unwrap().close().unwrap();
    }
    let rate = median(rates);
    let figure = format!("{rate:.0} MB/s");
    row("sled built anew, raw bytes", figure, String::new(), rate, 100.0, false);
}
