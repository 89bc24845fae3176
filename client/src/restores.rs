//! Restores, undos, switches and redos.

use std::path::PathBuf;

use milepost_api::{ChoicesAsked, RestoreAsked, RestorePlanForm, RestoredForm, UndoFolderAsked};
use milepost_codec::{Scope, TreePath};
use reqwest::Method;

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
#[derive(Debug, Clone)]
pub struct Restore {
    request: RestoreAsked,
    conditions: Conditions,
}

conditions!(Restore);

impl Restore {
    /// Restores the state at an address.
    pub fn to(address: impl Into<String>) -> Self {
        let to = address.into();
        let request =
            RestoreAsked { to, scope: None, folder: None, choices: None, description: None };
        Self { request, conditions: Conditions::default() }
    }

    /// Also restores the files of a folder on the service's machine, by its absolute path. For
    /// admins.
    #[must_use]
    pub fn files_too(mut self, folder: impl Into<PathBuf>) -> Self {
        self.request.scope = Some(Scope::All);
        self.request.folder = Some(folder.into());
        self
    }

    /// Restores only the files of a folder, and keeps the state. For admins.
    #[must_use]
    pub fn files_only(mut self, folder: impl Into<PathBuf>) -> Self {
        self.request.scope = Some(Scope::Files);
        self.request.folder = Some(folder.into());
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
        self.request.description = Some(description.into());
        self
    }

    fn choices(&mut self) -> &mut ChoicesAsked {
        self.request.choices.get_or_insert_default()
    }
}

impl From<&str> for Restore {
    fn from(address: &str) -> Self {
        Self::to(address)
    }
}

/// Retries of state restores, undos, switches and redos take effect once: see
/// [the crate](crate#asking-again). A restore with files has no generated key and is not retried;
/// after a missing answer, the task shows its outcome.
impl Client {
    /// Returns the effects of a restore without changing anything.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such point. `Forbidden`: files are for admins. `Invalid`: not an address, or
    /// no folder is named.
    pub async fn plan_restore(&self, restore: impl Into<Restore>) -> Result<RestorePlanForm> {
        let request = self.post(["v1", "restores", "plan"], &restore.into().request)?;
        request.retry(RetryRule::Always).read().await
    }

    /// Restores a task to a point: opens a new lineage there and activates it.
    ///
    /// # Errors
    ///
    /// As [`Client::plan_restore`]. `Conflict`: conflicts block the files, or the key was used for
    /// another restore. `Invalid`: a key or an expected head with files.
    pub async fn restore(&self, restore: impl Into<Restore>) -> Result<RestoredForm> {
        let restore = restore.into();
        let request = self.post(["v1", "restores"], &restore.request)?;
        let request = match restore.request.scope {
            None => restore.conditions.on(request)?,
            Some(_) => restore.conditions.add_explicit(request)?,
        };
        request.read().await
    }

    /// Undoes the last restore or switch of a task: activates the previous lineage.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such task. `Invalid`: there is nothing to undo. `Conflict`: the last restore
    /// included files.
    pub async fn undo(&self, task: &str) -> Result<RestoredForm> {
        let request = self.request(Method::POST, ["v1", "tasks", task, "undo"])?;
        Conditions::default().on(request)?.read().await
    }

    /// Returns the effects of an undo without changing anything: with a folder, also those on its
    /// files.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such task. `Invalid`: there is nothing to undo, or a folder is named and the
    /// last restore included none. `Forbidden`: files are for admins.
    pub async fn plan_undo(&self, task: &str, asked: &UndoFolderAsked) -> Result<RestorePlanForm> {
        let request = self.post(["v1", "tasks", task, "undo", "plan"], asked)?;
        request.retry(RetryRule::Always).read().await
    }

    /// Undoes the last restore of a task together with the files of a folder on the service's
    /// machine. It takes no key, and is not retried. For admins.
    ///
    /// # Errors
    ///
    /// As [`Client::plan_undo`]. `Conflict`: conflicts block the files.
    pub async fn undo_with(&self, task: &str, asked: &UndoFolderAsked) -> Result<RestoredForm> {
        self.post(["v1", "tasks", task, "undo"], asked)?.read().await
    }
}
