//! A process that dies in the middle of a step and resumes: `cargo run --example crash_and_resume`.

use std::path::Path;
use std::process::Command;

use milepost::events::{Message, StepFinished};
use milepost::{Append, Engine, Options};

type Result = std::result::Result<(), Box<dyn std::error::Error>>;

fn main() -> Result {
    if let Some(dir) = std::env::args().nth(1) {
        return work(Path::new(&dir));
    }
    let dir = std::env::temp_dir().join(format!("milepost-example-{}", std::process::id()));
    let program = std::env::current_exe()?;
    for process in ["first", "second"] {
        println!("{process} process: {}", Command::new(&program).arg(&dir).status()?);
    }
    Ok(std::fs::remove_dir_all(&dir)?)
}

/// Five steps. The process dies in the third one, between its message and its end.
fn work(dir: &Path) -> Result {
    let engine = Engine::open(dir, Options::default())?;
    let task = engine.task_or_start("tuning", "ana")?;
    for step in task.state()?.step.map_or(1, |done| done.number + 1)..=5 {
        // With its key the message is appended once, however often the step is tried.
        let message = Append::from(Message::text("assistant", &format!("attempt {step}")));
        let appended = task.append(message.key(format!("message-{step}")))?;
        if step == 3 && !appended.repeated {
            std::process::abort();
        }
        task.append(StepFinished { step, ..Default::default() })?;
        println!("step {step} is done at offset {}", appended.head.next);
    }
    Ok(engine.close()?)
}
