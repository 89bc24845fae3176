//! Checkpoints, forks, states and opening.
#![expect(missing_docs, clippy::unwrap_used, reason = "a bench")]

use criterion::{Criterion, criterion_group, criterion_main};
use milepost::{Append, Engine, Mark, Options};
use milepost_benches::corpus::generated;
use milepost_benches::rows::store;

const EVENTS: u64 = 100_000;

fn history(c: &mut Criterion) {
    let dir = tempfile::tempdir_in(".").unwrap();
    let (engine, task) = store(dir.path());
    for first in (0..EVENTS).step_by(1000) {
        task.append(Append::batch((first..first + 1000).map(|n| generated(n, 200)))).unwrap();
    }
    engine.store().drain().unwrap();
    let mut group = c.benchmark_group("history");
    let mut at = 1;
    let mut next = || {
        at = (at * 7919 + 13) % EVENTS;
        at
    };
    group.bench_function("history::checkpoint/events=100000", |b| {
        b.iter(|| task.checkpoint(Mark::new()).unwrap());
    });
    group.bench_function("history::fork/events=100000", |b| {
        b.iter(|| engine.branch(&task.point(next()).unwrap()).run().unwrap());
    });
    group.bench_function("history::state/events=100000", |b| {
        b.iter(|| engine.run_state(&task.point(next()).unwrap()).unwrap());
    });
    drop(task);
    engine.close().unwrap();
    let root = dir.path().join("store");
    group.bench_function("history::open/events=100000 after=close", |b| {
        b.iter_with_large_drop(|| {
            let engine = Engine::open(&root, Options::default()).unwrap();
            engine.close().unwrap();
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = history
}
criterion_main!(benches);
