//! Interrupted restores. A command that writes to a task first undoes the interrupted restore of
//! the task. Commands that only read touch no folder.

// tidy: notes of one call

use milepost::{Engine, Task};
use milepost_api::{FilesForm, RecoveredFolder};
use milepost_service::jobs::{place, recovered_text};
use milepost_workspace::{Choices, Workspace};

use super::jobs::{self, Wording};
use crate::error::Result;
use crate::output::{note, printable};

/// Undoes the restore that blocks a task, and prints a note. `named` is the folder of the command,
/// with the choices for its paths. An append to a task that stays blocked reports it.
pub fn recover(engine: &Engine, task: &Task, named: Option<(&Workspace, &Choices)>) -> Result<()> {
    let recovered = milepost_service::jobs::recover(engine, task, named);
    let recovered = recovered.map_err(|failed| jobs::failed(failed).worded(&Wording::default()))?;
    tell(recovered.folder.as_ref());
    Ok(())
}

/// Prints what was done about an interrupted restore before other work.
pub fn tell(recovered: Option<&RecoveredFolder>) {
    let Some(recovered) = recovered else {
        return;
    };
    note(&printable(&recovered_text(recovered)));
}

/// Returns a sentence about the interrupted restore that is undone before a planned one.
pub fn first(form: &FilesForm) -> Option<String> {
    let folder = form.recovers.as_ref().map(place)?;
    let text = format!("the interrupted restore of {} is undone first", folder.display());
    Some(printable(&text).into_owned())
}
