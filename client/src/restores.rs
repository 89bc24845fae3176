//! Restores and undos.

use std::path::PathBuf;

use milepost_codec::{Scope, TreePath};
use milepost_forms::{RestorePlanForm, RestoredForm};
use reqwest::Method;
use serde::Serialize;

use crate::client::Client;
use crate::conditions::{Conditions, conditions};
use crate::error::Result;
use crate::retry::RetryRule;

/// A restore.
///
/// ```
/// use milepost_client::Restore;
///
/// let state = Restore::to("essay@one").description("the second was worse");
/// let both = Restore::to("essay@one").files_too("/home/ana/essay");
/// # let _ = (state, both);
/// ```
#[derive(Debug, Clone, Serialize)]
pub struct Restore {
    to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<Scope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    choices: Option<Choices>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip)]
    conditions: Conditions,
}

conditions!(Restore);

/// Decisions about conflicting paths.
#[derive(Debug, Clone, Default, Serialize)]
struct Choices {
    theirs: Vec<TreePath>,
    keep_mine: Vec<TreePath>,
    moved: bool,
}

impl Restore {
    /// Restores the state at an address.
    pub fn to(address: impl Into<String>) -> Self {
        Self {
            to: address.into(),
            scope: None,
            folder: None,
            choices: None,
            description: None,
            conditions: Conditions::default(),
        }
    }

    /// Also restores the files of a folder on the service's machine, by its absolute path. For
    /// admins.
    #[must_use]
    pub fn files_too(mut self, folder: impl Into<PathBuf>) -> Self {
        self.scope = Some(Scope::All);
        self.folder = Some(folder.into());
        self
    }

    /// Restores only the files of a folder, and keeps the state. For admins.
    #[must_use]
    pub fn files_only(mut self, folder: impl Into<PathBuf>) -> Self {
        self.scope = Some(Scope::Files);
        self.folder = Some(folder.into());
        self
    }

    /// Overwrites this path, and everything below it, with the captured content.
    #[must_use]
    pub fn theirs(mut self, path: TreePath) -> Self {
        self.choices().theirs.push(path);
        self
    }

    /// Keeps the present content of this path and of everything below it.
    #[must_use]
    pub fn keep_mine(mut self, path: TreePath) -> Self {
        self.choices().keep_mine.push(path);
        self
    }

    /// Accepts a folder that was captured at another location.
    #[must_use]
    pub fn moved(mut self) -> Self {
        self.choices().moved = true;
        self
    }

    /// Describes the new lineage, in at most 1,024 bytes.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    fn choices(&mut self) -> &mut Choices {
        self.choices.get_or_insert_default()
    }
}

impl From<&str> for Restore {
    fn from(address: &str) -> Self {
        Self::to(address)
    }
}

/// Retries of state restores and undos take effect once: see [the crate](crate#asking-again). A
/// restore with files has no generated key and is not retried; after a missing answer, the task
/// shows its outcome.
impl Client {
    /// Returns the effects of a restore without changing anything.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such point. `Forbidden`: files are for admins. `Invalid`: not an address, or
    /// no folder is named.
    pub async fn plan_restore(&self, restore: impl Into<Restore>) -> Result<RestorePlanForm> {
        let ask = self.post(["v1", "restores", "plan"], &restore.into())?;
        ask.again(RetryRule::Always).read().await
    }

    /// Restores a task to a point: opens a new lineage there and activates it.
    ///
    /// # Errors
    ///
    /// As [`Client::plan_restore`]. `Conflict`: conflicts block the files, or the key was used for
    /// another restore. `Invalid`: a key or an expected head with files.
    pub async fn restore(&self, restore: impl Into<Restore>) -> Result<RestoredForm> {
        let restore = restore.into();
        let ask = self.post(["v1", "restores"], &restore)?;
        let ask = match restore.scope {
            None => restore.conditions.on(ask)?,
            Some(_) => restore.conditions.given_on(ask)?,
        };
        ask.read().await
    }

    /// Undoes the last restore of a task: activates the previous lineage.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such task. `Invalid`: there is nothing to undo. `Conflict`: the last restore
    /// included files.
    pub async fn undo(&self, task: &str) -> Result<RestoredForm> {
        let ask = self.ask(Method::POST, ["v1", "tasks", task, "undo"])?;
        Conditions::default().on(ask)?.read().await
    }
}
