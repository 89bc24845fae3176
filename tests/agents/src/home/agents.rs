//! The programs: where they are, their settings, and how they take a prompt.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use milepost_agents::Agent;
use serde_json::json;

use super::AgentHome;

/// Returns the folder of the agents, if it is named and has this one.
pub(super) fn installed(agent: Agent) -> Option<PathBuf> {
    let is_required = std::env::var("MILEPOST_AGENTS_REQUIRED").is_ok_and(|value| value == "1");
    let missing = match std::env::var_os("MILEPOST_AGENTS").map(PathBuf::from) {
        None => "MILEPOST_AGENTS does not name the folder of `tests/agents/install`".to_owned(),
        Some(folder) if program(&folder, agent).exists() => return Some(folder),
        Some(folder) => format!("there is no {}", program(&folder, agent).display()),
    };
    assert!(!is_required, "{} is not installed: {missing}", agent.name());
    super::say(&format!("not run: {}: {missing}", agent.name()));
    None
}

/// Returns the program that npm links.
fn program(folder: &Path, agent: Agent) -> PathBuf {
    folder.join("node_modules/.bin").join(agent.program())
}

/// Returns the folders with session files, below the folder of the agent.
pub(super) fn session_folders(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::ClaudeCode => &["projects"],
        Agent::Codex => &["sessions"],
        Agent::GeminiCli => &["tmp"],
    }
}

/// Writes the settings that lead an agent to the model, without hooks.
pub(super) fn write_settings(home: &AgentHome) {
    let folder = home.agent_folder();
    fs::create_dir_all(&folder).unwrap();
    match home.agent() {
        Agent::ClaudeCode => {}
        Agent::Codex => {
            let text = format!(
                "model = \"scripted\"\nmodel_provider = \"scripted\"\n\
                 check_for_update_on_startup = false\n\n\
                 [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{}/v1\"\n\
                 env_key = \"MODEL_KEY\"\nwire_api = \"responses\"\n",
                home.model_url()
            );
            fs::write(folder.join("config.toml"), text).unwrap();
        }
        Agent::GeminiCli => {
            let settings = json!({
                "privacy": {"usageStatisticsEnabled": false},
                "security": {"auth": {"selectedType": "gemini-api-key"}},
            });
            fs::write(folder.join("settings.json"), format!("{settings:#}\n")).unwrap();
        }
    }
}

/// Returns the command that says a prompt, in a new session or in one that is there.
pub(super) fn prompt(home: &AgentHome, session: Option<&str>, prompt: &str) -> Command {
    let mut command = home.plain(&program(&home.agents, home.agent()));
    match home.agent() {
        Agent::ClaudeCode => {
            command.env("ANTHROPIC_BASE_URL", home.model_url()).env("ANTHROPIC_API_KEY", "x");
            command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
            command.env("DISABLE_AUTOUPDATER", "1").env("CLAUDE_CODE_TMPDIR", home.path("tmp"));
            // The superuser may not pass over all permissions.
            command.args(["--permission-mode", "acceptEdits"]);
            command.args(["--allowedTools", "Bash Write Edit"]);
            command.args(session.map(|id| format!("--resume={id}"))).args(["-p", prompt]);
        }
        Agent::Codex => {
            command.env("MODEL_KEY", "x").arg("exec").args(session.map(|_| "resume"));
            command.args(["--skip-git-repo-check", "--dangerously-bypass-hook-trust"]);
            command.arg("--dangerously-bypass-approvals-and-sandbox");
            command.args(session).arg(prompt);
        }
        Agent::GeminiCli => {
            command.env("GEMINI_API_KEY", "x").env("GOOGLE_GEMINI_BASE_URL", home.model_url());
            command.args(["--skip-trust", "--yolo"]);
            command.args(session.map(|id| format!("--resume={id}"))).args(["-p", prompt]);
        }
    }
    command
}
