//! Durable appends next to those of other stores. Each is one sync of the disk that the store is
//! on.
#![expect(missing_docs, clippy::unwrap_used, reason = "a bench")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use milepost::Append;
use milepost_benches::corpus::generated;
use milepost_benches::peers::{RawFile, Sqlite};
use milepost_benches::rows::store;

fn append(c: &mut Criterion) {
    let dir = tempfile::tempdir_in(".").unwrap();
    let (engine, task) = store(dir.path());
    let mut sqlite = Sqlite::open(dir.path());
    let raw = RawFile::new(dir.path());
    let body = generated(1, 200);
    let payload = body.encode().1;
    let mut group = c.benchmark_group("append");
    group.throughput(Throughput::Elements(1));
    group.bench_function("append::one/peer=milepost", |b| {
        b.iter(|| task.append(body.clone()).unwrap());
    });
    group.bench_function("append::one/peer=sqlite", |b| b.iter(|| sqlite.append(&[&payload])));
    group.bench_function("append::one/peer=raw", |b| b.iter(|| raw.append_chained(&[&payload])));

    let bodies: Vec<_> = (0..1000).map(|n| generated(n, 200)).collect();
    group.throughput(Throughput::Elements(1000));
    group.bench_function("append::batch/peer=milepost events=1000", |b| {
        b.iter_batched(
            || Append::batch(bodies.iter().cloned()),
            |batch| task.append(batch).unwrap(),
            criterion::BatchSize::LargeInput,
        );
    });
    group.finish();
    engine.close().unwrap();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = append
}
criterion_main!(benches);
