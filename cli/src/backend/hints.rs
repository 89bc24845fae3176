//! Tasks and points of an opened store by what the user wrote. Failures have hints.

use std::path::Path;

use milepost::{Address, Engine, ErrorKind, LineageId, Point, Task};

use super::{Local, suggestions};
use crate::error::{Failure, Result};
use crate::output::words;

/// Resolves an address. A failure has a hint.
pub fn point(engine: &Engine, address: &str) -> Result<Point> {
    let point = engine.point(address);
    point.map_err(|error| suggestions::of_point(&Local::new(engine), error.into(), address))
}

/// Returns the next offset of a point's lineage.
pub fn head(engine: &Engine, point: &Point) -> Result<u64> {
    let lineage = engine.task(&point.task)?.lineage_named(point.lineage)?;
    Ok(lineage.head()?.next)
}

/// Returns a hint with the command that prints the remaining events of a lineage.
pub fn log_hint(task: &str, lineage: LineageId, head: u64) -> String {
    let place = words::address(task, lineage, head);
    format!("`milepost log {place}` prints the events that are there")
}

/// Returns the task with this id, which may be percent-encoded as in an address. A failure has a
/// hint.
pub fn task(engine: &Engine, id: &str) -> Result<Task> {
    existing(engine, id).map_err(|failure| match failure.kind() {
        Some(ErrorKind::NotFound) => suggestions::of_task(&Local::new(engine), failure, id),
        _ => failure,
    })
}

/// Returns the task with this id, which may be percent-encoded as in an address.
fn existing(engine: &Engine, id: &str) -> Result<Task> {
    match engine.task(id) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let decoded = id.parse::<Address>().and_then(|address| engine.resolve(&address));
            match decoded {
                Ok(point) if id.contains('%') => Ok(engine.task(&point.task)?),
                _ => Err(error.into()),
            }
        }
        task => Ok(task?),
    }
}

/// Returns the task's id as the store has it.
pub fn task_id(engine: &Engine, id: &str) -> Result<String> {
    task(engine, id).map(|task| task.id().to_owned())
}

/// Returns the name of a folder, as the id of its task.
pub fn name_of(folder: &Path) -> Result<String> {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| {
        let shown = folder.display();
        Failure::new(format!("{shown} has no name that a task can have"))
            .hint("name the task: `milepost mark TASK LABEL`")
    })
}

/// Returns the note about a task that was started.
pub fn started(id: &str) -> String {
    format!("started the task `{}`", words::encode(id))
}
