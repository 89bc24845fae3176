//! I12, and appends of others: a base takes along every key that was ever used before it, in one commit and in memory. A client of
//! the service and a supervisor give every append a key.
#![allow(clippy::unwrap_used, missing_docs)]
use milepost::{Append, Engine, Mark, Message, Options, Retention};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

#[global_allocator]
static MEM: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;
fn heap() -> String {
    let t = format!(
        "heap {:.0} peak {:.0} MiB",
        MEM.current_usage_as_mb(),
        MEM.peak_usage_as_mb()
    );
    MEM.reset_peak_usage();
    t
}
fn status(what: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|l| l.starts_with(what)).unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        / 1024
}

#[test]
fn a_cleanup_of_a_task_with_many_keys() {
    let count: u32 = std::env::var("DUR_KEYS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(200_000);
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("busy", "ana").unwrap();
    let other = engine.start_task("other", "ana").unwrap();
    let mut tickets = Vec::new();
    for n in 0..count {
        let mut keyed = Append::from(Message::text("user", "m"));
        if std::env::var("DUR_PLAIN").is_err() {
            keyed = keyed.key(format!("request-{n:012}"));
        }
        tickets.push(task.submit(keyed).unwrap());
        if tickets.len() >= 5000 {
            tickets
                .drain(..)
                .for_each(|ticket| drop(ticket.wait().unwrap()));
        }
    }
    tickets
        .drain(..)
        .for_each(|ticket| drop(ticket.wait().unwrap()));
    for _ in 0..3 {
        task.checkpoint(Mark::new()).unwrap();
    }
    engine.drain().unwrap();
    println!("{}", heap());
    println!(
        "{count} keyed appends, RSS {} MiB, peak {} MiB",
        status("VmRSS"),
        status("VmHWM")
    );
    let (stop, worst) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let begun = Instant::now();
                other.append(Message::text("user", "x")).unwrap();
                worst.fetch_max(begun.elapsed().as_millis() as u64, Ordering::Relaxed);
            }
        });
        for round in 0..3 {
            let begun = Instant::now();
            let report = engine
                .retain(&Retention::new().keep(1).task("busy"))
                .unwrap();
            let trimmed = report.tasks.first().map(|t| t.trimmed.clone());
            println!("{}", heap());
            println!(
                "cleanup {round}: {} ms, {trimmed:?}",
                begun.elapsed().as_millis()
            );
            let begun = Instant::now();
            engine.drain().unwrap();
            println!("{}", heap());
            println!(
                "drained in {} ms; worst append of another task {} ms; RSS {} MiB, peak {} MiB",
                begun.elapsed().as_millis(),
                worst.swap(0, Ordering::Relaxed),
                status("VmRSS"),
                status("VmHWM")
            );
            task.append(Append::from(Message::text("user", "m")).key(format!("later-{round}")))
                .unwrap();
            task.checkpoint(Mark::new()).unwrap();
            task.append(Message::text("user", "m")).unwrap();
            task.checkpoint(Mark::new()).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
}
