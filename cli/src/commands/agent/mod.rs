//! `agent`: hooks of Milepost in the settings of coding agents. docs/AGENTS.md describes them.
//!
//! ```text
//! change    `install` and `uninstall` (also: paths that are captured against the rules)
//! status    `status` (version: the version of an agent's program)
//! hook      `hook`, which agents call (threads: work that does not hold up its caller)
//! serve     `serve`, the daemon of a project
//! daemon    the daemon as its hooks see it: started, asked
//! ```

mod also;
mod change;
mod daemon;
mod hook;
mod serve;
mod status;
mod threads;
mod version;

use std::path::{Path, PathBuf};
use std::time::Duration;

use milepost::Engine;
use milepost_agents::{Environment, real};
use milepost_api::HookAsked;
use milepost_sessions::{Recorder, RecorderOptions};

use crate::args::AgentCommand;
use crate::backend::hints::current_user;
use crate::error::{Failure, Result};
use crate::output::Out;
use crate::{args, store_locator};

pub use hook::{call, is_call};

/// Has a daemon for a project. Returns `false` if none can be started.
pub(super) fn start_daemon(project: &Path) -> bool {
    daemon::ensure(project)
}

/// Has the daemon of a document's project record it. Returns `false` if none did in time.
pub(super) fn told(asked: &HookAsked, limit: Duration) -> bool {
    daemon::send(asked, limit).is_some()
}

/// Records a document of a project in a store that this process has open.
pub(super) fn recorded(engine: &Engine, project: &Path, asked: HookAsked) -> bool {
    let options = RecorderOptions::new(project, current_user())
        .files(!has_no_files(project))
        .environment(environment());
    let Ok(recorder) = Recorder::start(engine, options) else { return false };
    let is_taken = recorder.take(asked).is_ok();
    recorder.stop();
    is_taken
}

pub fn run(args: &args::AgentArgs, out: &mut Out) -> Result<()> {
    match &args.what {
        AgentCommand::Install(args) => change::install(args, out),
        AgentCommand::Uninstall(args) => change::uninstall(args, out),
        AgentCommand::Status => status::run(out),
        AgentCommand::Serve(args) => serve::run(args),
        AgentCommand::Hook(args) => {
            // With options in front; agents call it in another way.
            hook::take(&args.name);
            Ok(())
        }
    }
}

pub(super) fn environment() -> Environment {
    Environment::new(|name| std::env::var_os(name))
}

/// Returns the current project: the nearest folder upwards with a `.git`, or else this one.
pub(super) fn project() -> Result<PathBuf> {
    let here = store_locator::here()?;
    Ok(milepost_agents::project_of(&here, environment().home()))
}

/// Returns `true` if the files of a folder are not captured: a home folder, one that has the home
/// in it, and `/`.
pub(super) fn has_no_files(project: &Path) -> bool {
    let project = real(project);
    let holds_home = |home: &Path| real(home).starts_with(&project);
    project.parent().is_none() || environment().home().is_some_and(holds_home)
}

impl From<milepost_agents::Error> for Failure {
    fn from(error: milepost_agents::Error) -> Self {
        Self::new(error.to_string()).hint(error.next_step())
    }
}
