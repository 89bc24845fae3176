//! `undo`: the last restore of a task is taken back.

use milepost::{Engine, ErrorKind};

use super::{forms, restore, task};
use crate::error::{Failure, Result};
use crate::output::Out;

pub fn run(engine: &Engine, id: &str, out: &mut Out) -> Result<()> {
    let task = task(engine, id)?;
    let left = task.lineage().id();
    let task = engine.undo(task.id()).map_err(|error| {
        // There is nothing to undo, or a cleanup let go of the lineage before.
        let nothing = matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound);
        let failure = Failure::from(error);
        let name = forms::encode(id);
        if nothing {
            failure.hint(format!(
                "`milepost lineages {name}` shows the lineages as they are"
            ))
        } else {
            failure
        }
    })?;
    let hint = format!(
        "lineage {left} stays: `milepost log {}/{left}`",
        forms::encode(task.id())
    );
    restore::print(&task, "the last restore is taken back", &hint, out)
}
