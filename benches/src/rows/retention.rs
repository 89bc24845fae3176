//! Lists, statistics and cleanup of stores with many tasks and checkpoints.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use milepost::query::CheckpointQuery;
use milepost::retention::Policy;
use milepost::{Append, Engine, Mark, Options, Task};

use super::{folder, store};
use crate::corpus::generated;
use crate::measure::{alternate, row, seconds};

/// Pause between two appends of the concurrent writer: a thousand a second are more than any run
/// appends, and leave the processors to the measured work. A writer without a pause would measure
/// its own load.
const PACE: Duration = Duration::from_millis(1);

/// Checkpoints that a listing gives.
const PAGE: usize = 20;

/// Marks this many checkpoints, with an event before each, and waits for the last.
fn fill(task: &Task, checkpoints: u64) {
    let body = generated(1, 100);
    let mut last = None;
    for n in 0..checkpoints {
        let mark = Mark::new().label(format!("step-{n}"));
        last = Some(task.submit(Append::from(body.clone()).mark(mark)).unwrap());
    }
    if let Some(last) = last {
        last.wait().unwrap();
    }
}

/// Listing 20 checkpoints of a task with few and with many.
pub fn listing(rounds: usize, many: u64) {
    let dir = folder();
    let (engine, task) = store(dir.path());
    fill(&task, many);
    let few = engine.start_task("few", "bench").unwrap();
    fill(&few, 1000);
    engine.store().drain().unwrap();
    let list = |name: &str| {
        let query = CheckpointQuery {
            task: Some(name.into()),
            limit: Some(PAGE),
            ..CheckpointQuery::default()
        };
        seconds(|| {
            let page = engine.query().checkpoints(&query).unwrap();
            assert_eq!(page.items.len(), PAGE);
        })
    };
    let [many_s, few_s] = alternate(rounds * 20, [&mut || list("bench"), &mut || list("few")]);
    let name = format!("list {PAGE} of {many} checkpoints");
    let (ours, peer) = (us(many_s), format!("of 1000: {}", us(few_s)));
    row(&name, ours.clone(), peer, many_s / few_s, 2.0, true);
    row("the same, in ms", ours, "1 ms".into(), many_s * 1e3, 1.0, true);
}

fn us(seconds: f64) -> String {
    format!("{:.0} us", seconds * 1e6)
}

fn ms(seconds: f64) -> String {
    format!("{:.1} ms", seconds * 1e3)
}

/// Measures statistics and cleanup of a store with this many tasks, during concurrent appends.
pub fn cleanup(rounds: usize, tasks: u64) {
    let dir = folder();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    for n in 0..tasks {
        let user = format!("user-{}", n % 10);
        let task = engine.start_task(&format!("task-{n}"), &user).unwrap();
        fill(&task, 12);
    }
    engine.store().drain().unwrap();
    let count =
        || seconds(|| assert!(engine.query().task_stats(None).unwrap().len() as u64 >= tasks));
    let [stats] = alternate(rounds, [&mut || count()]);
    let name = format!("statistics of {tasks} tasks, in ms");
    row(&name, ms(stats), "50 ms".into(), stats * 1e3, 50.0, true);

    // The slowest append of this machine in about the same time, with reads as the only other load.
    let (_, alone) = beside(&engine, || {
        (0..200).for_each(|_| {
            count();
        })
    });
    let policy = Policy::new().keep(10);
    let plan = engine.retention().plan(&policy).unwrap();
    let (took, longest) = beside(&engine, || {
        let report = engine.retention().apply(&plan, &mut |_, _| {}).unwrap();
        let went =
            |task: &milepost::retention::TaskRetained| task.removed == 2 || task.checkpoints == 0;
        assert!(report.tasks.iter().all(went));
    });
    let name = format!("cleanup of {tasks} tasks: longest append, ms");
    let peer = format!("alone {}, in {took:.1} s", ms(alone));
    row(&name, ms(longest), peer, longest * 1e3, 10.0, true);
    let before = engine.store().stats().unwrap().disk.total as f64;
    let (took, longest) = beside(&engine, || {
        engine.retention().compact(&mut |_| {}).unwrap();
    });
    let after = engine.store().stats().unwrap().disk.total as f64;
    let peer = format!("{:.0} -> {:.0} MB in {took:.1} s", before / 1e6, after / 1e6);
    let name = "compaction of it: longest append, ms";
    row(name, ms(longest), peer, longest * 1e3, 1000.0, true);
}

/// Runs `work` during appends at a fixed pace; returns its duration, and the longest append.
fn beside(engine: &Engine, work: impl FnOnce()) -> (f64, f64) {
    let task = match engine.task("beside") {
        Ok(task) => task,
        Err(_) => engine.start_task("beside", "bench").unwrap(),
    };
    let (body, done) = (generated(2, 200), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut longest: f64 = 0.0;
            while !done.load(Ordering::Relaxed) {
                std::thread::sleep(PACE);
                let begun = Instant::now();
                task.append(body.clone()).unwrap();
                longest = longest.max(begun.elapsed().as_secs_f64());
            }
            longest
        });
        let took = seconds(work);
        done.store(true, Ordering::Relaxed);
        (took, writer.join().unwrap())
    })
}
