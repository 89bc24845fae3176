//! Durable appends, one event each.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::contestants::{ALL, Event, EventLog};
use super::figures::Figures;
use crate::corpus::generated;
use crate::rows::folder;

/// Numbers of concurrent writers.
pub const WRITERS: [usize; 3] = [1, 8, 64];
/// Bytes of an event.
pub const SIZES: [usize; 4] = [128, 1 << 10, 16 << 10, 256 << 10];

/// Names a load by its writers and sizes.
pub fn what(writers: usize, size: usize) -> String {
    let size = match size {
        0..1024 => format!("{size} B"),
        _ => format!("{} kB", size >> 10),
    };
    match writers {
        1 => format!("1 writer, {size}"),
        _ => format!("{writers} writers, {size}"),
    }
}

/// Measures all contestants in turn, for a while each.
pub fn appends(figures: &mut Figures, rounds: usize, span: Duration, only: Option<&str>) {
    for size in SIZES {
        for writers in WRITERS {
            let what = what(writers, size);
            eprintln!("appends: {what}");
            for _ in 0..rounds {
                for contestant in ALL.iter().filter(|one| only.is_none_or(|only| only == one.name))
                {
                    let dir = folder();
                    let log = (contestant.begin)(dir.path(), true);
                    let ran = run(&*log, writers, size, span);
                    figures.add("appends", &what, contestant.name, "/s", ran.rate);
                    figures.add("append, half within", &what, contestant.name, "us", ran.half);
                    figures.add("append, 99 of 100 within", &what, contestant.name, "us", ran.most);
                }
            }
        }
    }
}

struct Ran {
    rate: f64,
    half: f64,
    most: f64,
}

/// Lets writers append for a while. Their wait at the beginning does not count.
fn run(log: &dyn EventLog, writers: usize, size: usize, span: Duration) -> Ran {
    let events: Vec<Event> = (0..writers).map(|n| Event::of(generated(n as u64, size))).collect();
    for event in &events {
        log.append(std::slice::from_ref(event));
    }
    let over = AtomicBool::new(false);
    let begun = Instant::now();
    let mut took: Vec<Duration> = std::thread::scope(|scope| {
        let writers: Vec<_> =
            events.iter().map(|event| scope.spawn(|| each(log, event, &over))).collect();
        std::thread::sleep(span);
        over.store(true, Ordering::Relaxed);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let rate = took.len() as f64 / begun.elapsed().as_secs_f64();
    took.sort_unstable();
    let within = |part: f64| took[(took.len() as f64 * part) as usize].as_secs_f64() * 1e6;
    Ran { rate, half: within(0.5), most: within(0.99) }
}

fn each(log: &dyn EventLog, event: &Event, over: &AtomicBool) -> Vec<Duration> {
    let mut took = Vec::new();
    while !over.load(Ordering::Relaxed) || took.is_empty() {
        let begun = Instant::now();
        log.append(std::slice::from_ref(event));
        took.push(begun.elapsed());
    }
    took
}
