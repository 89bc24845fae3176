//! `export`: writes one task or all tasks as a file of JSON Lines for `import`, or their
//! checkpoints as a folder of files.

use std::io;
use std::path::Path;

use milepost::Engine;
use milepost_formats::export_file::{self, Counts, ExportOptions, Exported, Sink};
use serde_json::json;

use super::checkpoint_export;
use super::conversion::Bars;
use crate::args::Export;
use crate::atomic_file::WholeFile;
use crate::error::{Failure, Result};
use crate::output::{Out, big, count, note};

/// The tasks to export, and their settings.
struct Job<'a> {
    engine: &'a Engine,
    tasks: &'a [String],
    options: ExportOptions,
}

/// Exports a task, or all tasks. `task` is the id in the store.
pub fn run(engine: &Engine, task: Option<String>, args: &Export, out: &mut Out) -> Result<()> {
    let tasks = match task {
        Some(task) => vec![task],
        None => engine.transfer().export(false)?.tasks()?,
    };
    if let Some(folder) = args.folder()? {
        return checkpoint_export::run(engine, &tasks, folder, args, out);
    }
    let options = ExportOptions { files: args.files, redact: args.redact };
    let job = Job { engine, tasks: &tasks, options };
    export_file::check(engine, &tasks, options)?;
    // No input is counted in bytes.
    let mut bars = Bars::new(0, out);
    let file = args.output.as_ref().filter(|path| *path != Path::new("-"));
    let Some(path) = file else {
        let exported = job.write(&mut bars, &mut |bytes| out.bytes(bytes))?;
        if args.redact {
            note(&redacted(exported));
        }
        return Ok(());
    };
    let exported = job.write_file(&mut bars, path)?;
    let Counts { events, chunks, .. } = exported.counts;
    if out.json {
        return Ok(out.json(&json!({
            "file": path.display().to_string(),
            "tasks": tasks,
            "events": big(events.0),
            "chunks": big(chunks.0),
            "redacted": args.redact.then(|| big(exported.redacted)),
        }))?);
    }
    let (tasks, events) = (count(tasks.len() as u64, "task"), count(events.0, "event"));
    let chunks = count(chunks.0, "chunk");
    out.line(format!("exported {tasks}: {events}, {chunks}"))?;
    match args.redact {
        true => Ok(out.line(redacted(exported))?),
        false => Ok(()),
    }
}

/// Returns the line about the replaced texts.
fn redacted(exported: Exported) -> String {
    match exported.redacted {
        0 => "redacted nothing: no text resembles a secret".to_owned(),
        texts => format!("redacted {}", count(texts, "text")),
    }
}

impl Job<'_> {
    /// Exports into a file, which appears when it is complete.
    fn write_file(&self, bars: &mut Bars, path: &Path) -> Result<Exported> {
        let failed = |error: io::Error| {
            Failure::new(format!("{}: {error}", path.display()))
                .hint("give a file in a folder that is there and may be written to")
        };
        let mut file = WholeFile::begin(path).map_err(failed)?;
        match self.write(bars, &mut |bytes| {
            // The broken pipe of an output file is an error, unlike that of standard output.
            let named = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
            file.write(bytes).map_err(named)
        }) {
            Ok(exported) => file.end().map_err(failed).map(|()| exported),
            Err(failure) => {
                file.take_back();
                Err(failure)
            }
        }
    }

    fn write(&self, bars: &mut Bars, sink: &mut Sink<'_>) -> Result<Exported> {
        let Self { engine, tasks, options } = *self;
        let exported = export_file::export(engine, tasks, options, sink, bars)?;
        if exported.captures > 0 {
            let captures = count(exported.captures, "captured folder");
            note(&format!(
                "{captures} without files: it comes in as a copy only (`milepost import FILE --as \
                 NAME`); \
                 --files takes them along"
            ));
        }
        Ok(exported)
    }
}
