//! `agent`: hooks of Milepost in the settings of coding agents. docs/AGENTS.md describes them.
//!
//! ```text
//! change    `install` and `uninstall` (extra_files: paths captured against the rules)
//! status    `status` (version: the version of an agent's program)
//! hook      `hook`, which agents call (threads: work that does not hold up its caller)
//! serve     `serve`, the daemon of a project
//! daemon    the daemon as its hooks see it: started, asked
//! project   the project of this process
//! ```

mod change;
mod daemon;
mod extra_files;
mod hook;
mod project;
mod serve;
mod status;
mod threads;
mod version;

use std::path::Path;
use std::time::Duration;

use milepost::Engine;
use milepost_api::HookRequest;
use milepost_sessions::{Recorder, RecorderOptions};

use super::command::{CliCommand, Examples, Run};
use crate::defaults::current_user;
use crate::error::Result;
use crate::output::Out;

pub use hook::{call, is_call};
pub(super) use project::{environment, has_no_files, project};

/// Has a daemon for a project. Returns `false` if none can be started.
pub(super) fn start_daemon(project: &Path) -> bool {
    daemon::ensure(project)
}

/// Has the daemon of a document's project record it. Returns `false` if none did in time.
pub(super) fn told(asked: &HookRequest, limit: Duration) -> bool {
    daemon::send(asked, limit).is_some()
}

/// Records a document of a project in a store that this process has open.
pub(super) fn recorded(engine: &Engine, project: &Path, asked: HookRequest) -> bool {
    let options = RecorderOptions::new(project, current_user())
        .files(!has_no_files(project))
        .environment(environment());
    let Ok(recorder) = Recorder::start(engine, options) else { return false };
    let is_taken = recorder.take(asked).is_ok();
    recorder.stop();
    is_taken
}

/// Record the sessions of coding agents: hooks in their settings; see docs/AGENTS.md.
#[derive(Debug, clap::Args)]
pub struct AgentArgs {
    #[command(subcommand)]
    pub what: AgentCommand,
}

impl CliCommand for AgentArgs {
    const EXAMPLES: Examples = &[
        ("agent install claude-code", "its sessions are recorded from now on"),
        ("agent install --all --dry-run", "what would be written into which settings"),
        ("agent status", "which agents are there, and what is installed"),
    ];
    const RUN: Run<Self> = Run::Alone(|_, args, out| run(args, out));
}

#[derive(Debug, clap::Subcommand)]
pub enum AgentCommand {
    /// Add hooks of Milepost to the settings of agents. The change is printed first; a copy of the
    /// file is kept.
    Install(change::AgentInstall),
    /// Take the hooks of Milepost out of the settings of agents, and nothing else. Stores stay.
    Uninstall(change::AgentChange),
    /// List the agents: found or not, their versions, and where the hooks are installed. The exit
    /// code is 1 if installed hooks record nothing.
    Status,
    /// Record the sessions of a project until they are idle for 30 minutes. The first hook starts
    /// this.
    Serve(serve::AgentServe),
    /// Take a document from an agent, on standard input. Agents call this, without a look at the
    /// arguments: it has no help.
    #[command(hide = true)]
    Hook(AgentHook),
}

#[derive(Debug, clap::Args)]
pub struct AgentHook {
    /// The agent.
    pub name: String,
}

fn run(args: &AgentArgs, out: &mut Out) -> Result<()> {
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
