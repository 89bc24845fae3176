use milepost::events::{Message, StepFinished, StepStarted};
use milepost::{Append, Engine, Mark, Options, Result};

fn main() -> Result<()> {
    let engine = Engine::open(".milepost", Options::default())?;
    let task = engine.task_or_start("essay", "ana")?;
    for step in 1..=3 {
        task.append(StepStarted { step, ..Default::default() })?; // durable when it returns
        let draft = Message::text("assistant", "a draft");
        task.append(Append::from(draft).key(format!("draft-{step}")))?; // once, if tried again
        task.append(StepFinished { step, ..Default::default() })?;
        task.checkpoint(Mark::new().label(format!("draft-{step}")))?;
    }
    let first = engine.point("essay@draft-1")?;
    let task = engine.restore(&first).description("the second was worse").run()?;
    println!("{} messages at step {:?}", task.messages()?.count(), task.state()?.step);
    let task = engine.undo("essay").run()?; // a restore can be undone
    println!("{} messages at step {:?}", task.messages()?.count(), task.state()?.step);
    engine.close()
}
