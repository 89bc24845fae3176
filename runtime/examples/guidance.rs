//! Another thread guides and stops a run: `cargo run -p milepost-runtime --example guidance`.

use std::thread;

use milepost::events::GuidanceGiven;
use milepost::events::{StepFinished, StepStarted};
use milepost::{Engine, Options, Result};
use milepost_runtime::run::{Run, RunOptions, SafePoint};

fn main() -> Result<()> {
    let engine = Engine::in_memory(Options::default())?;
    let run = Run::of(engine.start_task("tuning", "ana")?, RunOptions::default())?;
    run.begin()?;
    run.pause("to be guided before the first step")?;
    thread::scope(|threads| {
        threads.spawn(|| -> Result<()> {
            let text = "keep the second variant".to_owned();
            run.append(GuidanceGiven { text, data: None })?;
            run.resume()
        });
        for step in 1.. {
            match run.safe_point()? {
                // waits while the run is paused
                SafePoint::Go => {}
                SafePoint::Stop(_) => break,
                SafePoint::Elsewhere(lineage) => println!("continues on lineage {lineage}"),
            }
            run.start_step(StepStarted { step, ..Default::default() })?;
            println!("step {step}: {} pieces of guidance", run.state()?.guidance.len());
            run.finish_step(StepFinished { step, ..Default::default() })?;
            if step == 2 {
                run.stop("two steps are enough")?;
            }
        }
        Ok(())
    })?;
    engine.close()
}
