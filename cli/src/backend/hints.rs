//! Tasks and points of an opened store by what the user wrote. Failures have hints.

use std::path::Path;

use milepost::{Address, Engine, ErrorKind, Point, Task};

use crate::error::{Failure, Result};
use crate::output::{note, printable, words};

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

/// Returns the task with this id, or the one named after a folder. Starts it if there is none.
pub fn task_or_start(engine: &Engine, id: Option<&str>, folder: &Path) -> Result<Task> {
    let id = match id {
        Some(id) => id.to_owned(),
        None => name_of(folder)?,
    };
    match task(engine, &id) {
        Err(failure) if failure.kind() == Some(ErrorKind::NotFound) => {
            let task = engine.start_task(&id, &current_user())?;
            note(&started(&id));
            Ok(task)
        }
        task => task,
    }
}

/// Returns the name of a folder, as the id of its task.
pub fn name_of(folder: &Path) -> Result<String> {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| {
        let shown = folder.display();
        Failure::new(format!("{shown} has no name that a task can have"))
            .hint("name the task: `--task ID`, or `milepost mark TASK LABEL`")
    })
}

/// Returns the note about a task that was started.
pub fn started(id: &str) -> String {
    format!("started the task `{}`", printable(id))
}

/// Returns the name of the user of new tasks: USER, USERNAME or `local`.
pub fn current_user() -> String {
    let named = ["USER", "USERNAME"].iter().filter_map(|name| std::env::var(name).ok());
    named.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "local".into())
}
