//! Trust in a store. Its content does not prove what its user requested; see docs/TRUST.md.

// tidy: two questions about trust

use milepost::{Engine, Result};
use milepost_runtime::hooks::StoreTrust;

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
///
/// # Errors
///
/// `NotFound`: there is no such task. Errors of a read.
pub fn is_own(engine: &Engine, task: &str) -> Result<bool> {
    Ok(is_trusted(engine) && !engine.transfer().is_imported(task)?)
}
