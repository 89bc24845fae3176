//! Captures of folders, and the failures of reading them.

use std::io;

use milepost::{Engine, Error, ErrorKind, Point};
use milepost_workspace::{Snapshot, TreePath};

use super::hints;
use crate::error::{Failure, Result};
use crate::output::{printable, words};

/// Returns the capture that an address sees. A failure has a hint to make one.
pub fn snapshot(engine: &Engine, address: &str) -> Result<Snapshot> {
    let point = hints::point(engine, address)?;
    match engine.run_state(&point)?.workspace {
        Some(root) => Ok(Snapshot::of(engine, root)?),
        None => Err(none(&point.task, address)),
    }
}

/// Returns the capture that a point sees. A failure has a hint to make one.
pub fn of(engine: &Engine, point: &Point) -> Result<Snapshot> {
    match engine.run_state(point)?.workspace {
        Some(root) => Ok(Snapshot::of(engine, root)?),
        None => Err(none(&point.task, &point.to_string())),
    }
}

/// Returns the failure for an address with no capture before it.
pub fn none(task: &str, address: &str) -> Failure {
    let task = words::encode(task);
    let message = format!("no folder was captured before {}", printable(address));
    let failure = Failure::new(message).of_kind(ErrorKind::NotFound);
    failure.hint(format!(
        "`milepost capture DIR --task {task}` captures one; `milepost log {task}` shows where that \
         was done before, as workspace_captured"
    ))
}

/// Returns the failure for a captured file that cannot be read.
pub fn unreadable(path: &TreePath, error: io::Error) -> Failure {
    let failure: Failure = match error.downcast::<Error>() {
        Ok(error) => error.into(),
        Err(error) => error.into(),
    };
    failure.at(path)
}
