//! Tasks and points of an opened store by what the user wrote. Failures have hints.

use milepost::{Address, Engine, ErrorKind, Point, Task};

use crate::error::{Failure, Result};
use crate::output::words;

/// Resolves an address. A failure has a hint.
pub fn point(engine: &Engine, address: &str) -> Result<Point> {
    let point = engine.point(address);
    point.map_err(|error| point_hint(error.into(), address))
}

/// Adds a hint to the failure of an address.
pub fn point_hint(failure: Failure, address: &str) -> Failure {
    match failure.kind() {
        Some(ErrorKind::Invalid) if address.starts_with('@') => {
            failure.hint("`milepost checkpoints --json` lists whole ids")
        }
        Some(ErrorKind::Invalid) => failure.hint(
            "addresses are TASK, TASK@N, TASK@LABEL, TASK~N, TASK/LINEAGE and @HEX; \
             `milepost log TASK -n 5` shows the last events",
        ),
        Some(ErrorKind::NotFound) if address.starts_with('@') => {
            failure.hint("`milepost checkpoints` lists the checkpoints of the store")
        }
        _ => failure,
    }
}

/// Returns the next offset of a point's lineage.
pub fn head(engine: &Engine, point: &Point) -> Result<u64> {
    let lineage = engine.task(&point.task)?.lineage_named(point.lineage)?;
    Ok(lineage.head()?.next)
}

/// Returns a hint with the command that prints the remaining events of a lineage.
pub fn log_hint(point: &Point, head: u64) -> String {
    let place = words::address(&point.task, point.lineage, head);
    format!("`milepost log {place}` prints the events that are there")
}

/// Hint for an invalid label.
pub const LABEL: &str = "a label is a name, as in `before-fix`";

/// Hint for a task that does not exist.
pub const TASKS: &str = "`milepost tasks` lists the tasks of the store";

/// Returns the task with this id, which may be percent-encoded as in an address.
pub fn task(engine: &Engine, id: &str) -> Result<Task> {
    match engine.task(id) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let decoded = id.parse::<Address>().and_then(|address| engine.resolve(&address));
            match decoded {
                Ok(point) if id.contains('%') => Ok(engine.task(&point.task)?),
                _ => Err(Failure::from(error).hint(TASKS)),
            }
        }
        task => Ok(task?),
    }
}

/// Returns the task's id as the store has it.
pub fn task_id(engine: &Engine, id: &str) -> Result<String> {
    task(engine, id).map(|task| task.id().to_owned())
}
