//! `record`: runs of other programs become tasks.
//!
//! ```text
//! opened        an input, and its beginning
//! detect        which format an input is in
//! claude_code   sessions of Claude Code, a line at a time
//! langgraph     checkpoint databases of LangGraph
//! branches      the lineages that a history becomes
//! jsonl         JSON Lines, a line at a time
//! swe_agent     a trajectory of SWE-agent -> a plan
//! tau_bench     results of tau-bench -> a plan for each task
//! openai        message arrays -> a plan for each
//! turns         a conversation -> steps, one for each answer
//! conversation  chat messages -> events
//! object        JSON objects, field by field
//! patch         JSON patches of values that have names
//! plan          events and marks, before anything is written
//! write         plans and lines into the store
//! document      whole files: read, planned, written
//! stream        lines: read and written as they come
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
use std::path::Path;

use milepost::{Clock, Engine, Offset, Options, SystemClock};
use serde_json::{Value, json};

use crate::args;
use crate::error::{Failure, Result, UNMET};
use crate::output::{Out, big, count, printable, time};
use crate::store_locator::{StoreArgs, attach};
pub use detect::Format;
use detect::detect;
pub use detect::told;
pub use opened::START;
use opened::{Reader, beginning, check_any_opens, empty, open};
use write::Durable;

/// What became of one task.
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

/// What recording an input gave: what was recorded, and how many lines and checkpoints could not
/// be.
#[derive(Debug, Default)]
struct Outcome {
    recorded: Vec<Recorded>,
    bad_lines: u64,
    /// Of a database: checkpoints, or writes of them.
    bad_checkpoints: u64,
    /// Of several in one input, the first that was refused as a whole; it was said.
    failed: Option<Failure>,
}

impl Outcome {
    fn is_whole(&self) -> bool {
        self.bad_lines == 0 && self.bad_checkpoints == 0 && self.failed.is_none()
    }
}

/// One input, and how it is to be recorded.
struct Input<'a> {
    engine: &'a Engine,
    args: &'a args::Record,
    user: &'a str,
    /// What it is called in messages.
    name: String,
    /// The file's name without its ending; nothing for standard input.
    stem: Option<String>,
    /// The size in bytes, if that is known.
    size: Option<u64>,
}

pub fn run(store: &StoreArgs, args: &args::Record, out: &mut Out) -> Result<()> {
    if args.task.is_some() && args.files.len() > 1 {
        return Err(Failure::new("--task names one task, and there are several files")
            .hint("record the files one by one, or leave --task out"));
    }
    // What comes from a pipe may come for days.
    let long = args.files.iter().any(|path| path.as_os_str() == "-");
    let (all, worst) = record_all(store, args, long, out)?;
    report(&all.recorded, args, out)?;
    end(&all, worst, args)
}

/// The same for `import`, which tells of it in a document of its own form.
pub fn import(store: &StoreArgs, args: &args::Record, out: &mut Out) -> Result<()> {
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

/// Records all files, and says what went wrong first. With `attached` others may ask meanwhile.
fn record_all(
    store: &StoreArgs,
    args: &args::Record,
    attached: bool,
    out: &mut Out,
) -> Result<(Outcome, Option<Failure>)> {
    // Nothing is made where nothing can be read.
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
                // With several files the rest goes on; each failure is said where it happens.
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

fn end(all: &Outcome, worst: Option<Failure>, args: &args::Record) -> Result<()> {
    match worst {
        Some(failure) if args.files.len() > 1 => Err(Failure::said(failure.code())),
        Some(failure) => Err(failure),
        None if !all.is_whole() => Err(left_out(all, args)),
        None => Ok(()),
    }
}

fn one(
    engine: &Engine,
    args: &args::Record,
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
    /// The task an input without tasks of its own is recorded into.
    fn task_id(&self) -> String {
        let named = self.args.task.clone().or_else(|| self.stem.clone());
        named.unwrap_or_else(|| {
            let now = time(SystemClock.now_us());
            format!("stdin-{}", now.replace([':', '-'], ""))
        })
    }
}

/// Who runs the command, as far as the environment tells.
pub fn current_user() -> String {
    let named = ["USER", "USERNAME"].iter().filter_map(|name| std::env::var(name).ok());
    named.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "local".into())
}

/// Says on standard output that an event is durable.
fn acknowledge(durable: Durable, out: &mut Out) -> Result<()> {
    let Durable { offset, hash } = durable;
    let said = out.json(&json!({"offset": big(offset), "hash": hash}));
    said.and_then(|()| out.flush()).map_err(|error| {
        Failure::new(format!("standard output failed after event {offset}: {error}"))
            .hint("events up to that one are recorded")
    })
}

/// Says on standard error that a line of an input cannot be recorded.
fn say_bad_line(input: &str, line: u64, why: &str) {
    let text = format!("{input}:{line}: {why}");
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(io::stderr().lock(), "{}", printable(&text));
}

fn left_out(outcome: &Outcome, args: &args::Record) -> Failure {
    let lines = count(outcome.bad_lines, "line");
    let checkpoints = count(outcome.bad_checkpoints, "checkpoint");
    let what = match (outcome.bad_lines, outcome.bad_checkpoints) {
        (_, 0) => lines,
        (0, _) => checkpoints,
        _ => format!("{lines} and {checkpoints}"),
    };
    let failure = Failure::new(format!("{what} could not be recorded")).code_of(UNMET);
    if args.strict {
        failure.hint("what stands before it is recorded; without --strict the rest goes on")
    } else if outcome.bad_lines == 0 {
        failure
            .hint("the others are recorded; what went on from these went on from those before them")
    } else if outcome.recorded.iter().any(|recorded| recorded.format == Format::ClaudeCode) {
        failure.hint("the other lines are recorded; with these corrected it is another session: import it under another name")
    } else {
        failure.hint("the other lines are recorded; correct these and record them alone")
    }
}

fn report(recorded: &[Recorded], args: &args::Record, out: &mut Out) -> Result<()> {
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
