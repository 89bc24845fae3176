//! The agents, with their events and the places of their settings.

use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use crate::environment::Environment;

/// A coding agent that calls hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    GeminiCli,
}

/// The settings that count for all projects of a user, or those of one project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsScope<'a> {
    /// All projects of the user.
    User,
    /// The project in this folder.
    Project(&'a Path),
}

impl Agent {
    /// Every agent.
    pub const ALL: [Self; 3] = [Self::ClaudeCode, Self::Codex, Self::GeminiCli];

    /// Returns the name, as commands and hooks have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
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
        }
    }

    /// Returns the events that hooks are installed for, in the order of a session.
    pub fn events(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &[
                "SessionStart",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
                "SubagentStart",
                "SubagentStop",
                "PreCompact",
                "Stop",
                "SessionEnd",
            ],
            Self::Codex => &[
                "SessionStart",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
                "PreCompact",
                "Stop",
                "SessionEnd",
            ],
            Self::GeminiCli => &[
                "SessionStart",
                "BeforeAgent",
                "BeforeTool",
                "AfterTool",
                "AfterAgent",
                "SessionEnd",
            ],
        }
    }

    /// Returns the time limit that is asked for, in the unit of the agent. Codex warns at each
    /// start about more than 3 s for the end of a session.
    pub(crate) fn time_limit(self, event: &str) -> u32 {
        match self {
            Self::Codex if event == "SessionEnd" => 3,
            Self::ClaudeCode | Self::Codex => 5,
            Self::GeminiCli => 5000,
        }
    }

    /// Returns `true` if the agent runs only hooks that its user trusted on its screen.
    pub fn has_trust(self) -> bool {
        self == Self::Codex
    }

    /// Returns the time of the last change of the newest session. `None` if there is none, or hooks
    /// of the agent need no trust.
    pub fn last_session(self, environment: &Environment) -> Option<SystemTime> {
        let own = self.folder(environment).filter(|_| self.has_trust());
        let mut folder = own?.join("sessions");
        let newest = |folder: &Path| {
            let names = folder.read_dir().ok()?.filter_map(|entry| Some(entry.ok()?.path()));
            names.max()
        };
        // The year, the month and the day.
        for _ in 0..3 {
            folder = newest(&folder)?;
        }
        let files = folder.read_dir().ok()?.filter_map(Result::ok);
        files.filter_map(|file| file.metadata().ok()?.modified().ok()).max()
    }

    /// Returns the name of a hook within its settings, where the agent shows one.
    pub(crate) fn hook_name(self) -> Option<&'static str> {
        (self == Self::GeminiCli).then_some("milepost")
    }

    /// Returns what a hook prints, with a sentence for the model if there is one: agents that parse
    /// the output of their hooks get an object.
    pub fn answer(self, say: Option<&str>) -> String {
        match (self, say) {
            (Self::ClaudeCode | Self::Codex, None) => String::new(),
            (Self::ClaudeCode | Self::Codex, Some(say)) => format!("{say}\n"),
            (Self::GeminiCli, None) => "{}\n".to_owned(),
            (Self::GeminiCli, Some(say)) => {
                let added =
                    serde_json::json!({ "hookSpecificOutput": { "additionalContext": say } });
                format!("{added}\n")
            }
        }
    }

    /// Returns the folder with the user's settings. `None` if the environment has no home.
    pub fn folder(self, environment: &Environment) -> Option<PathBuf> {
        match self {
            Self::ClaudeCode => environment.claude(),
            Self::Codex => environment.codex(),
            Self::GeminiCli => environment.gemini(),
        }
    }

    /// Returns `true` if a path is one that the agent writes sessions to. The file, and folders
    /// above it, may not be there yet.
    pub fn is_session_file(self, path: &Path, environment: &Environment) -> bool {
        let (folder, begin) = match self {
            Self::ClaudeCode => ("projects", ""),
            Self::Codex => ("sessions", "rollout-"),
            Self::GeminiCli => ("tmp", "session-"),
        };
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !name.starts_with(begin) || !name.ends_with(".jsonl") {
            return false;
        }
        if path.components().any(|part| part == Component::ParentDir) {
            return false;
        }
        let real = |path: &Path| path.canonicalize().ok();
        let own = self.folder(environment).and_then(|own| real(&own));
        // The nearest folder that is there may be a link to elsewhere.
        let place = path.ancestors().skip(1).find_map(|above| {
            let below = path.strip_prefix(above).ok()?;
            Some(real(above)?.join(below))
        });
        matches!((own, place), (Some(own), Some(place)) if place.starts_with(own.join(folder)))
    }

    /// Returns the file that hooks are installed in. `None` if the environment has no home.
    pub fn settings(self, environment: &Environment, scope: SettingsScope<'_>) -> Option<PathBuf> {
        Some(match (scope, self) {
            (SettingsScope::User, Self::Codex) => self.folder(environment)?.join("hooks.json"),
            (SettingsScope::User, _) => self.folder(environment)?.join("settings.json"),
            (SettingsScope::Project(project), Self::ClaudeCode) => {
                // The file that is not shared: the path of a program is this machine's.
                project.join(".claude/settings.local.json")
            }
            (SettingsScope::Project(project), Self::Codex) => project.join(".codex/hooks.json"),
            (SettingsScope::Project(project), Self::GeminiCli) => {
                project.join(".gemini/settings.json")
            }
        })
    }

    /// Returns `true` if the agent is on this machine: its folder is there, or its program.
    pub fn is_found(self, environment: &Environment) -> bool {
        self.folder(environment).is_some_and(|folder| folder.is_dir())
            || environment.program(self.program()).is_some()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::ffi::OsString;

    use super::*;

    #[test]
    fn variables_of_the_agents_decide_where_their_settings_are() {
        let home = |name: &str| (name == "HOME").then(|| OsString::from("/home/ana"));
        let plain = Environment::new(home);
        let moved = Environment::new(|name| match name {
            "HOME" | "XDG_STATE_HOME" => None,
            name => Some(OsString::from(format!("/elsewhere/{name}"))),
        });
        let file = |agent: Agent, environment: &Environment| {
            agent.settings(environment, SettingsScope::User).map(|path| path.display().to_string())
        };
        let files = |of: &Environment| Agent::ALL.map(|agent| file(agent, of).unwrap_or_default());
        assert_eq!(
            files(&plain),
            [
                "/home/ana/.claude/settings.json",
                "/home/ana/.codex/hooks.json",
                "/home/ana/.gemini/settings.json"
            ]
        );
        assert_eq!(
            files(&moved),
            [
                "/elsewhere/CLAUDE_CONFIG_DIR/settings.json",
                "/elsewhere/CODEX_HOME/hooks.json",
                "/elsewhere/GEMINI_CLI_HOME/.gemini/settings.json"
            ]
        );
        assert_eq!(files(&Environment::default()), ["", "", ""]);
    }

    #[test]
    fn a_session_file_is_in_the_folder_of_its_agent() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join(".claude/projects")).unwrap();
        std::fs::create_dir_all(home.join(".codex")).unwrap();
        std::fs::create_dir(home.join("other")).unwrap();
        let link = home.join(".claude/projects/link");
        std::os::unix::fs::symlink(home.join("other"), link).unwrap();
        let environment = Environment::new(|name| (name == "HOME").then(|| home.clone().into()));
        let is = |agent: Agent, path: &str| agent.is_session_file(&home.join(path), &environment);
        assert!(is(Agent::ClaudeCode, ".claude/projects/new/s.jsonl"));
        assert!(is(Agent::Codex, ".codex/sessions/2026/01/02/rollout-s.jsonl"));
        for path in ["s.jsonl", ".claude/s.jsonl", ".claude/projects/link/s.jsonl", "other/s.jsonl"]
        {
            assert!(!is(Agent::ClaudeCode, path), "{path}");
        }
        assert!(!is(Agent::ClaudeCode, ".claude/projects/../projects/s.jsonl"));
        assert!(!is(Agent::ClaudeCode, ".claude/projects/s.md"));
        assert!(!is(Agent::Codex, ".codex/sessions/AGENTS.jsonl"));
        assert!(!is(Agent::GeminiCli, ".gemini/tmp/session-s.jsonl"), "there is no such folder");
    }

    #[test]
    fn names_are_those_of_the_agents() {
        for agent in Agent::ALL {
            assert_eq!(Agent::of_name(agent.name()), Some(agent));
        }
        assert_eq!(Agent::of_name("aider"), None);
    }
}
