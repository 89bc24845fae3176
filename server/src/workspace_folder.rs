//! A folder on the service's machine that is restored with a task.

use std::path::Path;

use milepost::{Engine, Point, Scope};
use milepost_workspace::{Choices, Plan, RestoreReport, Snapshot, Workspace, WorkspaceOptions};

use crate::error::ApiError;

/// A folder, and the decisions about its paths.
pub(crate) struct WorkspaceFolder {
    workspace: Workspace,
    choices: Choices,
}

impl WorkspaceFolder {
    /// Opens a folder to restore the capture before a point.
    pub(crate) fn of(
        engine: &Engine,
        to: &Point,
        folder: &Path,
        choices: Choices,
    ) -> Result<Self, ApiError> {
        if !folder.is_absolute() {
            return Err(ApiError::Invalid("`folder` is an absolute path".into()));
        }
        let Some(root) = engine.workspace_at(to)? else {
            return Err(ApiError::NotFound(
                "no folder was captured before this point: `state` goes back without".into(),
            ));
        };
        Snapshot::of(engine, root)?;
        // Home folders need `--anyway`, which only the command line has.
        let options = WorkspaceOptions::default();
        Ok(Self { workspace: Workspace::open(folder, options)?, choices })
    }

    /// Returns the changes and the conflicts of a restore.
    pub(crate) fn plan(&self, engine: &Engine, to: &Point) -> Result<Plan, ApiError> {
        Ok(self.workspace.plan(engine, to, &self.choices)?)
    }

    /// Restores the folder, with or without the state.
    pub(crate) fn restore(
        &self,
        engine: &Engine,
        to: &Point,
        scope: Scope,
        description: Option<&str>,
    ) -> Result<RestoreReport, ApiError> {
        let workspace = &self.workspace;
        Ok(workspace.restore(engine, to, scope, description, &self.choices)?)
    }

    /// Returns the changes and the conflicts of the undo of a task's last restore.
    pub(crate) fn plan_undo(&self, engine: &Engine, task: &str) -> Result<Plan, ApiError> {
        Ok(self.workspace.plan_undo(engine, task, &self.choices)?)
    }

    /// Undoes the last restore of a task with the folder.
    pub(crate) fn undo(&self, engine: &Engine, task: &str) -> Result<RestoreReport, ApiError> {
        // The workspace takes an interrupted restore back first, and the undo would then be that of
        // the one before.
        if engine.restores().pending()?.iter().any(|pending| pending.task == task) {
            let text = "a restore of the task was interrupted: `milepost recover` takes it back";
            return Err(ApiError::unavailable(text));
        }
        Ok(self.workspace.undo(engine, task, &self.choices)?)
    }
}
