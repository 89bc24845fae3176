//! Checkpoints, forks, states and opening, on short and long lineages.

use milepost::events::Message;
use milepost::query::CheckpointQuery;
use milepost::state::RunReducer;
use milepost::{Append, Engine, Mark, Options, Task};

use super::{folder, store};
use crate::corpus::generated;
use crate::measure::{alternate, row, seconds};
use crate::peers::Sqlite;

const LONG: u64 = 1_000_000;

/// A task of `count` small events.
fn fill(engine: &Engine, id: &str, count: u64) -> Task {
    let task = engine.start_task(id, "bench").unwrap();
    for first in (0..count).step_by(1000) {
        let batch = (first..first + 1000).map(|n| generated(n, 200));
        task.append(Append::batch(batch)).unwrap();
    }
    engine.store().drain().unwrap();
    task
}

/// Measures checkpoints and forks on lineages of 1,000 and 1,000,000 events, compared with one
/// append.
pub fn checkpoint_and_fork(rounds: usize, count: u64) {
    let dir = folder();
    let (engine, task) = store(dir.path());
    let short = fill(&engine, "short", 1000);
    let long = fill(&engine, "long", LONG);
    let body = generated(1, 200);
    let per = |time: f64| time / count as f64 * 1e6;
    let mark = |task: &Task| {
        per(seconds(|| {
            for _ in 0..count {
                task.checkpoint(Mark::new()).unwrap();
            }
        }))
    };
    let fork = |task: &Task, within: u64| {
        let mut at = 1;
        per(seconds(|| {
            for _ in 0..count {
                at = (at * 7919 + 13) % within;
                engine.branch(&task.point(at).unwrap()).run().unwrap();
            }
        }))
    };
    let append = || {
        per(seconds(|| {
            for _ in 0..count {
                task.append(body.clone()).unwrap();
            }
        }))
    };
    let [append, mark_short, mark_long, fork_short, fork_long] = alternate(
        rounds,
        [
            &mut || append(),
            &mut || mark(&short),
            &mut || mark(&long),
            &mut || fork(&short, 1000),
            &mut || fork(&long, LONG),
        ],
    );
    let us = |n: f64| format!("{n:.0} us");
    let beside = format!("append {append:.0} us");
    row(
        "checkpoint at 1,000,000 events",
        us(mark_long),
        beside.clone(),
        mark_long / append,
        1.1,
        true,
    );
    let peer = format!("at 1,000 {mark_short:.0} us");
    row("checkpoint, flat", us(mark_long), peer, mark_long / mark_short, 1.2, true);
    row("fork in 1,000,000 events", us(fork_long), beside, fork_long / append, 1.5, true);
    let peer = format!("at 1,000 {fork_short:.0} us");
    row("fork, flat", us(fork_long), peer, fork_long / fork_short, 1.2, true);
    engine.close().unwrap();
}

/// Measures states at random offsets, compared with folding from the beginning.
pub fn state(rounds: usize, count: u64) {
    let dir = folder();
    let (engine, _) = store(dir.path());
    let long = fill(&engine, "long", 200_000);
    let mut at = 1;
    let mut near = || {
        seconds(|| {
            for _ in 0..count {
                at = (at * 7919 + 13) % 200_000;
                engine.run_state(&long.point(at).unwrap()).unwrap();
            }
        }) / count as f64
            * 1e3
    };
    let plain = Options::default().snapshots(false);
    let without = Engine::in_memory(plain).unwrap();
    let all = fill(&without, "long", 200_000);
    let mut whole = || {
        seconds(|| {
            without.run_state(&all.point(100_000).unwrap()).unwrap();
        }) * 1e3
    };
    let [near, whole] = alternate(rounds, [&mut near, &mut whole]);
    let peer = format!("whole fold {whole:.1} ms");
    row("state at a random offset, ms", format!("{near:.2} ms"), peer, whole / near, 5.0, false);
    engine.close().unwrap();
}

/// The states of all checkpoints of a growing conversation, in one pass and one by one.
pub fn states(rounds: usize, marks: u64) {
    let dir = folder();
    let (engine, task) = store(dir.path());
    for n in 0..marks {
        task.append(generated(n, 1000)).unwrap();
        task.append(Message::text("user", &format!("{n} {}", "word ".repeat(200)))).unwrap();
        task.checkpoint(Mark::new()).unwrap();
    }
    engine.store().drain().unwrap();
    let query = CheckpointQuery {
        task: Some("bench".into()),
        limit: Some(marks as usize),
        ..CheckpointQuery::default()
    };
    let mut pass = || {
        seconds(|| {
            let mut states = task.lineage().states(&RunReducer, ..).unwrap();
            let mut count = 0;
            while states.next_state().unwrap().is_some() {
                count += 1;
            }
            assert_eq!(count, marks);
        }) * 1e3
    };
    let mut copied = || {
        seconds(|| {
            let states = task.lineage().states(&RunReducer, ..).unwrap();
            let states: Vec<_> = states.map(Result::unwrap).collect();
            assert_eq!(states.len() as u64, marks);
        }) * 1e3
    };
    let mut alone = || {
        seconds(|| {
            for found in engine.query().checkpoints(&query).unwrap().items {
                let point = engine.point(&format!("@{}", found.id)).unwrap();
                engine.run_state(&point).unwrap();
            }
        }) * 1e3
    };
    let [pass, copied, alone] = alternate(rounds, [&mut pass, &mut copied, &mut alone]);
    let peer = format!("one by one {alone:.1} ms");
    row(
        &format!("states of {marks} checkpoints, ms"),
        format!("{pass:.1} ms"),
        peer.clone(),
        alone / pass,
        5.0,
        false,
    );
    row("the same, all kept", format!("{copied:.1} ms"), peer, alone / copied, 5.0, false);
    engine.close().unwrap();
}

/// Opening a store of 1,000,000 events after a clean stop and after none.
pub fn open(rounds: usize) {
    let dir = folder();
    let (engine, _) = store(dir.path());
    fill(&engine, "long", LONG);
    let killed = dir.path().join("killed");
    copy(&dir.path().join("store"), &killed);
    engine.close().unwrap();
    let clean = dir.path().join("store");
    let mut sqlite = Sqlite::open(dir.path());
    let payloads: Vec<_> = (0..1000).map(|n| generated(n, 200).encode().1).collect();
    let slices: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    (0..1000).for_each(|_| sqlite.append(&slices));
    drop(sqlite);
    let [ours, theirs, after_kill] = alternate(
        rounds,
        [
            &mut || {
                let mut open = None;
                let options = Options::default();
                let time = seconds(|| open = Some(Engine::open(&clean, options).unwrap()));
                drop(open);
                time * 1e3
            },
            &mut || seconds(|| drop(Sqlite::open(dir.path()))) * 1e3,
            &mut || {
                let fresh = dir.path().join("again");
                copy(&killed, &fresh);
                let mut open = None;
                let time =
                    seconds(|| open = Some(Engine::open(&fresh, Options::default()).unwrap()));
                drop(open);
                std::fs::remove_dir_all(&fresh).unwrap();
                time * 1e3
            },
        ],
    );
    let peer = format!("SQLite {theirs:.1} ms");
    row(
        "open after a clean stop, 1,000,000 events, ms",
        format!("{ours:.1}"),
        peer,
        ours,
        50.0,
        true,
    );
    let figure = format!("{after_kill:.1}");
    row("open after a kill, 1,000,000 events, ms", figure, String::new(), after_kill, 1000.0, true);
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            // Some files of a store in use disappear during the copy, as they would in a crash.
            match std::fs::copy(entry.path(), target) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                copied => drop(copied.unwrap()),
            }
        }
    }
}
