//! Formats of runs.

use serde::{Deserialize, Serialize};

/// The format of a recorded run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// JSON Lines: one event body an object a line.
    Jsonl,
    /// A trajectory of SWE-agent.
    SweAgent,
    /// The result array of tau-bench.
    TauBench,
    /// A session of Claude Code: JSON Lines with ids.
    ClaudeCode,
    /// A session of Codex: JSON Lines with a type and a payload.
    Codex,
    /// A session of Gemini CLI: JSON Lines of messages and their changes.
    GeminiCli,
    /// A session of qwen-code: JSON Lines with ids.
    QwenCode,
    /// A session of Copilot CLI: JSON Lines of events with ids.
    Copilot,
    /// A session of opencode: the document that its export prints.
    Opencode,
    /// Messages as OpenAI's API has them: a list, an object with `messages`, or one a line.
    #[serde(rename = "openai")]
    OpenAi,
    /// A checkpoint database of LangGraph's SqliteSaver.
    #[serde(rename = "langgraph")]
    LangGraph,
    /// A database with a table of an iteration engine's checkpoints.
    CheckpointTable,
    /// The context of a paused run, as one JSON object.
    PauseState,
}

impl Format {
    /// Returns `true` for sessions of coding agents.
    pub fn is_session(self) -> bool {
        match self {
            Self::ClaudeCode
            | Self::Codex
            | Self::GeminiCli
            | Self::QwenCode
            | Self::Copilot
            | Self::Opencode => true,
            Self::Jsonl
            | Self::SweAgent
            | Self::TauBench
            | Self::OpenAi
            | Self::LangGraph
            | Self::CheckpointTable
            | Self::PauseState => false,
        }
    }

    /// Returns `true` for sessions whose files are lines, and not one document.
    pub(crate) fn is_session_of_lines(self) -> bool {
        self.is_session() && self != Self::Opencode
    }

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::SweAgent => "swe-agent",
            Self::TauBench => "tau-bench",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
            Self::QwenCode => "qwen-code",
            Self::Copilot => "copilot",
            Self::Opencode => "opencode",
            Self::OpenAi => "openai",
            Self::LangGraph => "langgraph",
            Self::CheckpointTable => "checkpoint-table",
            Self::PauseState => "pause-state",
        }
    }
}
