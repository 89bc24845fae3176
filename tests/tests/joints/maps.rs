//! History maps that are cut at each event, with appends, erasures, restores and cleanups in
//! between: in the end they equal a map that is made at once.

use std::sync::atomic::{AtomicU64, Ordering};

use milepost::clock::{Clock, ManualClock};
use milepost::events::{
    Message, RunControl, StepFailed, StepFinished, StepStarted, ToolCalled, ToolReturned,
};
use milepost::retention::Policy;
use milepost::{Body, Engine, Json, LineageId, Mark, Options, Task};
use milepost_service::reader::{EventSearch, Reader, TurnPlace, TurnsRequest};
use milepost_tests::seed::{Random, number, seed};

/// A clock on which any two looks are an hour apart: the time of a request is over after one event.
struct Hours(AtomicU64);

impl Clock for Hours {
    fn now_us(&self) -> u64 {
        self.0.fetch_add(3_600_000_000, Ordering::Relaxed)
    }
}

/// Counts and metrics of a lineage, as far as they were read, and whether that is all.
fn said(reader: &Reader, task: &Task, lineage: LineageId) -> (String, bool) {
    let overview = reader.overview(task, Some(lineage), 50).unwrap();
    let metrics = reader.metrics(task, Some(lineage)).unwrap();
    (format!("{overview:?}\n{metrics:?}"), overview.read.0 == overview.head.0)
}

fn step(engine: &Engine, random: &mut Random, n: u64) {
    let task = engine.task("t").unwrap();
    let lineages = task.lineages().unwrap();
    let info = lineages[random.below(lineages.len() as u64) as usize].clone();
    let at = info.begin + random.below(info.head.next - info.begin + 1);
    let point = || task.lineage_named(info.id)?.point(at);
    match random.below(14) {
        0..=3 => drop(task.append(Message::text("user", &format!("message {n}"))).unwrap()),
        4 | 5 => {
            task.append(StepStarted { step: n, ..StepStarted::default() }).unwrap();
            let mut finished = StepFinished { step: n, ..StepFinished::default() };
            finished.metrics.insert("loss".into(), milepost_codec::Float(f64::from(n as u32)));
            task.append(finished).unwrap();
        }
        6 => drop(task.append(StepFailed { step: n, error: "it fails".into() }).unwrap()),
        7 => drop(task.checkpoint(Mark::new().label("mark")).unwrap()),
        8 => {
            let to = [RunControl::Running, RunControl::Paused][(n % 2) as usize];
            // Not every change is allowed.
            let _ = task.control().change(to, None);
        }
        // Events of the engine and events in a base are not erased.
        9 | 10 => drop(point().and_then(|point| engine.retention().erase(&point, None))),
        11 => drop(point().and_then(|point| engine.restore(&point).run()).unwrap()),
        12 => drop(point().and_then(|point| engine.branch(&point).run()).unwrap()),
        _ => drop(engine.retention().retain(&Policy::new().keep(2).undo(1)).unwrap()),
    }
}

#[test]
fn maps_that_are_cut_at_each_event_say_what_one_made_at_once_says() {
    let first = seed();
    let mut compared = 0;
    for case in 0..number("MILEPOST_CASES").unwrap_or(12) {
        let seed = first.wrapping_add(case);
        println!("case {seed}");
        let mut random = Random::new(seed);
        let engine = Engine::in_memory(Options::default()).unwrap();
        engine.start_task("t", "ana").unwrap();
        let cut = Reader::with_clock(Box::new(Hours(AtomicU64::new(0))));
        for n in 0..120 {
            step(&engine, &mut random, n);
            let task = engine.task("t").unwrap();
            let lineages = task.lineages().unwrap();
            let one = lineages[random.below(lineages.len() as u64) as usize].id;
            // Some events of one lineage are read.
            for _ in 0..random.below(8) {
                said(&cut, &task, one);
            }
            if n % 10 > 0 {
                continue;
            }
            for info in lineages {
                let whole = Reader::with_clock(Box::new(ManualClock::at(0)));
                let (due, is_all) = said(&whole, &task, info.id);
                assert!(is_all, "{due}");
                let mut found = said(&cut, &task, info.id);
                while !found.1 {
                    found = said(&cut, &task, info.id);
                }
                assert_eq!(found.0, due, "lineage {} after step {n}", info.id);
                compared += 1;
            }
        }
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn a_turn_of_many_calls_shows_some_and_counts_all() {
    const CALLS: usize = 3_000;
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let called = |n: usize| -> Body {
        let (call, tool) = (format!("call {}", n / 2), "sh".to_owned());
        match n % 2 {
            0 => ToolCalled { call, tool, arguments: Json::string("ls") }.into(),
            _ => ToolReturned { call, tool: None, ok: true, output: None }.into(),
        }
    };
    task.append(StepStarted { step: 1, ..StepStarted::default() }).unwrap();
    task.append((0..2 * CALLS).map(called).collect::<Vec<_>>()).unwrap();
    task.append(StepFinished { step: 1, ..StepFinished::default() }).unwrap();
    let reader = Reader::with_clock(Box::new(ManualClock::at(0)));
    let (place, search) = (TurnPlace::From(0), EventSearch::default());
    let asked = TurnsRequest { lineage: None, place, limit: 10, search };
    let turns = reader.turns(&task, &asked).unwrap();
    let [turn] = turns.items.as_slice() else { panic!("{turns:?}") };
    let shown = turn.calls.len();
    assert!((1..100).contains(&shown), "{shown} calls are shown");
    assert_eq!(turn.more_calls.map(|more| more.0), Some((CALLS - shown) as u64));
}
