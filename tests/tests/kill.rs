//! A process that appends is killed at any moment; every acknowledged event is there (I1), once and
//! in order (I2).
//!
//! The test starts its own binary as the process to be killed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use milepost::events::Message;
use milepost::{Body, Engine, Mark, Options};
use milepost_tests::bodies;
use milepost_tests::faults::nightly;
use milepost_tests::seed::{Random, seed};

const STORE: &str = "MILEPOST_TEST_KILL_STORE";
const THREADS: &str = "MILEPOST_TEST_KILL_THREADS";

/// The process that is killed: not a test of its own, it does nothing without its environment.
#[test]
fn child_that_appends_until_it_is_killed() {
    let (Ok(store), Ok(threads)) = (std::env::var(STORE), std::env::var(THREADS)) else {
        return;
    };
    let options = Options::default().backlog_bytes(1 << 20);
    let engine = Engine::open(store, options).unwrap();
    let task = match engine.task("t") {
        Ok(task) => task,
        Err(_) => engine.start_task("t", "ana").unwrap(),
    };
    let out = Arc::new(Mutex::new(std::io::stdout()));
    std::thread::scope(|scope| {
        for thread in 0..threads.parse::<u64>().unwrap() {
            let (task, out) = (task.clone(), Arc::clone(&out));
            scope.spawn(move || {
                let mut random = Random::new(thread + u64::from(std::process::id()));
                loop {
                    let text = format!("{:x}", random.number());
                    let mut batch: Vec<Body> = vec![Message::text("user", &text).into()];
                    if random.below(8) == 0 {
                        // Segments roll and blocks are applied; now and then a chunked body.
                        let size = if random.below(40) == 0 { 300_000 } else { 30_000 };
                        batch.push(bodies::bytes(random.number(), size));
                    }
                    let done = task.append(batch).unwrap();
                    let mut out = out.lock().unwrap();
                    writeln!(out, "ack {} {text}", done.first).unwrap();
                    out.flush().unwrap();
                    drop(out);
                    if random.below(50) == 0 {
                        task.checkpoint(Mark::new()).unwrap();
                    }
                }
            });
        }
    });
}

/// Runs the child until it has acknowledged a number of appends, kills it, and returns its output.
fn run_and_kill(store: &Path, threads: u64, acks: u64) -> Vec<(u64, String)> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child_that_appends_until_it_is_killed", "--nocapture"])
        .env(STORE, store)
        .env(THREADS, threads.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = Vec::new();
    for line in lines {
        // A line that was cut by the kill is no acknowledgement.
        let Ok(line) = line else { break };
        let mut words = line.split(' ').skip_while(|word| *word != "ack").skip(1);
        if let (Some(offset), Some(text)) = (words.next(), words.next()) {
            said.push((offset.parse().unwrap(), text.to_owned()));
        }
        if said.len() as u64 == acks {
            child.kill().unwrap();
        }
    }
    assert!(!child.wait().unwrap().success());
    // The last line may be cut in its text.
    said.pop();
    said
}

fn rounds(threads: u64) {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let mut random = Random::new(seed());
    let mut acked = Vec::new();
    let kills = if nightly() { 100 } else { 10 };
    for round in 0..kills {
        let acks = 2 + random.below(if threads == 1 { 150 } else { 600 });
        acked.extend(run_and_kill(&store, threads, acks));
        // Every other round the next process is the first to open what the kill left.
        if round % 2 == 0 {
            continue;
        }
        let engine = Engine::open(&store, Options::default()).unwrap();
        let task = engine.task("t").unwrap();
        let events: Vec<_> = task.read(..).unwrap().map(|e| e.unwrap()).collect();
        for (offset, event) in (0..).zip(&events) {
            assert_eq!(event.offset, offset, "I2");
        }
        for (offset, text) in &acked {
            let event = &events[*offset as usize];
            let expected = Body::from(Message::text("user", text));
            assert_eq!(event.body, Some(expected), "I1: round {round}, offset {offset}");
        }
        let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        assert!(report.is_clean(), "{report:?}");
        engine.close().unwrap();
    }
}

#[test]
fn one_writer_that_is_killed_loses_nothing_it_was_told_of() {
    rounds(1);
}

#[test]
fn sixteen_writers_that_are_killed_lose_nothing_they_were_told_of() {
    rounds(16);
}
