//! Arguments of `agent`.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use milepost_agents::Agent;

#[derive(Debug, ClapArgs)]
pub struct AgentArgs {
    #[command(subcommand)]
    pub what: AgentCommand,
}

#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Add hooks of Milepost to the settings of agents. The change is printed first; a copy of the
    /// file is kept.
    Install(AgentInstall),
    /// Take the hooks of Milepost out of the settings of agents, and nothing else. Stores stay.
    Uninstall(AgentChange),
    /// List the agents: found or not, their versions, and where the hooks are installed. The exit
    /// code is 1 if installed hooks record nothing.
    Status,
    /// Record the sessions of a project until they are idle for 30 minutes. The first hook starts
    /// this.
    Serve(AgentServe),
    /// Take a document from an agent, on standard input. Agents call this, without a look at the
    /// arguments: it has no help.
    #[command(hide = true)]
    Hook(AgentHook),
}

#[derive(Debug, ClapArgs)]
pub struct AgentChange {
    /// The agents.
    #[arg(value_name = "NAME", required_unless_present = "all", conflicts_with = "all")]
    pub names: Vec<AgentName>,
    /// All agents. `install` takes those that are found: their folder or their program is there.
    #[arg(long)]
    pub all: bool,
    /// Change the settings of the current project, not your own.
    #[arg(long)]
    pub project: bool,
    /// Print the change, and write nothing.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct AgentInstall {
    #[command(flatten)]
    pub change: AgentChange,
    /// A path of the current project to capture though a rule or the default list leaves it out: a
    /// line `!PATH` is added to the project's `.milepostignore`. May be given several times.
    #[arg(long, value_name = "PATH")]
    pub also: Vec<std::path::PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct AgentServe {
    /// The project. Default: the current one.
    #[arg(long, value_name = "DIR")]
    pub project: Option<std::path::PathBuf>,
    /// The minutes after the last hook at which it ends, once no agent of its sessions lives.
    #[arg(long, value_name = "MINUTES", default_value_t = 30)]
    pub idle: u32,
}

#[derive(Debug, ClapArgs)]
pub struct AgentHook {
    /// The agent.
    pub name: String,
}

/// The name of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AgentName {
    ClaudeCode,
    Codex,
    GeminiCli,
    QwenCode,
    Copilot,
    #[value(name = "opencode")]
    OpenCode,
    Cline,
}

impl From<AgentName> for Agent {
    fn from(name: AgentName) -> Self {
        match name {
            AgentName::ClaudeCode => Self::ClaudeCode,
            AgentName::Codex => Self::Codex,
            AgentName::GeminiCli => Self::GeminiCli,
            AgentName::QwenCode => Self::QwenCode,
            AgentName::Copilot => Self::Copilot,
            AgentName::OpenCode => Self::OpenCode,
            AgentName::Cline => Self::Cline,
        }
    }
}
