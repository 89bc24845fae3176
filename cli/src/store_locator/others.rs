//! Stores that commands here do not find by themselves: messages name them.

use std::path::{Path, PathBuf};

use milepost::ErrorKind;

use super::{StoreArgs, here, nearest};
use crate::backend::suggestions::TASKS;
use crate::error::Failure;
use crate::output::{StoreOption, name_store, shell_word};
use crate::outside;

impl StoreArgs {
    /// Has printed commands name the store or service that the command line names, unless commands
    /// here find the store by themselves.
    pub fn name_in_messages(&self) {
        let shown = |path: &PathBuf| shell_word(&path.display().to_string());
        let dir = self.dir.as_ref().filter(|dir| !dir.as_os_str().is_empty());
        let server = self.server.as_deref().filter(|url| !url.is_empty());
        let store = server.map(|url| format!("--server {}", shell_word(url)));
        let found = dir.filter(|dir| is_found(dir)).filter(|_| server.is_none());
        if let Some(found) = found {
            name_store(StoreOption::Nearest(StoreOption::store(found)));
        }
        let store = store.or_else(|| Some(StoreOption::store(dir.filter(|dir| !is_found(dir))?)));
        let key = self.key_file.as_ref().map(|file| format!("--key-file {}", shown(file)));
        let trust = self.trust.then(|| "--trust".to_owned());
        let options: Vec<_> = [store, key, trust].into_iter().flatten().collect();
        if !options.is_empty() {
            name_store(StoreOption::Given(options.join(" ")));
        }
    }

    /// Has printed commands name the store of a project, unless commands here find it by
    /// themselves.
    pub fn name_of_project(&self, dir: &Path) {
        if self.url().is_some() || !is_found(dir) {
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

    /// Adds to the failure of a command that found no task that this project has another store.
    /// The name of a task that is near in this store is kept.
    pub fn or_in_other(&self, failure: Failure) -> Failure {
        let is_missing = failure.kind() == Some(ErrorKind::NotFound);
        match self.other_here().filter(|_| is_missing) {
            Some(other) if failure.has_hint(TASKS) => failure.hint(in_other(&other)),
            Some(other) => failure.or_hint(&in_other(&other)),
            None => failure,
        }
    }
}

/// Returns `true` for the store that commands here find without an option.
fn is_found(dir: &Path) -> bool {
    let of = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let found = match (of("MILEPOST_SERVER"), of("MILEPOST_STORE")) {
        (Some(_), _) => None,
        (None, Some(named)) => Some(PathBuf::from(named)),
        (None, None) => nearest().ok().flatten(),
    };
    let real = |dir: &Path| std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    found.is_some_and(|found| real(&found) == real(dir))
}

/// Returns the sentence that names the store of the agents' sessions.
pub fn in_other(other: &Path) -> String {
    let option = StoreOption::store(other);
    format!("sessions of coding agents here are in another store: `milepost {option} tasks`")
}
