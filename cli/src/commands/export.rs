//! `export`: writes one task or all tasks as a file of JSON Lines for `import`, or their
//! checkpoints as a folder of files.

use std::io;
use std::path::{Path, PathBuf};

use milepost::Engine;
use milepost_formats::export_file::{self, Counts, ExportOptions, Exported, Sink};
use serde_json::json;

use super::checkpoint_export;
use super::command::{CliCommand, Examples, Needs, Run};
use super::conversion::Bars;
use super::on_store::needed;
use crate::atomic_file::WholeFile;
use crate::backend::{Backend, hints};
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, big, count, note};

/// The tasks to export, and their settings.
struct Job<'a> {
    engine: &'a Engine,
    tasks: &'a [String],
    options: ExportOptions,
}

/// Export one task, or all tasks, as one file that another store imports.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
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

impl CliCommand for ExportArgs {
    const EXAMPLES: Examples = &[
        ("export run -o run.jsonl", "a task as one file"),
        ("export --files -o all.jsonl", "all tasks, with the files they captured"),
        ("export run --redact", "without what looks like a secret"),
        ("export run old/ --format checkpoints", "a JSON file for each checkpoint"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs { store: true, attached: true, ..Needs::READS }, run);
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportFormat {
    /// One file, identical in the store that imports it.
    Export,
    /// A folder with a JSON file for each checkpoint, as engines save them.
    Checkpoints,
}

impl ExportArgs {
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

/// Exports a task, or all tasks.
fn run(source: &dyn Backend, args: &ExportArgs, out: &mut Out) -> Result<()> {
    let engine = needed(source, "`export`")?;
    let tasks = match args.task()? {
        Some(task) => vec![hints::task_id(engine, task)?],
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
