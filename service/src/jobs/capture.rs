//! Captures.

use std::path::Path;

use milepost::{Engine, ErrorKind, Mark, Task};
use milepost_api::{Big, CaptureOptions, CaptureRequest, CapturedForm, LeftOutForm};
use milepost_workspace::{CaptureReport, Choices, Workspace, WorkspaceOptions};

use crate::jobs::Told;
use crate::jobs::failure::{JobFailure, Result};
use crate::jobs::folder::{self, named};
use crate::jobs::left_out;
use crate::jobs::progress::watched;
use crate::jobs::recovery;

/// Captures a folder for a task, which is started if there is none.
pub(crate) fn run(
    engine: &Engine,
    asked: &CaptureRequest,
    user: &str,
    told: Told<'_>,
) -> Result<CapturedForm> {
    let workspace = folder::open(&asked.folder, options(&asked.options))?;
    let user = asked.user.as_deref().unwrap_or(user);
    let (task, is_new) = task_of(engine, asked.task.as_deref(), workspace.folder(), user)?;
    let choices = Choices::default();
    let recovered = recovery::recover(engine, &task, Some((&workspace, &choices)))?;
    let mark = asked.label.as_deref().map(|label| Mark::new().label(label));
    let (report, left_out) = captured((engine, &task, &workspace), mark, false, told)?;
    Ok(CapturedForm {
        task: task.id().to_owned(),
        is_new,
        folder: named(workspace.folder()),
        root: report.root,
        appended: report.appended.map(Big),
        checkpoint: report.checkpoint,
        files: Big(report.files),
        bytes: Big(report.bytes),
        read: Big(report.read),
        stored: Big(report.stored),
        skips: Big(report.skips),
        left_out,
        recovered: recovered.folder,
    })
}

/// Captures a folder, with a mark before or after a call if it is `for_call`. Returns also the
/// paths that were left out for the first time.
pub(crate) fn captured(
    (engine, task, workspace): (&Engine, &Task, &Workspace),
    mark: Option<Mark>,
    for_call: bool,
    told: Told<'_>,
) -> Result<(CaptureReport, Option<LeftOutForm>)> {
    let before = engine.captures().at(&task.point(task.head()?.next)?)?;
    let capture = || match mark {
        Some(mark) if for_call => workspace.capture_for_call(engine, task, mark, None),
        mark => workspace.capture(engine, task, mark),
    };
    let report = watched(workspace, "capture", told, capture)?;
    let left_out = match report.skips > 0 && report.appended.is_some() {
        // The capture is recorded: an error here does not fail it.
        true => left_out::of(engine, before, report.root, workspace.folder()).ok().flatten(),
        false => None,
    };
    Ok((report, left_out))
}

/// Returns a task, by default the one named after a folder, and `true` if it was started.
pub(crate) fn task_of(
    engine: &Engine,
    id: Option<&str>,
    folder: &Path,
    user: &str,
) -> Result<(Task, bool)> {
    let name = folder.file_name().and_then(|name| name.to_str());
    let Some(id) = id.or(name) else {
        let text = format!("{} has no name that a task can have: name the task", folder.display());
        return Err(JobFailure::new(ErrorKind::Invalid, text));
    };
    match engine.task(id) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Ok((engine.start_task(id, user)?, true))
        }
        task => Ok((task?, false)),
    }
}

pub(crate) fn options(asked: &CaptureOptions) -> WorkspaceOptions {
    let mut options = WorkspaceOptions::default()
        .anyway(asked.anyway)
        .forget_ignored(asked.forget_ignored)
        .default_ignores(!asked.no_default_ignores);
    if let Some(Big(bytes)) = asked.max_file {
        options = options.max_file(bytes);
    }
    if let Some(Big(bytes)) = asked.max_total {
        options = options.max_total(bytes);
    }
    options
}
