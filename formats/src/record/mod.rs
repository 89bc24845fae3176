//! `record`: turns runs of other programs into tasks.
//!
//! ```text
//! opened        an input, and its beginning
//! detect        the format of an input
//! claude_code   sessions of Claude Code, line by line
//! langgraph     checkpoint databases of LangGraph
//! branches      the lineages of a history
//! jsonl         JSON Lines, line by line
//! swe_agent     a trajectory of SWE-agent -> a plan
//! tau_bench     results of tau-bench -> a plan for each task
//! openai        message arrays -> a plan for each
//! turns         a conversation -> steps, one for each answer
//! conversation  chat messages -> events
//! json_object   JSON objects, field by field
//! list_patch    JSON patches between lists of named values
//! plan          events and marks, before anything is written
//! write         plans and lines written to the store
//! document      whole files: read, planned, written
//! live          JSON Lines: read and written as they arrive
//! ```

mod branches;
mod claude_code;
mod conversation;
mod detect;
mod document;
pub mod json_object;
mod jsonl;
mod langgraph;
mod list_patch;
mod live;
mod openai;
mod opened;
mod plan;
mod swe_agent;
mod tau_bench;
mod turns;
mod write;

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use milepost::clock::{Clock, SystemClock};
use milepost::{Engine, Offset, Options};
use serde_json::{Value, json};

use crate::error::{Failure, Result, UNMET};
use crate::output::{Out, big, count, printable, time};
use crate::store_locator::{StoreArgs, attach};
pub use detect::Format;
use detect::detect;
pub use detect::told;
pub use opened::START;
use opened::{Reader, beginning, check_any_opens, empty, open};
use write::Durable;

#[derive(Debug, ClapArgs)]
pub struct Record {
    /// The files, `-` for standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The task to record into. Default: the file's name without its extension, or the id of a
    /// session. For a file with several tasks, the prefix of their names.
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// The owner of the task. Default: the current user.
    #[arg(long)]
    pub user: Option<String>,
    /// The format of the runs.
    #[arg(long, default_value = "auto")]
    pub format: Format,
    /// Stop at the first line that cannot be read.
    #[arg(long)]
    pub strict: bool,
    /// Print one JSON line for each durable event, with its offset and hash.
    #[arg(long)]
    pub ack: bool,
    /// The largest event, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    pub event_max: usize,
}

/// Result of one task.
#[derive(Debug)]
struct Recorded {
    task: String,
    input: String,
    format: Format,
    lineages: u64,
    events: u64,
    checkpoints: u64,
    head: Offset,
}

/// Result of one input: the recorded tasks, and the numbers of lines and checkpoints that could not
/// be recorded.
#[derive(Debug, Default)]
struct Outcome {
    recorded: Vec<Recorded>,
    bad_lines: u64,
    /// Checkpoints of a database that could not be recorded, and their writes.
    bad_checkpoints: u64,
    /// The first failure of a whole task of the input. It is already printed.
    failed: Option<Failure>,
}

impl Outcome {
    fn is_whole(&self) -> bool {
        self.bad_lines == 0 && self.bad_checkpoints == 0 && self.failed.is_none()
    }
}

/// An input, and the settings of its recording.
struct Input<'a> {
    engine: &'a Engine,
    args: &'a Record,
    user: &'a str,
    /// Name of the input in messages.
    name: String,
    /// Name of the file without its extension; `None` for standard input.
    stem: Option<String>,
    /// Size in bytes, if known.
    size: Option<u64>,
}

pub fn run(store: &StoreArgs, args: &Record, out: &mut Out) -> Result<()> {
    if args.task.is_some() && args.files.len() > 1 {
        return Err(Failure::new("--task names one task, and there are several files")
            .hint("record the files one by one, or leave --task out"));
    }
    // A pipe may stay open for days, so other processes can attach.
    let long = args.files.iter().any(|path| path.as_os_str() == "-");
    let (all, worst) = record_all(store, args, long, out)?;
    report(&all.recorded, args, out)?;
    end(&all, worst, args)
}

/// Records for `import`, which prints JSON of another form.
pub fn import(store: &StoreArgs, args: &Record, out: &mut Out) -> Result<()> {
    let (all, worst) = record_all(store, args, true, out)?;
    if out.json {
        let tasks: Vec<Value> = all.recorded.iter().map(form).collect();
        out.json(&json!({
            "tasks": tasks,
            "bad_lines": big(all.bad_lines),
            "bad_checkpoints": big(all.bad_checkpoints),
        }))?;
    } else {
        report(&all.recorded, args, out)?;
    }
    end(&all, worst, args)
}

/// Records all files. Returns the result and the first failure. With `attached`, other processes
/// can query the store during the recording.
fn record_all(
    store: &StoreArgs,
    args: &Record,
    attached: bool,
    out: &mut Out,
) -> Result<(Outcome, Option<Failure>)> {
    // Without a readable file, no store is created.
    let mut only = match args.files.as_slice() {
        [path] => Some(open(path)?),
        paths => {
            check_any_opens(paths, out)?;
            None
        }
    };
    let user = args.user.clone().unwrap_or_else(current_user);
    let engine = store.open_or_create_with_hooks(Options::default().event_max(args.event_max))?;
    let attached = attached.then(|| attach(&engine));
    let mut all = Outcome::default();
    let mut worst = None;
    for path in &args.files {
        let input = only.take().map_or_else(|| open(path), Ok);
        let done = input.and_then(|reader| one(&engine, args, &user, path, reader, out));
        match done {
            Ok(outcome) => {
                all.bad_lines += outcome.bad_lines;
                all.bad_checkpoints += outcome.bad_checkpoints;
                all.recorded.extend(outcome.recorded);
                worst = worst.or(outcome.failed);
            }
            Err(failure) => {
                // With several files, a failure is printed here and the other files are recorded.
                if args.files.len() > 1 {
                    failure.print(out.colors_stderr());
                }
                worst.get_or_insert(failure);
            }
        }
        if args.strict && (worst.is_some() || !all.is_whole()) {
            break;
        }
    }
    drop(attached);
    let closed = engine.close();
    if worst.is_none() && all.is_whole() {
        closed?;
    }
    Ok((all, worst))
}

fn end(all: &Outcome, worst: Option<Failure>, args: &Record) -> Result<()> {
    match worst {
        Some(failure) if args.files.len() > 1 => Err(Failure::said(failure.code())),
        Some(failure) => Err(failure),
        None if !all.is_whole() => Err(left_out(all, args)),
        None => Ok(()),
    }
}

fn one(
    engine: &Engine,
    args: &Record,
    user: &str,
    path: &Path,
    mut reader: Reader,
    out: &mut Out,
) -> Result<Outcome> {
    let stdin = path.as_os_str() == "-";
    let text = |name: Option<&std::ffi::OsStr>| name.map(|n| n.to_string_lossy().into_owned());
    let input = Input {
        engine,
        args,
        user,
        name: if stdin { "standard input".into() } else { path.display().to_string() },
        stem: if stdin { None } else { text(path.file_stem()) },
        size: path.metadata().ok().filter(|_| !stdin).map(|metadata| metadata.len()),
    };
    let failed = |error: io::Error| Failure::from(error).at(&input.name);
    if stdin {
        reader = beginning(reader).map_err(failed)?;
    }
    let start = reader.fill_buf().map_err(failed)?;
    if start.is_empty() {
        return Err(empty(&input.name));
    }
    let format = match args.format {
        Format::Auto => detect(start, text(path.extension()).as_deref()),
        format => format,
    };
    match format {
        Format::Jsonl | Format::Auto => live::record(&input, reader, out),
        Format::ClaudeCode => claude_code::record(&input, reader, out),
        Format::LangGraph => langgraph::record(&input, path, out),
        Format::SweAgent | Format::TauBench | Format::OpenAi => {
            document::record(&input, format, reader, out)
        }
    }
}

impl Input<'_> {
    /// Returns the id of the task for an input that names no tasks.
    fn task_id(&self) -> String {
        let named = self.args.task.clone().or_else(|| self.stem.clone());
        named.unwrap_or_else(|| {
            let now = time(SystemClock.now_us());
            format!("stdin-{}", now.replace([':', '-'], ""))
        })
    }
}

/// Returns the current user by the environment, or `local`.
pub fn current_user() -> String {
    let named = ["USER", "USERNAME"].iter().filter_map(|name| std::env::var(name).ok());
    named.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "local".into())
}

/// Prints on standard output that an event is durable.
fn acknowledge(durable: Durable, out: &mut Out) -> Result<()> {
    let Durable { offset, hash } = durable;
    let said = out.json(&json!({"offset": big(offset), "hash": hash}));
    said.and_then(|()| out.flush()).map_err(|error| {
        Failure::new(format!("standard output failed after event {offset}: {error}"))
            .hint("events up to that one are recorded")
    })
}

/// Reports a line that cannot be recorded on standard error.
fn say_bad_line(input: &str, line: u64, why: &str) {
    let text = format!("{input}:{line}: {why}");
    // If standard error is closed, the report is lost.
    let _ = writeln!(io::stderr().lock(), "{}", printable(&text));
}

fn left_out(outcome: &Outcome, args: &Record) -> Failure {
    let lines = count(outcome.bad_lines, "line");
    let checkpoints = count(outcome.bad_checkpoints, "checkpoint");
    let what = match (outcome.bad_lines, outcome.bad_checkpoints) {
        (_, 0) => lines,
        (0, _) => checkpoints,
        _ => format!("{lines} and {checkpoints}"),
    };
    let failure = Failure::new(format!("{what} could not be recorded")).code_of(UNMET);
    if args.strict {
        failure.hint("the lines before it are recorded; without --strict the rest is recorded too")
    } else if outcome.bad_lines == 0 {
        failure
            .hint("the others are recorded; what went on from these went on from those before them")
    } else if outcome.recorded.iter().any(|recorded| recorded.format == Format::ClaudeCode) {
        failure.hint(
            "the other lines are recorded; with these corrected it is another session: \
            import it under another name",
        )
    } else {
        failure.hint("the other lines are recorded; correct these and record them alone")
    }
}

fn report(recorded: &[Recorded], args: &Record, out: &mut Out) -> Result<()> {
    if args.ack {
        return Ok(());
    }
    if out.json {
        return Ok(out.json(&Value::Array(recorded.iter().map(form).collect()))?);
    }
    if recorded.is_empty() {
        return Ok(());
    }
    let row = |r: &Recorded| {
        vec![
            printable(&r.task).into_owned(),
            r.format.name().to_owned(),
            r.lineages.to_string(),
            r.events.to_string(),
            r.checkpoints.to_string(),
            format!("@{}", r.head),
        ]
    };
    let rows: Vec<Vec<String>> = recorded.iter().map(row).collect();
    Ok(out.table(&["TASK", "FORMAT", "LINEAGES", "EVENTS", "CHECKPOINTS", "HEAD"], &rows)?)
}

fn form(recorded: &Recorded) -> Value {
    json!({
        "id": recorded.task,
        "input": recorded.input,
        "format": recorded.format.name(),
        "lineages": recorded.lineages,
        "events": big(recorded.events),
        "checkpoints": big(recorded.checkpoints),
        "head": big(recorded.head),
    })
}
