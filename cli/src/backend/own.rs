//! Trust in a store. Its content is no proof of what its user asked for; see docs/TRUST.md.

use std::path::Path;

use milepost::Engine;
use milepost_runtime::hooks::StoreTrust;

use crate::error::{Failure, Result};
use crate::output::{printable, words};

/// Returns `true` if the user made or trusts the store. A store in memory is the user's own.
pub fn is_trusted(engine: &Engine) -> bool {
    match engine.store().chunks().folder() {
        // Trust that cannot be read counts as none.
        Some(folder) => StoreTrust::of(folder).is_ok_and(|trust| trust.trusted),
        None => true,
    }
}

/// Returns `true` if this user recorded the folders of a task: the store is trusted, and the task
/// was not imported.
pub fn is_own(engine: &Engine, task: &str) -> Result<bool> {
    Ok(is_trusted(engine) && !engine.transfer().is_imported(task)?)
}

/// Returns the failure for a folder that only the store names: it is not touched.
pub fn not_named(engine: &Engine, task: &str, folder: &Path) -> Failure {
    let (shown, name) = (folder.display().to_string(), printable(task));
    let shown = printable(&shown);
    match is_trusted(engine) {
        true => Failure::new(format!(
            "{name} was imported, and only its history names the folder {shown}"
        ))
        .hint(format!("`--files {shown}` names it on the command line, if you want it changed")),
        false => Failure::new(format!(
            "only the store names the folder {shown}, and you do not trust the store"
        ))
        .hint(format!(
            "`--files {shown}` names it on the command line; `milepost trust` says what trust means"
        )),
    }
}

/// Returns the failure for an interrupted restore: it is only taken back on request.
pub fn not_taken_back(engine: &Engine, task: &str, folder: &Path) -> Failure {
    let name = words::encode(task);
    not_named(engine, task, folder).hint(format!(
        "`milepost recover {name} --files DIR` names the folder it was begun in; `milepost recover \
         {name} --give-up` ends it and leaves the folder as it is"
    ))
}
