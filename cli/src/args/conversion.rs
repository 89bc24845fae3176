//! Arguments of `record` and `import`.

use milepost_formats::Format;

// Arguments of `record` and `import`.
#[derive(Debug, clap::Args)]
pub struct InputArgs {
    /// The task of the run. Default: the file's name without its extension, or the id of a session.
    /// For a file with several tasks, the prefix of their names. An export of one task is imported
    /// as a copy under this name, with hashes of its own.
    #[arg(long, visible_alias = "as", value_name = "NAME")]
    pub task: Option<String>,
    /// The owner of the tasks. An export names its own. Default: the current user.
    #[arg(long)]
    pub user: Option<String>,
    /// The format of the runs.
    #[arg(long, default_value = "auto")]
    pub format: RunFormat,
    /// Stop at the first line that cannot be read.
    #[arg(long)]
    pub strict: bool,
    /// Record a line of an unknown kind as an `application` event, instead of refusing it.
    #[arg(long)]
    pub allow_unknown: bool,
    /// The largest event of a run, in bytes. Default: 64 MiB.
    #[arg(long, value_name = "BYTES")]
    pub event_max: Option<usize>,
}

/// The format of recorded runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RunFormat {
    /// Told by the content.
    Auto,
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
    #[value(name = "openai")]
    OpenAi,
    /// A checkpoint database of LangGraph's SqliteSaver.
    #[value(name = "langgraph")]
    LangGraph,
    /// A database with a table of an iteration engine's checkpoints.
    CheckpointTable,
    /// The context of a paused run, as one JSON object.
    PauseState,
}

impl RunFormat {
    /// Returns the format, or `None` if the content tells it.
    pub fn into_format(self) -> Option<Format> {
        match self {
            Self::Auto => None,
            Self::Jsonl => Some(Format::Jsonl),
            Self::SweAgent => Some(Format::SweAgent),
            Self::TauBench => Some(Format::TauBench),
            Self::ClaudeCode => Some(Format::ClaudeCode),
            Self::Codex => Some(Format::Codex),
            Self::GeminiCli => Some(Format::GeminiCli),
            Self::QwenCode => Some(Format::QwenCode),
            Self::Copilot => Some(Format::Copilot),
            Self::Opencode => Some(Format::Opencode),
            Self::OpenAi => Some(Format::OpenAi),
            Self::LangGraph => Some(Format::LangGraph),
            Self::CheckpointTable => Some(Format::CheckpointTable),
            Self::PauseState => Some(Format::PauseState),
        }
    }
}
