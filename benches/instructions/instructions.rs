//! Instructions of the hot paths, counted by callgrind: the count does not depend on the load of
//! the machine. Callgrind does not know the SHA-256 instructions, so a checkpoint's id counts for
//! more here than it costs.
//!
//! ```text
//! cargo install gungraun-runner --version =0.20.0    # and valgrind, from the system
//! just instructions
//! ```
//!
//! A limit is some 5 % above the count at the time it was set. A change that exceeds it either is a
//! regression, or raises the limit with a reason here.

#![expect(missing_docs, clippy::unwrap_used, reason = "a bench")]

use std::hint::black_box;

use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind};
use milepost::events::{Message, StepFinished, StepStarted};
use milepost::{Append, Body, Engine, Mark, Options, Task};

/// The number of events, or checkpoints, in each count.
const MANY: u64 = 1000;

fn limit(instructions: u64) -> LibraryBenchmarkConfig {
    let mut callgrind = Callgrind::with_args(["--cache-sim=no"]);
    callgrind.hard_limits([(EventKind::Ir, instructions)]);
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(callgrind);
    config
}

/// An event of about 1 kB.
fn message(number: u64) -> Body {
    let text = format!("{number}: the step found the value in the file, and returned. ");
    Message::text("user", &text.repeat(16)).into()
}

/// Makes a store in memory with one task of this many messages.
fn store(messages: u64) -> (Engine, Task) {
    let engine = Engine::in_memory(Options::default().snapshots(false)).unwrap();
    let task = engine.start_task("run", "somebody").unwrap();
    let step = |number| {
        [
            StepStarted { step: number, ..StepStarted::default() }.into(),
            message(number),
            StepFinished { step: number, ..StepFinished::default() }.into(),
        ]
    };
    for number in 0..messages / 3 {
        task.append(Append::batch(step(number))).unwrap();
    }
    (engine, task)
}

fn with_bodies() -> (Engine, Task, Vec<Body>) {
    let (engine, task) = store(0);
    (engine, task, (0..MANY).map(message).collect())
}

#[library_benchmark(config = limit(27_250_000))]
#[bench::of_1_kb(setup = with_bodies)]
fn append((engine, task, bodies): (Engine, Task, Vec<Body>)) -> (Engine, Task) {
    for body in bodies {
        black_box(task.append(body).unwrap());
    }
    (engine, task)
}

#[library_benchmark(config = limit(3_860_000))]
#[bench::of_1_kb(args = (MANY), setup = store)]
fn decode((engine, task): (Engine, Task)) -> (Engine, Task) {
    for event in task.read(..).unwrap() {
        black_box(event.unwrap());
    }
    (engine, task)
}

#[library_benchmark(config = limit(6_280_000))]
#[bench::steps(args = (MANY), setup = store)]
fn fold((engine, task): (Engine, Task)) -> (Engine, Task) {
    let head = task.head().unwrap().next;
    let point = task.point(head).unwrap();
    black_box(engine.run_state(&point).unwrap());
    (engine, task)
}

#[library_benchmark(config = limit(78_100_000))]
#[bench::at_the_head(args = (MANY), setup = store)]
fn checkpoint((engine, task): (Engine, Task)) -> (Engine, Task) {
    for _ in 0..MANY {
        black_box(task.checkpoint(Mark::new()).unwrap());
    }
    (engine, task)
}

library_benchmark_group!(name = hot_paths, benchmarks = [append, decode, fold, checkpoint]);
main!(library_benchmark_groups = hot_paths);
