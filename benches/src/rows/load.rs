//! Bulk load of real events, their size on disk, and reading them back.

use milepost::events::ToolReturned;
use milepost::{Append, Engine, Json, Options};

use super::{folder, store};
use crate::compare::on_disk;
use crate::corpus::{Rounds, generated};
use crate::measure::{alternate, median, peak_mib, row, seconds};
use crate::peers::Sqlite;

const BATCH: usize = 256;

/// Loads `bytes` of real events, then reads them back.
pub fn bulk_load(rounds: usize, bytes: u64) {
    let loaded = Rounds::of(bytes);
    let (size, mb) = (loaded.size as f64, loaded.size as f64 / 1e6);
    let (mut acked, mut drained, mut disk) = (Vec::new(), Vec::new(), Vec::new());
    let mut theirs_disk = Vec::new();
    let mut replay = Vec::new();
    let mut ours = || {
        let dir = folder();
        let (engine, task) = store(dir.path());
        let mut ack = 0.0;
        for number in 0..loaded.times {
            let round = loaded.round(number);
            ack += seconds(|| {
                for batch in round.chunks(BATCH) {
                    task.append(Append::batch(batch.iter().cloned())).unwrap();
                }
            });
        }
        let all = ack + seconds(|| engine.store().drain().unwrap());
        acked.push(mb / ack);
        drained.push(mb / all);
        disk.push(engine.store().stats().unwrap().disk.total as f64 / size);
        let read = seconds(|| {
            for event in task.read(..).unwrap() {
                event.unwrap();
            }
        });
        replay.push(size / read / 1e9);
        engine.close().unwrap();
        mb / all
    };
    let mut theirs = || {
        let dir = folder();
        let mut sqlite = Sqlite::open(dir.path());
        let mut time = 0.0;
        for number in 0..loaded.times {
            let payloads: Vec<_> =
                loaded.round(number).iter().map(|body| body.encode().1).collect();
            time += seconds(|| {
                for batch in payloads.chunks(BATCH) {
                    let slices: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
                    sqlite.append(&slices);
                }
            });
        }
        sqlite.checkpoint();
        let len = std::fs::metadata(dir.path().join("events.db")).unwrap().len();
        theirs_disk.push(len as f64 / size);
        mb / time
    };
    let [_, peer] = alternate(rounds, [&mut ours, &mut theirs]);
    let (acked, drained, disk) = (median(acked), median(drained), median(disk));
    let sqlite = format!("SQLite {peer:.0} MB/s");
    let name = format!("bulk load of {mb:.0} MB, acknowledged");
    row(&name, format!("{acked:.0} MB/s"), sqlite.clone(), acked / peer, 1.5, false);
    let name = format!("bulk load of {mb:.0} MB, applied");
    row(&name, format!("{drained:.0} MB/s"), sqlite, drained / peer, 1.0, false);
    let theirs = median(theirs_disk);
    row("disk, x raw", format!("{disk:.2} x"), format!("SQLite {theirs:.2} x"), disk, 0.8, true);
    let replay = median(replay);
    row("replay, decoded, GB/s", format!("{replay:.2}"), String::new(), replay, 1.0, false);
    small_replay();
}

fn small_replay() {
    let dir = folder();
    let (engine, task) = store(dir.path());
    for first in (0..1_000_000).step_by(1000) {
        let batch = (first..first + 1000).map(|n| generated(n, 100));
        task.append(Append::batch(batch)).unwrap();
    }
    engine.store().drain().unwrap();
    let time = seconds(|| assert_eq!(task.read(..).unwrap().count(), 1_000_001));
    let rate = 1.0 / time;
    row("replay of small events, M/s", format!("{rate:.2}"), String::new(), rate, 8.0, false);
    engine.close().unwrap();
}

/// The most memory that a load of 1,000,000 events holds, in this process: so it runs alone.
pub fn memory(count: u64) {
    let dir = folder();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("bench", "bench").unwrap();
    for first in (0..count).step_by(1000) {
        let batch = (first..first + 1000).map(|n| generated(n, 500));
        task.append(Append::batch(batch)).unwrap();
    }
    engine.store().drain().unwrap();
    let peak = peak_mib();
    let name = format!("memory of a load of {count} events, MiB");
    row(&name, format!("{peak:.0}"), String::new(), peak, 200.0, true);
    engine.close().unwrap();
}

/// Measures the disk space of the same 100 kB result in 1,000 tasks, each after a call of its own.
pub fn same_result() {
    let dir = folder();
    let (engine, _) = store(dir.path());
    let text = generated(1, 100_000).to_json().unwrap();
    for call in 0..1000 {
        let task = engine.start_task(&format!("task-{call}"), "bench").unwrap();
        let output = Some(Json::new(text.clone()).unwrap());
        let result = ToolReturned { call: format!("call-{call}"), tool: None, ok: true, output };
        task.append(result).unwrap();
    }
    engine.close().unwrap();
    let mb = on_disk(dir.path()) as f64 / 1e6;
    let name = "1,000 x the same result of 100 kB, MB on the disk";
    row(name, format!("{mb:.2}"), String::new(), mb, 2.0, true);
}
