//! Arguments of `record`, `import`, `export` and `share`.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum, value_parser};
use milepost_api::ShareAsked;
use milepost_formats::Format;

use crate::error::{Failure, Result, USAGE};

#[derive(Debug, ClapArgs)]
pub struct Record {
    /// The files, `-` for standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub runs: RunArgs,
    /// Print one JSON line for each durable event, with its offset and hash.
    #[arg(long)]
    pub ack: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Import {
    /// Files of `export` and `share`, or `-` for standard input; files that `record` reads;
    /// folders: a project with `persistence/checkpoint/`, its `persistence` folder, a folder of
    /// ckpt-*.json files, a folder with several projects, or one with any of these files.
    #[arg(required = true, value_name = "FILE|FOLDER")]
    pub from: Vec<PathBuf>,
    #[command(flatten)]
    pub runs: RunArgs,
    /// Read exports and shares into memory, verify them, and print what an import would add. The
    /// store stays as it is.
    #[arg(long, conflicts_with_all = ["user", "format", "strict", "allow_unknown", "event_max"])]
    pub dry_run: bool,
}

/// Arguments of `record` and `import`.
#[derive(Debug, ClapArgs)]
pub struct RunArgs {
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

#[derive(Debug, ClapArgs)]
pub struct Export {
    /// The task. Default: all tasks of the store.
    #[arg(value_name = "TASK")]
    named: Option<String>,
    /// The folder for `--format checkpoints`, without `ckpt-*.json` files yet. Without a task it is
    /// the only argument.
    #[arg(value_name = "DIR")]
    dir: Option<String>,
    /// The form of the export.
    #[arg(long, default_value = "export")]
    pub format: ExportFormat,
    /// With `--format checkpoints`: also the checkpoints of lineages that are not active.
    #[arg(long)]
    pub all_lineages: bool,
    /// Include the captured files.
    #[arg(long, conflicts_with = "redact")]
    pub files: bool,
    /// Replace text that looks like a secret. A redacted export is imported as a copy.
    #[arg(long)]
    pub redact: bool,
    /// The file to write. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One file, identical in the store that imports it.
    Export,
    /// A folder with a JSON file for each checkpoint, as engines save them.
    Checkpoints,
}

impl Export {
    /// Returns the task, unless all are exported.
    pub fn task(&self) -> Result<Option<&str>> {
        let (task, _) = self.named()?;
        Ok(task)
    }

    /// Returns the folder of checkpoint files, or `None` for an export file.
    pub fn folder(&self) -> Result<Option<&Path>> {
        let (_, folder) = self.named()?;
        Ok(folder.map(Path::new))
    }

    /// Returns the task and the folder. The folder of `--format checkpoints` is the last argument.
    fn named(&self) -> Result<(Option<&str>, Option<&str>)> {
        let usage = |message: String| {
            Failure::new(message)
                .code_of(USAGE)
                .hint("`milepost export TASK DIR --format checkpoints`")
        };
        if self.all_lineages && self.format == ExportFormat::Export {
            return Err(usage("--all-lineages is for --format checkpoints".into()));
        }
        match (self.format, self.named.as_deref(), self.dir.as_deref()) {
            (ExportFormat::Export, task, None) => Ok((task, None)),
            (ExportFormat::Export, _, Some(dir)) => {
                Err(usage(format!("a folder, here `{dir}`, is for --format checkpoints")))
            }
            (ExportFormat::Checkpoints, task, Some(dir)) => Ok((task, Some(dir))),
            (ExportFormat::Checkpoints, Some(dir), None) => Ok((None, Some(dir))),
            (ExportFormat::Checkpoints, None, None) => {
                Err(usage("--format checkpoints needs the folder to write to".into()))
            }
        }
    }
}

#[derive(Debug, ClapArgs)]
pub struct Share {
    /// The task.
    pub task: String,
    /// The HTML file to write, or `-` for standard output.
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    pub output: Option<PathBuf>,
    /// Share all texts as they are, secrets included. Asks first.
    #[arg(long)]
    pub no_redact: bool,
    /// Withhold events with a text that matches this regular expression, too.
    #[arg(long, value_name = "REGEX")]
    pub withhold: Vec<String>,
    /// The largest file, in bytes: the longest texts are withheld first. Default: 32 MiB; at most
    /// 256 MiB.
    #[arg(long, value_name = "BYTES", value_parser = value_parser!(u64).range(1..=ShareAsked::MAX))]
    pub max: Option<u64>,
    /// Print what the file would have, and write nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}

/// The format of recorded runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
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
