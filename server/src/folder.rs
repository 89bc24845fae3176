//! A folder on the service's machine that goes back with a task.

use std::path::Path;

use milepost::{Engine, Point, Scope};
use milepost_workspace::{Choices, Plan, Snapshot, WentBack, Workspace, WorkspaceOptions};

use crate::wrong::Wrong;

/// A folder, and what was decided about its paths.
pub(crate) struct Folder {
    workspace: Workspace,
    choices: Choices,
}

impl Folder {
    /// Takes a folder to go back to what was captured before a point.
    pub(crate) fn of(
        engine: &Engine,
        to: &Point,
        folder: &Path,
        choices: Choices,
    ) -> Result<Self, Wrong> {
        if !folder.is_absolute() {
            return Err(Wrong::Invalid("`folder` is an absolute path".into()));
        }
        let Some(root) = engine.workspace_at(to)? else {
            return Err(Wrong::NotFound(
                "no folder was captured before this point: `state` goes back without".into(),
            ));
        };
        Snapshot::of(engine, root)?;
        // A home is taken on a command line only, and there with `--anyway`.
        let options = WorkspaceOptions::default();
        Ok(Self { workspace: Workspace::open(folder, options)?, choices })
    }

    /// What going back would do, and what stands in the way.
    pub(crate) fn plan(&self, engine: &Engine, to: &Point) -> Result<Plan, Wrong> {
        Ok(self.workspace.plan(engine, to, &self.choices)?)
    }

    /// Goes back, with the state or without.
    pub(crate) fn go_back(
        &self,
        engine: &Engine,
        to: &Point,
        scope: Scope,
        description: Option<&str>,
    ) -> Result<WentBack, Wrong> {
        let workspace = &self.workspace;
        Ok(workspace.go_back(engine, to, scope, description, &self.choices)?)
    }
}
