//! Tasks go back, and on again.

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

/// What is decided about paths that stand in the way.
#[derive(Debug, Clone, Default, Serialize)]
struct Choices {
    theirs: Vec<TreePath>,
    keep_mine: Vec<TreePath>,
    moved: bool,
}

impl Restore {
    /// To the point of an address: the state.
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

    /// And the files of a folder on the service's machine, by its absolute path: for admins.
    #[must_use]
    pub fn files_too(mut self, folder: impl Into<PathBuf>) -> Self {
        self.scope = Some(Scope::All);
        self.folder = Some(folder.into());
        self
    }

    /// Only those files: the state stays. For admins.
    #[must_use]
    pub fn files_only(mut self, folder: impl Into<PathBuf>) -> Self {
        self.scope = Some(Scope::Files);
        self.folder = Some(folder.into());
        self
    }

    /// Of this path, or of all below it, what was captured is taken, whatever was done to it since.
    #[must_use]
    pub fn theirs(mut self, path: TreePath) -> Self {
        self.choices().theirs.push(path);
        self
    }

    /// Of this path, or of all below it, what is there stays.
    #[must_use]
    pub fn keep_mine(mut self, path: TreePath) -> Self {
        self.choices().keep_mine.push(path);
        self
    }

    /// The folder is the one that was captured, though that was elsewhere.
    #[must_use]
    pub fn moved(mut self) -> Self {
        self.choices().moved = true;
        self
    }

    /// What the new lineage is for, at most 1,024 bytes.
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

/// Restores of the state and undos are done once: see [the crate](crate#asking-again). A restore
/// with files takes no key and is not
/// asked again where an answer does not come: the task says where it is.
impl Client {
    /// What a restore would do. Nothing is changed.
    ///
    /// # Errors
    ///
    /// `NotFound`. `Forbidden`: files are for admins. `Invalid`: it is no address, or no folder is
    /// named.
    pub async fn plan_restore(&self, restore: impl Into<Restore>) -> Result<RestorePlanForm> {
        let ask = self.post(["v1", "restores", "plan"], &restore.into())?;
        ask.again(RetryRule::Always).read().await
    }

    /// A task goes back to a point: it goes on with a new lineage there.
    ///
    /// # Errors
    ///
    /// As [`Client::plan_restore`]. `Conflict`: something is in the way of files, or the key was
    /// used for another restore. `Invalid`: a
    /// key or a head with files.
    pub async fn restore(&self, restore: impl Into<Restore>) -> Result<RestoredForm> {
        let restore = restore.into();
        let ask = self.post(["v1", "restores"], &restore)?;
        let ask = match restore.scope {
            None => restore.conditions.on(ask)?,
            Some(_) => restore.conditions.given_on(ask)?,
        };
        ask.read().await
    }

    /// Takes the last restore of a task back: it goes on with the lineage before.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Invalid`: there is nothing to undo. `Conflict`: the last
    /// restore took files back.
    pub async fn undo(&self, task: &str) -> Result<RestoredForm> {
        let ask = self.ask(Method::POST, ["v1", "tasks", task, "undo"])?;
        Conditions::default().on(ask)?.read().await
    }
}
