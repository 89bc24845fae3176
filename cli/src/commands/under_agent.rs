//! Commands that a coding agent runs: what removes for good is left to the user.
//!
//! ```text
//! refused    delete, erase, cleanup, repair; not their dry runs
//! plan only  rewind
//! ```
//!
//! This is a rail, and no wall: an agent can change its environment.

// tidy: one rule

use crate::error::{Failure, Result};

/// Variables that agents set for the programs that they run.
const VARIABLES: [&str; 6] =
    ["CLAUDECODE", "CODEX_SESSION_ID", "GEMINI_CLI", "QWEN_CODE", "OPENCODE", "COPILOT_CLI"];

/// Returns the variable of the agent that runs this command, if one does.
pub(super) fn variable() -> Option<&'static str> {
    VARIABLES.into_iter().find(|name| std::env::var_os(name).is_some())
}

/// Returns the failure of a command that does nothing under an agent.
pub(super) fn failure(variable: &str) -> Failure {
    Failure::new(format!("an agent runs this ({variable} is set): nothing was done"))
}

/// Refuses what is left to the user, if an agent runs it.
pub(super) fn refuse(hint: &str) -> Result<()> {
    variable().map_or(Ok(()), |variable| Err(failure(variable).hint(hint)))
}
