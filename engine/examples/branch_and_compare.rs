//! Two continuations of one point, compared: `cargo run --example branch_and_compare`.

use milepost::events::Message;
use milepost::state::diff_states;
use milepost::{Engine, Options, Point, Result, RunState};

fn main() -> Result<()> {
    let engine = Engine::in_memory(Options::default())?;
    let task = engine.start_task("essay", "ana")?;
    task.append(Message::text("user", "Write a first sentence."))?;
    let fork = task.point(task.head()?.next)?;

    // The branch is a lineage of its own; it shares the events before the point.
    let branch = engine.branch(&fork).description("a second variant").run()?;
    task.append(Message::text("assistant", "It was a dark and stormy night."))?;
    branch.append(Message::text("assistant", "Call me Ishmael."))?;

    let state = |point: Point| -> Result<RunState> { engine.run_state(&point) };
    let ours = state(task.point(task.head()?.next)?)?;
    let theirs = state(branch.point(branch.head()?.next)?)?;
    for change in diff_states(&ours, &theirs, engine.chunks().as_ref())? {
        println!("{change:?}");
    }

    // The task continues on the branch; the first variant stays readable.
    let task = engine
        .restore(&branch.point(branch.head()?.next)?)
        .description("the better variant")
        .run()?;
    for lineage in task.lineages()? {
        println!("lineage {}: {} events", lineage.id, lineage.head.next);
    }
    engine.close()
}
