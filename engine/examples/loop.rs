//! A loop that records its steps, restores one, and undoes that: `cargo run --example loop`.

use milepost::events::{Message, StepFinished, StepStarted};
use milepost::{Append, Engine, Mark, Options, Result, Task};

fn main() -> Result<()> {
    // `Engine::open(dir, Options::default())` keeps the log on disk.
    let engine = Engine::in_memory(Options::default())?;
    let task = engine.start_task("tuning", "ana")?;
    for step in 1..=3 {
        task.append(StepStarted { step, ..Default::default() })?; // durable when it returns
        task.append(Message::text("assistant", &format!("attempt {step}")))?;
        let finished = Append::from(StepFinished { step, ..Default::default() });
        task.append(finished.mark(Mark::new().label(format!("step-{step}"))))?; // with a checkpoint
    }
    print("recorded", &task)?;

    let second = engine.point("tuning@step-2")?;
    let task = engine.restore(&second).description("the third attempt was worse").run()?;
    print("restored", &task)?;

    let task = engine.undo("tuning").run()?; // a restore is an event: it can be undone
    print("undone", &task)?;
    engine.close()
}

fn print(what: &str, task: &Task) -> Result<()> {
    let (lineage, offset) = (task.lineage().id(), task.head()?.next);
    println!("{what}: lineage {lineage}, offset {offset}, {} messages", task.messages()?.count());
    Ok(())
}
