//! `export`: writes one task or all tasks as a file of JSON Lines for `import`.
//!
//! ```text
//! line    the lines, and how they are read
//! text    how the lines are written
//! file    whole files, with counts and a digest
//! redact  redaction of secrets
//! ```

pub mod file;
pub mod line;
mod redact;
mod text;

use std::io;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use data_encoding::HEXLOWER;
use milepost::events::WorkspaceCaptured;
use milepost::ids::LogKind;
use milepost::transfer::{ExportBody, ExportItem};
use milepost::{Engine, ErrorKind, Header};
use serde_json::json;

use crate::atomic_file::WholeFile;
use crate::error::{Failure, Result};
use crate::output::{Out, bar, big, count, note};
use file::{Sink, Writer};
use line::{Big, Counts, ExportHeader};
use redact::Patterns;
use text::Redact;

/// Minimum number of events for a progress bar.
const LONG: u64 = 10_000;

#[derive(Debug, ClapArgs)]
pub struct Export {
    /// The task. Default: all tasks of the store.
    pub task: Option<String>,
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

/// Exports a task, or all tasks. `task` is the id in the store.
pub fn run(engine: &Engine, task: Option<String>, args: &Export, out: &mut Out) -> Result<()> {
    let tasks = match task {
        Some(task) => vec![task],
        None => engine.transfer().export(false)?.tasks()?,
    };
    check(engine, args, &tasks)?;
    let file = args.output.as_ref().filter(|path| *path != Path::new("-"));
    let Some(path) = file else {
        let written = write(engine, args, &tasks, !out.json, &mut |bytes| out.bytes(bytes));
        return written.map(|_| ());
    };
    let counts = to_file(engine, args, &tasks, path, !out.json)?;
    let Counts { events, chunks, .. } = counts;
    if out.json {
        return Ok(out.json(&json!({
            "file": path.display().to_string(),
            "tasks": tasks,
            "events": big(events.0),
            "chunks": big(chunks.0),
        }))?);
    }
    let (tasks, events) = (count(tasks.len() as u64, "task"), count(events.0, "event"));
    let chunks = count(chunks.0, "chunk");
    Ok(out.line(format!("exported {tasks}: {events}, {chunks}"))?)
}

/// Checks that all tasks can be exported, before anything is written.
fn check(engine: &Engine, args: &Export, tasks: &[String]) -> Result<()> {
    let export = engine.transfer().export(args.files)?;
    for task in tasks {
        if args.redact {
            check_redact(engine, task)?;
        }
        let checked = export.check(task);
        checked.map_err(|error| match error.kind() {
            ErrorKind::Invalid => Failure::from(error).hint("--files takes its files along"),
            _ => Failure::from(error),
        })?;
    }
    Ok(())
}

/// Refuses a task with texts that cannot be redacted.
fn check_redact(engine: &Engine, task: &str) -> Result<()> {
    let lineages = engine.task(task)?.lineages()?;
    let Some(trimmed) = lineages.iter().find(|lineage| lineage.begin > 0) else {
        return Ok(());
    };
    let (lineage, begin) = (trimmed.id, trimmed.begin);
    Err(Failure::new(format!(
        "task `{task}` cannot be redacted: lineage {lineage} was trimmed at offset {begin}, \
         and what stands for its beginning is no text"
    ))
    .hint("export it without --redact, or export the other tasks one by one"))
}

/// Exports into a file, which appears when it is complete.
fn to_file(
    engine: &Engine,
    args: &Export,
    tasks: &[String],
    path: &Path,
    shown: bool,
) -> Result<Counts> {
    let failed = |error: io::Error| {
        Failure::new(format!("{}: {error}", path.display()))
            .hint("give a file in a folder that is there and may be written to")
    };
    let mut file = WholeFile::begin(path).map_err(failed)?;
    match write(engine, args, tasks, shown, &mut |bytes| {
        // The broken pipe of an output file is an error, unlike that of standard output.
        let named = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
        file.write(bytes).map_err(named)
    }) {
        Ok(counts) => file.end().map_err(failed).map(|()| counts),
        Err(failure) => {
            file.take_back();
            Err(failure)
        }
    }
}

fn write(
    engine: &Engine,
    args: &Export,
    tasks: &[String],
    shown: bool,
    sink: &mut Sink<'_>,
) -> Result<Counts> {
    let patterns = match args.redact {
        true => {
            let patterns = Patterns::new(milepost::internals::new_secret()?);
            Some(patterns.map_err(|error| Failure::bug(error.to_string()))?)
        }
        false => None,
    };
    let redact = patterns.as_ref().map(|patterns| patterns as &dyn Redact);
    let header = ExportHeader {
        milepost_export: line::VERSION,
        tasks: Big(tasks.len() as u64),
        files: args.files,
        redacted: args.redact,
        key: engine.store().key_id().map(|id| HEXLOWER.encode(&id)),
    };
    let mut all = 0;
    for task in tasks {
        all += engine.task(task)?.info()?.events;
    }
    let bar = bar(all, "export", all >= LONG && shown, false);
    let mut captured = 0;
    let mut writer = Writer::begin(sink, &header, redact)?;
    let mut export = engine.transfer().export(args.files)?;
    let done = tasks.iter().try_for_each(|task| {
        export.task(task, &mut |carried| -> Result<()> {
            if let ExportItem::Event(event) = &carried {
                captured += u64::from(is_capture(event));
                bar.inc(u64::from(event.log != LogKind::Control));
            }
            Ok(writer.take(&carried)?)
        })
    });
    bar.finish_and_clear();
    done?;
    let counts = writer.end()?;
    if captured > 0 && !args.files && !args.redact {
        let captures = count(captured, "captured folder");
        note(&format!(
            "{captures} without files: it comes in as a copy only (`milepost import --as`); \
             --files takes them along"
        ));
    }
    Ok(counts)
}

fn is_capture(event: &milepost::transfer::ExportEvent) -> bool {
    let kind = || Header::decode(&event.header).map(|header| header.kind);
    let is_there = !matches!(event.body, ExportBody::Erased(_));
    event.log != LogKind::Control
        && is_there
        && kind().is_ok_and(|kind| kind == WorkspaceCaptured::KIND)
}
