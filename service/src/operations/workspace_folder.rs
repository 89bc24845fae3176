//! A folder that is restored with a task.

use std::path::Path;

use milepost::{Engine, Error, ErrorKind, Point, Result, Scope};
use milepost_workspace::{Choices, Plan, RestoreReport, Snapshot, Workspace, WorkspaceOptions};

/// A folder, and the decisions about its paths. Folders have no owner, so it needs the whole
/// engine.
pub(super) struct WorkspaceFolder<'a> {
    engine: &'a Engine,
    workspace: Workspace,
    choices: Choices,
}

impl<'a> WorkspaceFolder<'a> {
    /// Opens a folder to restore the capture before a point.
    pub(super) fn of(
        engine: &'a Engine,
        to: &Point,
        folder: &Path,
        choices: Choices,
    ) -> Result<Self> {
        if !folder.is_absolute() {
            return Err(Error::invalid("`folder` is an absolute path"));
        }
        let Some(root) = engine.captures().at(to)? else {
            let text = "no folder was captured before this point: `state` goes back without";
            return Err(Error::not_found(text));
        };
        Snapshot::of(engine, root)?;
        // Home folders need `--anyway`, which only the command line has.
        let options = WorkspaceOptions::default();
        Ok(Self { engine, workspace: Workspace::open(folder, options)?, choices })
    }

    /// Returns the changes and the conflicts of a restore.
    pub(super) fn plan(&self, to: &Point) -> Result<Plan> {
        self.workspace.plan(self.engine, to, &self.choices)
    }

    /// Restores the folder, with or without the state.
    pub(super) fn restore(
        &self,
        to: &Point,
        scope: Scope,
        description: Option<&str>,
    ) -> Result<RestoreReport> {
        self.workspace.restore(self.engine, to, scope, description, &self.choices)
    }

    /// Returns the changes and the conflicts of the undo of a task's last restore.
    pub(super) fn plan_undo(&self, task: &str) -> Result<Plan> {
        self.workspace.plan_undo(self.engine, task, &self.choices)
    }

    /// Undoes the last restore of a task with the folder.
    pub(super) fn undo(&self, task: &str) -> Result<RestoreReport> {
        // The workspace takes an interrupted restore back first, and the undo would then be that of
        // the one before.
        if self.engine.restores().pending()?.iter().any(|pending| pending.task == task) {
            let text = "a restore of the task was interrupted: `milepost recover` takes it back";
            return Err(Error::new(ErrorKind::Unavailable, text));
        }
        self.workspace.undo(self.engine, task, &self.choices)
    }
}
