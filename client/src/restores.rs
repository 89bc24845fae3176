//! Restores, undos, switches and redos.

use std::path::PathBuf;

use milepost_api::{ChoicesAsked, RestoreAsked, RestorePlanForm, RestoredForm, calls};
use milepost_codec::{Scope, TreePath};

use crate::client::Client;
use crate::conditions::{Conditions, conditions};
use crate::error::Result;

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
        self.call(&calls::PlanRestore::new(restore.into().request)).await
    }

    /// Restores a task to a point: opens a new lineage there and activates it.
    ///
    /// # Errors
    ///
    /// As [`Client::plan_restore`]. `Conflict`: conflicts block the files, or the key was used for
    /// another restore. `Invalid`: a key or an expected head with files.
    pub async fn restore(&self, restore: impl Into<Restore>) -> Result<RestoredForm> {
        let Restore { request, conditions } = restore.into();
        self.call_under(&calls::Restore::new(request), &conditions).await
    }
}
