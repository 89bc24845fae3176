//! `agent`: hooks of Milepost in the settings of coding agents. docs/AGENTS.md describes them.
//!
//! ```text
//! change    `install` and `uninstall`
//! status    `status` (version: the version of an agent's program)
//! hook      `hook`, which agents call (threads: work that does not hold up its caller)
//! ```

mod change;
mod hook;
mod status;
mod threads;
mod version;

use std::path::{Path, PathBuf};

use milepost_agents::Environment;

use crate::args::AgentCommand;
use crate::error::{Failure, Result};
use crate::output::Out;
use crate::{args, store_locator};

pub use hook::{call, is_call};

pub fn run(args: &args::AgentArgs, out: &mut Out) -> Result<()> {
    match &args.what {
        AgentCommand::Install(args) => change::install(args, out),
        AgentCommand::Uninstall(args) => change::uninstall(args, out),
        AgentCommand::Status => status::run(out),
        AgentCommand::Hook(args) => {
            // With options in front; agents call it in another way.
            hook::take(&args.name);
            Ok(())
        }
    }
}

fn environment() -> Environment {
    Environment::new(|name| std::env::var_os(name))
}

/// Returns the current project: the nearest folder upwards with a `.git`, or else this one.
fn project() -> Result<PathBuf> {
    let here = store_locator::here()?;
    let has_git = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    Ok(here.ancestors().find(has_git).unwrap_or(&here).to_owned())
}

impl From<milepost_agents::Error> for Failure {
    fn from(error: milepost_agents::Error) -> Self {
        Self::new(error.to_string()).hint(error.next_step())
    }
}
