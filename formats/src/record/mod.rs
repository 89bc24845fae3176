//! Turns runs of other programs into tasks.
//!
//! ```text
//! document      whole files: read, planned, written
//! live          JSON Lines: read and written as they arrive
//! session       sessions of coding agents, line by line, also while they are written
//! claude_code   lines of sessions of Claude Code
//! codex         lines of sessions of Codex
//! gemini_cli    lines of sessions of Gemini CLI
//! qwen_code     lines of sessions of qwen-code
//! copilot       lines of sessions of Copilot CLI
//! opencode      documents of sessions of opencode
//! pause_state   the context of a paused run
//! iteration     the state of an iteration engine, and the events that lead to it
//! job           a recording of one input: its settings, and its result
//! database      databases of checkpoints: of LangGraph, and of an iteration engine
//! branches      the lineages of a history
//! continued     lineages that continue in another session
//! swe_agent     a trajectory of SWE-agent -> a plan
//! tau_bench     results of tau-bench -> a plan for each task
//! openai        message arrays -> a plan for each
//! turns         a conversation -> steps, one for each answer
//! conversation  chat messages -> events
//! blocks        content of a message in Anthropic's form -> events
//! exclusive     one import at a time into each task
//! lines         stores that lines are recorded to
//! write         plans and lines written to the store
//! plan          events and marks, before anything is written
//! list_patch    JSON patches between lists of named values
//! jsonl         JSON Lines, line by line
//! ```

mod blocks;
mod branches;
pub(crate) mod claude_code;
pub(crate) mod codex;
mod continued;
mod conversation;
pub(crate) mod copilot;
#[cfg(feature = "sqlite")]
pub(crate) mod database;
#[cfg(not(feature = "sqlite"))]
#[path = "no_database.rs"]
pub(crate) mod database;
pub(crate) mod document;
mod exclusive;
pub(crate) mod gemini_cli;
mod iteration;
mod job;
pub(crate) mod jsonl;
mod lines;
pub(crate) mod list_patch;
mod live;
mod openai;
pub(crate) mod opencode;
mod pause_state;
pub(crate) mod plan;
pub(crate) mod qwen_code;
pub(crate) mod session;
mod swe_agent;
mod tau_bench;
mod turns;
mod write;

use std::ffi::OsStr;
use std::path::Path;

use milepost::{Body, Engine, Json};

use crate::detect::detect;
use crate::error::{Error, Remedy, Result};
use crate::format::Format;
use crate::input::{self, Reader, RunInput, empty};
use crate::progress::Progress;
pub use branches::{DOCUMENTS_KEY, HOOK_KEY};
pub use continued::{continued, session_description};
use job::{Begun, Job};
pub use job::{RecordOptions, RecordReport, RecordedTask};
pub use lines::{LineCounts, LineSink, LineStore, RefusedLine};
use session::SessionFormat;
pub use session::line::beginning;
pub use session::tail::{SessionTail, TailRead, TailStop};

/// Returns the line of a session file that the events of an append are of, as JSON: with the same
/// text, or with the same fields for a line of Claude Code, which needs an id. Returns `None` for
/// other events.
pub fn session_line(format: Format, events: &[Body]) -> Option<Json> {
    (session_format(format)?.written)(events)
}

/// Returns the functions of a format of sessions; `None` for any other format.
pub(crate) fn session_format(format: Format) -> Option<&'static SessionFormat> {
    match format {
        Format::ClaudeCode => Some(&claude_code::SESSIONS),
        Format::Codex => Some(&codex::SESSIONS),
        Format::GeminiCli => Some(&gemini_cli::SESSIONS),
        Format::QwenCode => Some(&qwen_code::SESSIONS),
        Format::Copilot => Some(&copilot::SESSIONS),
        Format::Opencode => Some(&opencode::SESSIONS),
        Format::Jsonl
        | Format::SweAgent
        | Format::TauBench
        | Format::OpenAi
        | Format::LangGraph
        | Format::CheckpointTable
        | Format::PauseState => None,
    }
}

/// Begins to read an input, and detects its format.
fn begin(input: RunInput, options: &RecordOptions) -> Result<(Begun, Reader)> {
    let RunInput { name, path, start, is_packed, reader } = input.with_beginning()?;
    let text = |part: Option<&OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let file = path.as_deref();
    let stem_of = |path: &Path| text(input::stem(path).file_name());
    let stem = options.stem.clone().or_else(|| file.and_then(stem_of));
    let metadata = file.and_then(|path| path.metadata().ok());
    if start.is_empty() {
        return Err(empty(&name));
    }
    let extension = text(file.and_then(Path::extension));
    let format = options.format.unwrap_or_else(|| {
        let format = detect(&start, extension.as_deref());
        if format != Format::LangGraph {
            return format;
        }
        file.and_then(database::format_of).unwrap_or(format)
    });
    Ok((Begun { name, path, stem, metadata, start, is_packed, format }, reader))
}

/// Records an input. Events recorded before an error stay in the store; a document is recorded as a
/// whole, or not at all.
///
/// # Errors
///
/// `Invalid`: the input has no run. `Conflict`: the task exists and differs from the run.
/// `Corrupt`: a database is damaged. `Io` and `Engine`: the input or the store failed.
pub fn record(
    store: &Engine,
    input: RunInput,
    options: &RecordOptions,
    progress: &mut dyn Progress,
) -> Result<RecordReport> {
    let (begun, reader) = begin(input, options)?;
    // An engine that another program opened may accept less.
    let event_max = options.event_max.min(store.store().event_max());
    let options = RecordOptions { event_max, ..options.clone() };
    let job = Job::new(store, &begun, &options);
    let path = begun.path.as_deref();
    if begun.format == Format::Opencode {
        return opencode::record(&job, reader, progress);
    }
    if let Some(format) = session_format(begun.format) {
        return session::import::record(&job, format, (&begun.start, reader), progress);
    }
    match begun.format {
        Format::Jsonl => {
            live::record(&Job::<dyn LineStore>::new(store, &begun, &options), reader, progress)
        }
        Format::LangGraph | Format::CheckpointTable => {
            database::record(&job, begun.format, path, progress)
        }
        Format::PauseState => pause_state::record(&job, reader, progress),
        Format::SweAgent | Format::TauBench | Format::OpenAi => {
            document::record(&job, begun.format, reader, progress)
        }
        Format::ClaudeCode
        | Format::Codex
        | Format::GeminiCli
        | Format::QwenCode
        | Format::Copilot
        | Format::Opencode => Err(Error::bug("a format of sessions that has no reader")),
    }
}

/// Records JSON Lines into a store other than an engine, line by line.
///
/// # Errors
///
/// As [`record`]. `Invalid`: the input has another format.
pub fn record_lines(
    store: &dyn LineStore,
    input: RunInput,
    options: &RecordOptions,
    progress: &mut dyn Progress,
) -> Result<RecordReport> {
    let (begun, reader) = begin(input, options)?;
    if begun.format != Format::Jsonl {
        let (name, format) = (&begun.name, begun.format.name());
        let text = format!("{name}: {format} is not recorded line by line");
        return Err(Error::invalid(text).remedied_by(Remedy::GiveLinesOrFile));
    }
    live::record(&Job::new(store, &begun, options), reader, progress)
}
