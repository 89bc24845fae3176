//! The programs: where they are, their settings, and how they take a prompt.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use milepost_agents::Agent;
use serde_json::json;

use super::AgentHome;
use crate::skip::skipped;

/// Returns the folder of the agents, if it is named and has this one.
pub(super) fn installed(agent: Agent) -> Option<PathBuf> {
    let required = std::env::var("MILEPOST_AGENTS_REQUIRED").unwrap_or_default();
    let (variable, option, is_required) = match agent {
        Agent::ClaudeCode | Agent::Codex | Agent::GeminiCli => {
            ("MILEPOST_AGENTS", "", required == "1" || required == "all")
        }
        _ => ("MILEPOST_AGENTS_ALL", " --more", required == "all"),
    };
    let missing = match std::env::var_os(variable).map(PathBuf::from) {
        None => format!("{variable} does not name the folder of `tests/agents/install{option}`"),
        Some(folder) if program(&folder, agent).exists() => return Some(folder),
        Some(folder) => format!("there is no {}", program(&folder, agent).display()),
    };
    assert!(!is_required, "{} is not installed: {missing}", agent.name());
    skipped(format_args!("{}: {missing}", agent.name()));
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
        Agent::QwenCode => &["projects"],
        Agent::Copilot => &["session-state"],
        Agent::OpenCode | Agent::Cline | Agent::Cursor => &[],
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
        Agent::QwenCode => {
            // It adds this to settings without it.
            fs::write(folder.join("settings.json"), "{\n  \"$version\": 4\n}").unwrap();
        }
        // Cursor comes from no registry: its hooks are called without it.
        Agent::Copilot | Agent::Cursor => {}
        Agent::OpenCode => {
            let base = format!("{}/v1", home.model_url());
            let provider = json!({
                "npm": "@ai-sdk/openai-compatible",
                "name": "scripted",
                "options": {"baseURL": base, "apiKey": "x"},
                "models": {"scripted": {"name": "scripted"}},
            });
            let settings = json!({
                "provider": {"scripted": provider},
                "model": "scripted/scripted",
                "autoupdate": false,
                "share": "disabled",
            });
            fs::write(folder.join("opencode.json"), format!("{settings:#}\n")).unwrap();
        }
        Agent::Cline => {
            let base = format!("{}/v1", home.model_url());
            let settings = json!({
                "provider": "openai-native", "apiKey": "x", "model": "scripted", "baseUrl": base,
            });
            let provider = json!({
                "settings": settings,
                "updatedAt": "2026-01-01T00:00:00.000Z",
                "tokenSource": "manual",
            });
            let providers = json!({
                "version": 1,
                "lastUsedProvider": "openai-native",
                "modes": {},
                "providers": {"openai-native": provider},
            });
            let settings = folder.join("data/settings");
            fs::create_dir_all(&settings).unwrap();
            fs::write(settings.join("providers.json"), format!("{providers:#}\n")).unwrap();
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
        Agent::QwenCode => {
            command.env("OPENAI_BASE_URL", format!("{}/v1", home.model_url()));
            command.env("OPENAI_API_KEY", "x").env("OPENAI_MODEL", "scripted");
            command.args(["--yolo", "--auth-type", "openai"]);
            command.args(session.map(|id| format!("--resume={id}"))).args(["-p", prompt]);
        }
        Agent::Copilot => {
            command.env("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", home.model_url()));
            command.env("COPILOT_OFFLINE", "true").env("COPILOT_MODEL", "scripted");
            command.env("COPILOT_AUTO_UPDATE", "false").arg("--allow-all-tools");
            command.args(session.map(|id| format!("--resume={id}"))).args(["-p", prompt]);
        }
        Agent::OpenCode => {
            command.env("OPENCODE_DISABLE_MODELS_FETCH", "1");
            command.env("OPENCODE_DISABLE_AUTOUPDATE", "1").arg("run");
            command.args(session.map(|id| format!("--session={id}"))).arg(prompt);
        }
        Agent::Cline => {
            // It leaves a daemon at this port, which is not that of another home.
            command.env("CLINE_HUB_PORT", free_port().to_string());
            command.env("CLINE_TELEMETRY_DISABLED", "1");
            command.args(session.map(|id| format!("--id={id}"))).arg(prompt);
        }
        Agent::Cursor => {
            command.args(session.map(|id| format!("--resume={id}"))).args(["-p", prompt]);
        }
    }
    command
}

/// Returns the command that shows the screen of an agent and says a prompt there. The project is
/// one that the user trusts, and no question comes before the prompt. `None` for an agent whose
/// screen is not tried.
pub(super) fn on_screen(home: &AgentHome, prompt: &str) -> Option<Command> {
    let command = self::prompt(home, None, prompt);
    let not_on_screen = match home.agent() {
        Agent::ClaudeCode => {
            let project = home.project("").display().to_string();
            let project = project.trim_end_matches('/');
            let settings = json!({
                "hasCompletedOnboarding": true,
                "theme": "dark",
                "customApiKeyResponses": {"approved": ["x"], "rejected": []},
                "projects": {project: {
                    "hasTrustDialogAccepted": true,
                    "hasCompletedProjectOnboarding": true,
                }},
            });
            fs::write(home.path("home/.claude.json"), format!("{settings:#}\n")).unwrap();
            &["-p"][..]
        }
        Agent::Codex => {
            let file = home.agent_folder().join("config.toml");
            let text = fs::read_to_string(&file).unwrap();
            let project = home.path("work/shop");
            let trust =
                format!("\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n", project.display());
            fs::write(file, text + &trust).unwrap();
            &["exec", "--skip-git-repo-check"]
        }
        Agent::GeminiCli => &["-p"],
        _ => return None,
    };
    // Without it Gemini CLI ends behind the answer.
    let before_prompt = if home.agent() == Agent::GeminiCli { "-i" } else { "--" };
    let mut shown = home.plain(Path::new(command.get_program()));
    for (name, value) in command.get_envs() {
        shown.envs(value.map(|value| (name, value)));
    }
    let options =
        command.get_args().filter(|option| !not_on_screen.iter().any(|not| option == not));
    let (options, prompt): (Vec<_>, Vec<_>) = options.partition(|option| *option != prompt);
    shown.args(options).arg(before_prompt).args(prompt);
    Some(shown)
}

/// Returns a port that no program listens at.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
