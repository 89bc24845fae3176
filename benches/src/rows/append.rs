//! Durable appends: one writer, 64 writers, batches.

use milepost::Append;

use super::{folder, store};
use crate::corpus::generated;
use crate::measure::{alternate, row, seconds};
use crate::peers::{RawFile, Sqlite, SqliteGroup};

const EVENT: usize = 200;

/// One writer, one event at a time.
pub fn one_writer(rounds: usize, count: u64) {
    let dir = folder();
    let (engine, task) = store(dir.path());
    let mut sqlite = Sqlite::open(dir.path());
    let raw = RawFile::new(dir.path());
    let body = generated(1, EVENT);
    let payload = body.encode().1;
    let rate = |time: f64| count as f64 / time;
    let [ours, theirs, limit] = alternate(
        rounds,
        [
            &mut || {
                rate(seconds(|| {
                    for _ in 0..count {
                        task.append(body.clone()).unwrap();
                    }
                }))
            },
            &mut || rate(seconds(|| (0..count).for_each(|_| sqlite.append(&[&payload])))),
            &mut || rate(seconds(|| (0..count).for_each(|_| raw.append_chained(&[&payload])))),
        ],
    );
    let name = "append, 1 writer, 200 B, durable";
    let figure = format!("{ours:.0}/s");
    row(name, figure.clone(), format!("SQLite {theirs:.0}/s"), ours / theirs, 1.2, false);
    row(name, figure, format!("raw + chain {limit:.0}/s"), ours / limit, 0.9, false);
    engine.close().unwrap();
}

/// Measures 64 writers, one event at a time each. SQLite twice: with a transaction for each writer,
/// and with a thread in front of it that commits all waiting events.
pub fn writers_64(rounds: usize, each: u64) {
    const WRITERS: u64 = 64;
    let dir = folder();
    let (engine, task) = store(dir.path());
    let sqlite = SqliteGroup::open(dir.path());
    let plain = folder();
    let plain = parking_lot::Mutex::new(Sqlite::open(plain.path()));
    let raw = RawFile::new(dir.path());
    let body = generated(1, EVENT);
    let payload = body.encode().1;
    let all = |work: &(dyn Fn() + Sync)| {
        let time = seconds(|| {
            std::thread::scope(|scope| {
                for _ in 0..WRITERS {
                    scope.spawn(|| (0..each).for_each(|_| work()));
                }
            });
        });
        (WRITERS * each) as f64 / time
    };
    let [ours, alone, theirs, limit] = alternate(
        rounds,
        [
            &mut || {
                all(&|| {
                    task.append(body.clone()).unwrap();
                })
            },
            &mut || all(&|| plain.lock().append(&[&payload])),
            &mut || all(&|| sqlite.append(&payload)),
            &mut || all(&|| raw.append_chained(&[&payload])),
        ],
    );
    let name = "append, 64 writers, 200 B, durable";
    let figure = format!("{ours:.0}/s");
    row(name, figure.clone(), format!("SQLite {alone:.0}/s"), ours / alone, 2.0, false);
    row(name, figure.clone(), format!("SQLite grouped {theirs:.0}/s"), ours / theirs, 3.0, false);
    row(name, figure, format!("raw + chain {limit:.0}/s"), ours / limit, 0.8, false);
    engine.close().unwrap();
}

/// Batches of 1,000, durable each.
pub fn batches(rounds: usize, count: u64) {
    const BATCH: u64 = 1000;
    let dir = folder();
    let (engine, task) = store(dir.path());
    let mut sqlite = Sqlite::open(dir.path());
    let raw = RawFile::new(dir.path());
    let bodies: Vec<_> = (0..BATCH).map(|n| generated(n, EVENT)).collect();
    let payloads: Vec<_> = bodies.iter().map(|body| body.encode().1).collect();
    let slices: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    let rate = |time: f64| (count * BATCH) as f64 / time;
    let [ours, theirs, limit] = alternate(
        rounds,
        [
            &mut || {
                let batches: Vec<_> =
                    (0..count).map(|_| Append::batch(bodies.iter().cloned())).collect();
                let time = seconds(|| {
                    for batch in batches {
                        task.append(batch).unwrap();
                    }
                });
                engine.store().drain().unwrap();
                rate(time)
            },
            &mut || rate(seconds(|| (0..count).for_each(|_| sqlite.append(&slices)))),
            &mut || rate(seconds(|| (0..count).for_each(|_| raw.append_chained(&slices)))),
        ],
    );
    let name = "batches of 1,000 x 200 B, durable each";
    let figure = format!("{:.2} M/s", ours / 1e6);
    let peer = format!("SQLite {:.2} M/s", theirs / 1e6);
    row(name, figure.clone(), peer, ours / theirs, 1.5, false);
    let peer = format!("raw + chain {:.2} M/s", limit / 1e6);
    row(name, figure, peer, ours / limit, 0.7, false);
    engine.close().unwrap();
}
