//! A folder on the service's machine that goes back with a task.

use std::path::Path;

use milepost::{Engine, Point, Scope};
use milepost_workspace::{Choices, Plan, RestoreReport, Snapshot, Workspace, WorkspaceOptions};

use crate::error::ApiError;

/// A folder, and what was decided about its paths.
pub(crate) struct WorkspaceFolder {
    workspace: Workspace,
    choices: Choices,
}

impl WorkspaceFolder {
    /// Takes a folder to go back to what was captured before a point.
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
        // A home is taken on a command line only, and there with `--anyway`.
        let options = WorkspaceOptions::default();
        Ok(Self { workspace: Workspace::open(folder, options)?, choices })
    }

    /// What going back would do, and what stands in the way.
    pub(crate) fn plan(&self, engine: &Engine, to: &Point) -> Result<Plan, ApiError> {
        Ok(self.workspace.plan(engine, to, &self.choices)?)
    }

    /// Goes back, with the state or without.
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
}
