use milepost::{Engine, Options};
use milepost_runtime::run::{Run, RunOptions};

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let engine = Engine::open(".milepost", Options::default())?;
    let attached = milepost_server::attach(&engine)?; // watched and steered from outside
    let run = Run::resume_or_start(&engine, "essay", "ana", RunOptions::default())?;
    // Each step is recorded with a checkpoint. A pause waits here; after a kill or a restore from
    // outside the loop continues at the right step.
    run.drive(|step| {
        for guidance in run.new_guidance()? {
            println!("guidance: {}", guidance.given.text);
        }
        let key = format!("draft {}", step.number());
        let draft: String = run.once(&key, || Ok::<_, Error>("a draft".into()))?; // not repeated
        println!("{}: {draft}", step.number());
        if step.number() >= 3 {
            step.end_run();
        }
        Ok::<_, Error>(())
    })?;
    drop(attached);
    Ok(engine.close()?)
}
