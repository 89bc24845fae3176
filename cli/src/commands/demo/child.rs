//! Both sides of the pipe: the worker process, which runs and records, and its parent.
//!
//! ```text
//! worker -> parent   {"acknowledged": {..}}   an append is durable
//!                    {"paused": 600}          the worker waits
//! parent -> worker   {"guide": {..}}          guidance; the worker continues
//! ```

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use milepost::Options;
use milepost::internals::threads;
use serde::{Deserialize, Serialize};

use super::optimizer::Optimizer;
use super::run::{Acknowledged, DemoRun};
use super::{DemoWorkerArgs, FIRST_STEP_SIZE};
use crate::error::{Failure, Result};
use crate::program;
use crate::store_locator::StoreArgs;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Report {
    Acknowledged(Acknowledged),
    Paused(u64),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    Guide { text: String, step_size: f64 },
}

/// Runs the worker: it waits once for guidance, and continues until it is killed or done.
pub fn worker(store: &StoreArgs, args: &DemoWorkerArgs) -> Result<()> {
    let engine = store.open_or_create(Options::default())?;
    let task = engine.start_task(&args.task, "demo")?;
    let optimizer = Optimizer::new(args.seed, FIRST_STEP_SIZE);
    let tell = |acknowledged| report(&Report::Acknowledged(acknowledged));
    let (mut run, begun) = DemoRun::begin(task.lineage().clone(), optimizer)?;
    tell(begun)?;
    run.until(args.pause_at, tell)?;
    tell(run.pause()?)?;
    report(&Report::Paused(run.optimizer.iteration))?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    // An empty line means that the parent is gone.
    let Order::Guide { text, step_size } = serde_json::from_str(&line)?;
    tell(run.guide(&text, step_size)?)?;
    tell(run.resume()?)?;
    run.until(args.until, tell)?;
    Ok(engine.close()?)
}

fn report(report: &Report) -> Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    Ok(stdout.flush()?)
}

/// A worker, as its parent sees it.
pub struct Worker {
    child: Child,
    reports: Receiver<Report>,
    reader: Option<JoinHandle<()>>,
    /// All appends that it reported as durable.
    pub acknowledged: Vec<Acknowledged>,
}

impl Worker {
    /// Starts the worker: this program, as a process of its own, with the key of the store.
    pub fn start(store: &Path, key_file: Option<&Path>, args: &DemoWorkerArgs) -> Result<Self> {
        let mut command = program::current()?.command();
        if let Some(file) = key_file {
            command.arg("--key-file").arg(file);
        }
        let mut child = command
            .arg("--store")
            .arg(store)
            .args(["demo-worker", "--task", &args.task])
            .args(["--seed", &args.seed.to_string()])
            .args(["--pause-at", &args.pause_at.to_string()])
            .args(["--until", &args.until.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().ok_or_else(|| Failure::new("the worker has no output"))?;
        let (sender, reports) = channel();
        let reader = threads::start("demo", move || {
            for line in BufReader::new(stdout).lines() {
                // A line that was cut by the end of the process does not count.
                let Some(report) = line.ok().and_then(|line| serde_json::from_str(&line).ok())
                else {
                    return;
                };
                if sender.send(report).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { child, reports, reader: Some(reader), acknowledged: Vec::new() })
    }

    /// Waits until the worker is paused, and returns its iteration.
    pub fn wait_for_pause(&mut self) -> Result<u64> {
        loop {
            match self.hear()? {
                Report::Paused(iteration) => return Ok(iteration),
                Report::Acknowledged(acknowledged) => self.acknowledged.push(acknowledged),
            }
        }
    }

    /// Sends guidance, after which the worker continues.
    pub fn guide(&mut self, text: &str, step_size: f64) -> Result<()> {
        let mut line = serde_json::to_vec(&Order::Guide { text: text.to_owned(), step_size })?;
        line.push(b'\n');
        let mut stdin =
            self.child.stdin.take().ok_or_else(|| Failure::new("the worker has no input"))?;
        Ok(stdin.write_all(&line)?)
    }

    /// Waits until the worker has done this many iterations.
    pub fn wait_for_iteration(&mut self, iteration: u64) -> Result<()> {
        loop {
            if let Report::Acknowledged(acknowledged) = self.hear()? {
                self.acknowledged.push(acknowledged);
                if acknowledged.iteration >= iteration {
                    return Ok(());
                }
            }
        }
    }

    fn hear(&mut self) -> Result<Report> {
        self.reports.recv().map_err(|_| Failure::new("the worker ended too early"))
    }

    /// Kills the worker (with SIGKILL on Unix), and reads its last reports.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        if let Some(reader) = self.reader.take() {
            // The thread ends with the pipe, which ended with the process.
            let _ = reader.join();
        }
        for report in self.reports.try_iter() {
            if let Report::Acknowledged(acknowledged) = report {
                self.acknowledged.push(acknowledged);
            }
        }
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A demo that stops halfway leaves no process behind. The worker may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
