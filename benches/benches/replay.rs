//! Reading back: events decoded, chains verified.
#![expect(missing_docs, clippy::unwrap_used, reason = "a bench")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use milepost::Append;
use milepost_benches::corpus::Rounds;
use milepost_benches::rows::store;

fn replay(c: &mut Criterion) {
    let dir = tempfile::tempdir_in(".").unwrap();
    let (engine, task) = store(dir.path());
    let rounds = Rounds::of(8 << 20);
    let bytes = rounds.size;
    for number in 0..rounds.times {
        for batch in rounds.round(number).chunks(256) {
            task.append(Append::batch(batch.iter().cloned())).unwrap();
        }
    }
    engine.store().drain().unwrap();
    let mut group = c.benchmark_group("replay");
    group.throughput(Throughput::Bytes(bytes));
    group.bench_function("replay::read/from=sled", |b| {
        b.iter(|| task.read(..).unwrap().map(|event| event.unwrap().offset).max());
    });
    group.bench_function("replay::verify/from=sled", |b| {
        b.iter(|| assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean()));
    });
    group.finish();
    engine.close().unwrap();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = replay
}
criterion_main!(benches);
