//! The project of this process, as the commands of agents see it.

// tidy: what the files of this folder have in common

use std::path::{Path, PathBuf};

use milepost_agents::{Environment, real};

use crate::error::{Failure, Result};
use crate::store_locator;

pub fn environment() -> Environment {
    Environment::new(|name| std::env::var_os(name))
}

/// Returns the current project: the nearest folder upwards with a `.git`, or else this one.
pub fn project() -> Result<PathBuf> {
    let here = store_locator::here()?;
    Ok(milepost_agents::project_of(&here, environment().home()))
}

/// Returns `true` if the files of a folder are not captured: a home folder, one that has the home
/// in it, and `/`.
pub fn has_no_files(project: &Path) -> bool {
    let project = real(project);
    let holds_home = |home: &Path| real(home).starts_with(&project);
    project.parent().is_none() || environment().home().is_some_and(holds_home)
}

impl From<milepost_agents::Error> for Failure {
    fn from(error: milepost_agents::Error) -> Self {
        Self::new(error.to_string()).hint(error.next_step())
    }
}
