//! Events of hooks, their entries in settings, and what a hook prints.

use serde_json::json;

use super::Agent;

/// Events of Claude Code. A tool that fails has one of its own, as a turn that does.
const CLAUDE_CODE: [&str; 11] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "Stop",
    "StopFailure",
    "SessionEnd",
];

/// Events of Codex.
const CODEX: [&str; 7] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PreCompact",
    "Stop",
    "SessionEnd",
];

/// Events of Gemini CLI.
const GEMINI_CLI: [&str; 6] =
    ["SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"];

/// Events of qwen-code, the same as those of Claude Code.
const QWEN_CODE: [&str; 11] = CLAUDE_CODE;

/// Events of Copilot CLI. With these names its documents have the form of Claude Code's; with its
/// own names they do not contain their event.
const COPILOT: [&str; 9] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStop",
    "PreCompact",
    "Stop",
    "SessionEnd",
];

/// Events of OpenCode: the plugin gives them these names.
const OPENCODE: [&str; 10] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "Stop",
    "SessionEnd",
];

/// Events of Cline: the names of its scripts.
const CLINE: [&str; 9] = [
    "TaskStart",
    "TaskResume",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "TaskComplete",
    "TaskCancel",
    "TaskError",
    "SessionShutdown",
];

/// Output of the hooks of Cursor, which refuses a call of a tool where a hook prints no JSON. It
/// has no `permission`: one of `allow` may answer for the user.
pub(crate) const CURSOR_CONTINUES: &str = "{\"continue\":true}";

/// Events of Cursor. `subagentStart`, which asks for nothing but a permission, is left out: the
/// calls of a sub-agent are recorded.
const CURSOR: [&str; 10] = [
    "sessionStart",
    "beforeSubmitPrompt",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "subagentStop",
    "preCompact",
    "afterAgentResponse",
    "stop",
    "sessionEnd",
];

impl Agent {
    /// Returns the events that hooks are installed for, in the order of a session.
    pub fn events(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &CLAUDE_CODE,
            Self::Codex => &CODEX,
            Self::GeminiCli => &GEMINI_CLI,
            Self::QwenCode => &QWEN_CODE,
            Self::Copilot => &COPILOT,
            Self::OpenCode => &OPENCODE,
            Self::Cline => &CLINE,
            Self::Cursor => &CURSOR,
        }
    }

    /// Returns the time limit that is asked for, in the unit of the agent. Codex warns at each
    /// start about more than 3 s for the end of a session.
    pub(crate) fn time_limit(self, event: &str) -> u32 {
        match self {
            Self::Codex if event == "SessionEnd" => 3,
            Self::GeminiCli | Self::QwenCode => 5000,
            _ => 5,
        }
    }

    /// Returns what a hook does where the program is missing, as a command of a shell.
    pub(crate) fn otherwise(self) -> String {
        match self {
            Self::Cursor => format!("echo '{CURSOR_CONTINUES}'"),
            _ => ":".to_owned(),
        }
    }

    /// Returns the name of a hook within its settings, where the agent shows one.
    pub(crate) fn hook_name(self) -> Option<&'static str> {
        matches!(self, Self::GeminiCli | Self::QwenCode).then_some("milepost")
    }

    /// Returns the output of a hook, with a sentence for the model if there is one: agents that
    /// parse the output of their hooks get an object.
    pub fn answer(self, say: Option<&str>) -> String {
        let Some(say) = say else {
            return match self {
                Self::ClaudeCode | Self::Codex => String::new(),
                Self::Cursor => format!("{CURSOR_CONTINUES}\n"),
                _ => "{}\n".to_owned(),
            };
        };
        let said = match self {
            Self::ClaudeCode | Self::Codex => return format!("{say}\n"),
            Self::GeminiCli | Self::QwenCode => {
                json!({ "hookSpecificOutput": { "additionalContext": say } })
            }
            Self::Copilot => json!({ "additionalContext": say }),
            Self::OpenCode => json!({ "say": say }),
            // It starts the scripts of its prompts and ignores their output.
            Self::Cline => json!({}),
            // A prompt is sent or not, without a word to the model.
            Self::Cursor => return format!("{CURSOR_CONTINUES}\n"),
        };
        format!("{said}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_that_parse_the_output_of_hooks_get_an_object() {
        for agent in Agent::ALL {
            let is_plain = matches!(agent, Agent::ClaudeCode | Agent::Codex);
            for say in [None, Some("a \"word\"")] {
                let answer = agent.answer(say);
                let is_object = serde_json::from_str::<serde_json::Value>(&answer)
                    .is_ok_and(|answer| answer.is_object());
                assert_eq!(is_object, !is_plain, "{agent:?}: {answer}");
            }
        }
    }
}
