//! The figures of the service.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use milepost::events::Message;
use milepost::{Append, Body, Engine, Mark, Options};
use tokio::runtime::Runtime;
use tokio::time::MissedTickBehavior;

use super::load::{Came, Load};
use super::readers;
use super::service::Service;
use crate::measure::{alternate, row, seconds};
use crate::rows::folder;

const WRITERS: usize = 64;

/// Bytes of a message's text.
const TEXT: usize = 200;

/// Duration of each run of a load, in seconds.
const RUN: u64 = 5;

/// Memory limit of the service, in MiB.
const MEMORY: f64 = 300.0;

fn message() -> Body {
    Message::text("user", &"x".repeat(TEXT)).into()
}

/// Writes the request of `wrk` for appends of this many events each.
fn appends(events: usize) -> String {
    let text = "x".repeat(TEXT);
    let event = format!(r#"{{"kind":"message","body":{{"role":"user","content":"{text}"}}}}"#);
    let (body, media) = match events {
        1 => (event, "application/json"),
        many => (vec![event; many].join("\\n"), "application/x-ndjson"),
    };
    format!("wrk.method = 'POST'\nwrk.body = '{body}'\nwrk.headers['Content-Type'] = '{media}'")
}

/// A store with the task `bench`, closed.
fn store(dir: &Path, name: &str) -> std::path::PathBuf {
    let root = dir.join(name);
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("bench", "bench").unwrap();
    for n in 0..100 {
        task.append(message()).unwrap();
        task.checkpoint(Mark::new().label(format!("mark-{n}"))).unwrap();
    }
    engine.close().unwrap();
    root
}

/// Measures durable appends by 64 connections, compared with 64 threads that call the engine:
/// events a second.
pub fn appended(rounds: usize) {
    let dir = folder();
    let root = store(dir.path(), "served");
    let engine = Engine::open(dir.path().join("called"), Options::default()).unwrap();
    let task = engine.start_task("bench", "bench").unwrap();
    for (events, target) in [(1, 0.3), (16, 0.6)] {
        let script = appends(events);
        let direct = || {
            let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
            let time = seconds(|| {
                std::thread::scope(|scope| {
                    for _ in 0..WRITERS {
                        scope.spawn(|| {
                            while !stop.load(Ordering::Relaxed) {
                                let bodies = (0..events).map(|_| message());
                                task.append(Append::batch(bodies)).unwrap();
                                count.fetch_add(events as u64, Ordering::Relaxed);
                            }
                        });
                    }
                    std::thread::sleep(Duration::from_secs(RUN));
                    stop.store(true, Ordering::Relaxed);
                });
            });
            count.load(Ordering::Relaxed) as f64 / time
        };
        let (mut most, mut held) = (Vec::new(), 0.0_f64);
        let mut served = || {
            let service = Service::of(&root);
            let came = post(&service, dir.path(), &script, RUN);
            most.push(came.most);
            held = held.max(service.memory().1);
            came.rate * events as f64
        };
        let [ours, limit] = alternate(rounds, [&mut served, &mut || direct()]);
        let name = format!("served appends, 64 connections, {events} a request");
        let called = format!("called {limit:.0}/s");
        row(&name, format!("{ours:.0}/s"), called, ours / limit, target, false);
        let most = crate::measure::median(most);
        println!("    99 of 100 within {most:.1} ms; the service held at most {held:.0} MiB");
    }
    engine.close().unwrap();
}

fn post(service: &Service, dir: &Path, script: &str, seconds: u64) -> Came {
    let path = "/v1/tasks/bench/events";
    let connections = WRITERS;
    Load { script, path, connections, seconds }.run(&service.at, dir)
}

/// A page of checkpoints while 64 connections append: milliseconds that 99 of 100 take at most.
pub fn listed(rounds: usize) {
    let dir = folder();
    let root = store(dir.path(), "served");
    let service = Service::of(&root);
    let script = appends(1);
    let list =
        Load { script: "", path: "/api/v1/tasks/bench/checkpoints", connections: 1, seconds: RUN };
    let (mut rates, mut all) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        std::thread::scope(|scope| {
            let writers = scope.spawn(|| post(&service, dir.path(), &script, RUN + 2));
            // Not before the writers are at it.
            std::thread::sleep(Duration::from_secs(1));
            let reads = std::fs::create_dir_all(dir.path().join("list"));
            reads.unwrap();
            all.push(list.run(&service.at, &dir.path().join("list")).most);
            rates.push(writers.join().unwrap().rate);
        });
    }
    let (most, rate) = (crate::measure::median(all), crate::measure::median(rates));
    let beside = format!("beside {rate:.0} appends/s");
    row(
        "list of checkpoints, 99 of 100 within, ms",
        format!("{most:.2} ms"),
        beside,
        most,
        5.0,
        true,
    );
}

/// Readers of a lineage that grows by 100 events a second: each gets all of them.
pub fn streamed(readers: usize, events: u64) {
    let dir = folder();
    let root = dir.path().join("served");
    let engine = Engine::open(&root, Options::default()).unwrap();
    engine.start_task("bench", "bench").unwrap();
    engine.close().unwrap();
    let service = Service::of(&root);
    let held = service.memory().0;
    let begun = Instant::now();
    let late = Runtime::new().unwrap().block_on(async {
        let (first, end) = (1, 1 + events);
        let all: Vec<_> = (0..readers)
            .map(|_| {
                let at = service.at.clone();
                tokio::spawn(async move { readers::read(&at, "bench", first, end).await })
            })
            .collect();
        let mut tick = tokio::time::interval(Duration::from_millis(10));
        tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
        for _ in 0..events {
            tick.tick().await;
            readers::append(&service.at, "bench").await;
        }
        let written = Instant::now();
        for reader in all {
            reader.await.unwrap();
        }
        written.elapsed()
    });
    let rate = events as f64 / begun.elapsed().as_secs_f64();
    let (_, most) = service.memory();
    let name = format!("{readers} readers of {events} events: each, in order");
    let beside = format!("from {held:.0} MiB");
    row(&name, format!("{most:.0} MiB"), beside, most, MEMORY, true);
    println!(
        "    {rate:.0} events/s; the last reader had all {:.0} ms behind the last append",
        late.as_secs_f64() * 1e3
    );
}

/// Measures the service's memory after each minute of full load.
pub fn lasting(minutes: u64) {
    let dir = folder();
    let root = store(dir.path(), "served");
    let service = Service::of(&root);
    let script = appends(1);
    let mut held = Vec::new();
    for minute in 1..=minutes {
        let came = post(&service, dir.path(), &script, 60);
        held.push(service.memory().0);
        let (now, most) = service.memory();
        println!("    minute {minute}: {:.0}/s, {now:.0} MiB, at most {most:.0} MiB", came.rate);
    }
    // The first minutes fill what is bounded by configuration.
    let (early, late) = held.split_at(held.len() / 2);
    let most = |held: &[f64]| held.iter().copied().fold(0.0, f64::max);
    let (early, late) = (most(early), most(late));
    let before = format!("first half {early:.0} MiB");
    row(
        "memory at full load, second half",
        format!("{late:.0} MiB"),
        before,
        late / early,
        1.05,
        true,
    );
    let (_, most) = service.memory();
    row(
        "the most memory at full load",
        format!("{most:.0} MiB"),
        String::new(),
        most,
        MEMORY,
        true,
    );
}
