//! Stores that commands here do not find by themselves: messages name them.

use std::path::{Path, PathBuf};

use milepost::ErrorKind;

use super::{StoreArgs, here, nearest};
use crate::error::Failure;
use crate::output::{StoreOption, name_store, shell_word};
use crate::outside;

impl StoreArgs {
    /// Has printed commands name the store or service that the command line names.
    pub fn name_in_messages(&self) {
        let dir = self.dir.as_deref().filter(|dir| !dir.as_os_str().is_empty());
        let server = self.server.as_deref().filter(|url| !url.is_empty());
        if let Some(url) = server {
            name_store(StoreOption::Given(format!("--server {}", shell_word(url))));
        } else if let Some(dir) = dir {
            name_store(StoreOption::Given(StoreOption::store(dir)));
        }
    }

    /// Has printed commands name the store of a project, unless commands here find it by
    /// themselves.
    pub fn name_of_project(&self, dir: &Path) {
        let real = |dir: &Path| std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
        let is_found = || matches!(nearest(), Ok(Some(found)) if real(&found) == real(dir));
        if self.url().is_some() || !is_found() {
            name_store(StoreOption::OfProject(StoreOption::store(dir)));
        }
    }

    /// Returns the store that commands here find, if it is another one than this.
    pub fn other_than(&self, dir: &Path) -> Option<PathBuf> {
        let found = self.named().or_else(|| nearest().ok().flatten());
        found.filter(|found| found != dir)
    }

    /// Returns the store of this project's sessions of coding agents, if commands here use another
    /// one: that of the nearest `.milepost`.
    pub fn other_here(&self) -> Option<PathBuf> {
        if self.url().is_some() || self.named().is_some() {
            return None;
        }
        let (here, found) = (here().ok()?, nearest().ok()??);
        let of = |project: &Path| outside::store_of(project).filter(|store| store.is_dir());
        here.ancestors().find_map(of).filter(|store| *store != found)
    }

    /// Adds to the failure of a command that found nothing that this project has another store.
    pub fn or_in_other(&self, failure: Failure) -> Failure {
        match self.other_here().filter(|_| failure.kind() == Some(ErrorKind::NotFound)) {
            Some(other) => failure.hint(in_other(&other)),
            None => failure,
        }
    }
}

/// Returns the sentence that names the store of the agents' sessions.
pub fn in_other(other: &Path) -> String {
    let option = StoreOption::store(other);
    format!("sessions of coding agents here are in another store: `milepost {option} tasks`")
}
