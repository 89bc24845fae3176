//! Optimizes a prompt, and continues a run that was stopped.

use std::process::ExitCode;

use milepost::events::RunControl;
use milepost::{Engine, ErrorKind, Options, Result};
use milepost_example_prompts::{Brief, End, Optimizer, Told, options, start};
use milepost_runtime::run::Run;

const USAGE: &str = "usage: milepost-example-prompts STORE [--rounds N] [--stop-after LAYERS]";

/// The task that holds the run.
const TASK: &str = "prompts";

/// The command line arguments.
struct Args {
    store: String,
    rounds: u64,
    stop_after: Option<u64>,
}

impl Args {
    fn parse(mut given: impl Iterator<Item = String>) -> Option<Self> {
        let (mut store, mut rounds, mut stop_after) = (None, 3, None);
        while let Some(word) = given.next() {
            if word == "--rounds" {
                rounds = given.next()?.parse().ok()?;
            } else if word == "--stop-after" {
                stop_after = Some(given.next()?.parse().ok()?);
            } else if word.starts_with('-') || store.replace(word).is_some() {
                return None;
            }
        }
        let store = store?;
        Some(Self { store, rounds, stop_after })
    }
}

/// Reports progress, and aborts the process if requested.
struct Reporter {
    done: u64,
    stop_after: Option<u64>,
}

impl Reporter {
    fn tell(&mut self, told: &Told<'_>) {
        match told {
            Told::Asks { key, .. } => println!("    asks: {key}"),
            // In the middle of the next layer: the answer is recorded, its events are not.
            Told::Answered(_) if self.stop_after.is_some_and(|wanted| self.done >= wanted) => {
                println!("stopped hard");
                std::process::abort();
            }
            Told::Answered(_) | Told::Recorded(_) => {}
            Told::Finished { place, view, checkpoint } => {
                self.done += 1;
                let score = view.score().map_or("-".to_owned(), |s| s.to_string());
                let id = checkpoint
                    .map_or("not saved".to_owned(), |c| format!("@{:.8}", c.id.to_string()));
                println!("{place}   score {score}   {id}   {}", view.prompt);
            }
            Told::Elsewhere(lineage) => println!("going on in lineage {lineage}"),
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let engine = Engine::open(&args.store, Options::default())?;
    let task = match engine.task(TASK) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let brief =
                Brief { prompt: "Help the customer.".to_owned(), rounds: args.rounds, seed: 7 };
            start(&engine, TASK, "ana", &brief)?
        }
        found => found?,
    };
    let run = Run::of(task, options())?;
    // The process that paused the run has ended.
    if run.task().control().now()? == RunControl::Paused {
        run.resume()?;
    }
    let mut reporter = Reporter { done: 0, stop_after: args.stop_after };
    let mut optimizer = Optimizer::take_up(&engine, &run)?.tell(|told| {
        reporter.tell(told);
        Ok(())
    });
    match optimizer.view()?.next() {
        Some(place) => println!("{place} comes first, in lineage {}", run.task().lineage().id()),
        None => println!("all rounds are done"),
    }
    let end = optimizer.go()?;
    let view = optimizer.view()?;
    drop(optimizer);
    if let End::Stopped(control) = end {
        println!("it is {}: run it again and it goes on", control.name());
    }
    let score = view.score().unwrap_or_default();
    println!("prompt with {score} points: {}", view.prompt);
    drop(run);
    engine.close()?;
    let store = &args.store;
    println!("look at it:  milepost --store {store} checkpoints {TASK}");
    println!("             milepost --store {store} state {TASK}");
    println!("go back:     milepost --store {store} restore @ID, and run this again");
    Ok(())
}

fn main() -> ExitCode {
    let Some(args) = Args::parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
