//! The agents: the one place of their differences.
//!
//! ```text
//! places   folders, settings and session files
//! events   events of hooks, their entries in settings, and what a hook prints
//! ```

mod events;
mod places;

use crate::environment::Environment;

pub use places::{HookFile, SettingsScope};

/// A coding agent that calls hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    GeminiCli,
    /// qwen-code.
    QwenCode,
    /// Copilot CLI.
    Copilot,
    /// OpenCode.
    OpenCode,
    /// Cline's command.
    Cline,
    /// Cursor, the editor and its command.
    Cursor,
}

impl Agent {
    /// Every agent.
    pub const ALL: [Self; 8] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::GeminiCli,
        Self::QwenCode,
        Self::Copilot,
        Self::OpenCode,
        Self::Cline,
        Self::Cursor,
    ];

    /// Returns the name, as commands and hooks have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
            Self::QwenCode => "qwen-code",
            Self::Copilot => "copilot",
            Self::OpenCode => "opencode",
            Self::Cline => "cline",
            Self::Cursor => "cursor",
        }
    }

    /// Returns the agent of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// Returns the name of the program.
    pub fn program(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini",
            Self::QwenCode => "qwen",
            Self::Copilot => "copilot",
            Self::OpenCode => "opencode",
            Self::Cline => "cline",
            Self::Cursor => "cursor-agent",
        }
    }

    /// Returns the version that the tests run, or that was tried by hand. `None` if none was: the
    /// hooks are those of the agent's documentation.
    pub fn tried_version(self) -> Option<&'static str> {
        Some(match self {
            Self::ClaudeCode => "2.1.330",
            Self::Codex => "0.169.0",
            Self::GeminiCli => "0.61.0",
            Self::QwenCode => "0.15.10",
            Self::Copilot => "1.0.102",
            Self::OpenCode => "1.18.33",
            Self::Cline => "3.0.65",
            Self::Cursor => return None,
        })
    }

    /// Returns `true` if the agent is installed on this machine: its folder exists, or its program.
    pub fn is_found(self, environment: &Environment) -> bool {
        self.folder(environment).is_some_and(|folder| folder.is_dir())
            || environment.program(self.program()).is_some()
    }

    /// Returns `true` if the agent runs only hooks that its user trusted on its screen.
    pub fn has_trust(self) -> bool {
        self == Self::Codex
    }

    /// Returns `true` if the agent reads no settings without a `version`.
    pub(crate) fn has_versioned_settings(self) -> bool {
        self == Self::Cursor
    }

    /// Returns `true` if the hooks of an event are in groups, each with a matcher.
    pub(crate) fn groups_hooks(self) -> bool {
        self != Self::Cursor
    }

    /// Returns `true` if the agent replaces what follows `$` in the texts of its settings.
    pub(crate) fn replaces_variables(self) -> bool {
        matches!(self, Self::GeminiCli | Self::QwenCode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_agents() {
        for agent in Agent::ALL {
            assert_eq!(Agent::of_name(agent.name()), Some(agent));
        }
        assert_eq!(Agent::of_name("aider"), None);
    }

    #[test]
    fn tried_versions_are_those_that_the_tests_install() {
        let all = [
            include_str!("../../../tests/agents/package.json"),
            include_str!("../../../tests/agents/more/package.json"),
        ];
        let tried =
            Agent::ALL.into_iter().filter_map(|agent| Some((agent, agent.tried_version()?)));
        for (agent, version) in tried {
            let pinned = format!("\": \"{version}\"");
            assert!(all.iter().any(|file| file.contains(&pinned)), "{agent:?}: {pinned}");
        }
    }
}
