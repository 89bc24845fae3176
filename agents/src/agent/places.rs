//! Folders, settings and session files.

use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use super::Agent;
use crate::environment::Environment;

/// The settings that count for all projects of a user, or those of one project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsScope<'a> {
    /// All projects of the user.
    User,
    /// The project in this folder.
    Project(&'a Path),
}

/// A file with hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFile {
    /// The path.
    pub path: PathBuf,
    /// The events that it has hooks for.
    pub events: &'static [&'static str],
    /// True for a file that is ours as a whole; false for settings, which have more in them.
    pub is_own: bool,
}

impl Agent {
    /// Returns the folder with the user's settings. `None` if the environment has no home.
    pub fn folder(self, environment: &Environment) -> Option<PathBuf> {
        match self {
            Self::ClaudeCode => environment.claude(),
            Self::Codex => environment.codex(),
            Self::GeminiCli => environment.gemini(),
            Self::QwenCode => environment.qwen(),
            Self::Copilot => environment.copilot(),
            Self::OpenCode => environment.opencode(),
            Self::Cline => environment.cline(),
            Self::Cursor => environment.cursor(),
        }
    }

    /// Returns `true` if a path is one that the agent writes sessions to. The file, and folders
    /// above it, may not be there yet.
    pub fn is_session_file(self, path: &Path, environment: &Environment) -> bool {
        let (folder, begin) = match self {
            Self::ClaudeCode | Self::QwenCode => ("projects", ""),
            Self::Codex => ("sessions", "rollout-"),
            Self::GeminiCli => ("tmp", "session-"),
            Self::Copilot => ("session-state", "events"),
            // They keep sessions in databases; the files of Cursor are not read.
            Self::OpenCode | Self::Cline | Self::Cursor => return false,
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
        // The nearest existing folder may be a link to elsewhere.
        let place = path.ancestors().skip(1).find_map(|above| {
            let below = path.strip_prefix(above).ok()?;
            Some(real(above)?.join(below))
        });
        matches!((own, place), (Some(own), Some(place)) if place.starts_with(own.join(folder)))
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

    /// Returns the file that hooks are installed in, or for Cline the folder. `None` if the
    /// environment has no home.
    pub fn settings(self, environment: &Environment, scope: SettingsScope<'_>) -> Option<PathBuf> {
        let project = match scope {
            SettingsScope::Project(project) => Some(project),
            SettingsScope::User => None,
        };
        Some(match (self, project) {
            (_, None) => self.folder(environment)?.join(match self {
                Self::ClaudeCode | Self::GeminiCli | Self::QwenCode => "settings.json",
                Self::Codex | Self::Cursor => "hooks.json",
                Self::Copilot => "hooks/milepost.json",
                Self::OpenCode => "plugins/milepost.js",
                Self::Cline => "hooks",
            }),
            // If there are several, the file that is not shared: the path of a program belongs to
            // this machine.
            (Self::ClaudeCode, Some(project)) => project.join(".claude/settings.local.json"),
            (Self::Codex, Some(project)) => project.join(".codex/hooks.json"),
            (Self::GeminiCli, Some(project)) => project.join(".gemini/settings.json"),
            (Self::QwenCode, Some(project)) => project.join(".qwen/settings.json"),
            (Self::Copilot, Some(project)) => project.join(".github/hooks/milepost.json"),
            (Self::OpenCode, Some(project)) => project.join(".opencode/plugins/milepost.js"),
            (Self::Cline, Some(project)) => project.join(".cline/hooks"),
            (Self::Cursor, Some(project)) => project.join(".cursor/hooks.json"),
        })
    }

    /// Returns the files of these settings: one for each event for Cline, else one.
    pub fn hook_files(self, settings: &Path) -> Vec<HookFile> {
        let events = self.events();
        match self {
            Self::Cline => events
                .chunks(1)
                .map(|one| {
                    let path = settings.join(one.concat());
                    HookFile { path, events: one, is_own: true }
                })
                .collect(),
            _ => {
                let is_own = self == Self::OpenCode;
                vec![HookFile { path: settings.to_owned(), events, is_own }]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

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
                "/home/ana/.gemini/settings.json",
                "/home/ana/.qwen/settings.json",
                "/home/ana/.copilot/hooks/milepost.json",
                "/home/ana/.config/opencode/plugins/milepost.js",
                "/home/ana/.cline/hooks",
                "/home/ana/.cursor/hooks.json",
            ]
        );
        assert_eq!(
            files(&moved),
            [
                "/elsewhere/CLAUDE_CONFIG_DIR/settings.json",
                "/elsewhere/CODEX_HOME/hooks.json",
                "/elsewhere/GEMINI_CLI_HOME/.gemini/settings.json",
                "/elsewhere/QWEN_HOME/settings.json",
                "/elsewhere/COPILOT_HOME/hooks/milepost.json",
                "/elsewhere/XDG_CONFIG_HOME/opencode/plugins/milepost.js",
                "/elsewhere/CLINE_DIR/hooks",
                "/elsewhere/CURSOR_CONFIG_DIR/hooks.json",
            ]
        );
        assert_eq!(files(&Environment::default()), [""; 8]);
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
    fn cline_has_a_file_for_each_event() {
        let files = Agent::Cline.hook_files(Path::new("/h/hooks"));
        assert_eq!(files.len(), Agent::Cline.events().len());
        assert_eq!(files[3].path, Path::new("/h/hooks/PreToolUse"));
        assert_eq!(Agent::Codex.hook_files(Path::new("/h/hooks.json")).len(), 1);
    }
}
