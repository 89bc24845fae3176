//! `import`: restores exports, and turns folders of JSON checkpoint files and runs of other
//! programs into tasks.
//!
//! ```text
//! given     the kind of a path: export, checkpoint folder or runs
//! exported  exports
//! (record)  runs of other programs
//!
//! folder    the checkpoint files of a folder
//! file      one checkpoint file: reading and checks
//! goal      the state in a file, and the events that lead to it
//! plan      the checkpoints of each task, in order
//! write     plans written to the store
//! ```
//!
//! A file becomes one batch of events, durable together, and a mark:
//!
//! ```text
//! execution_id           the task
//! step_index, step_name  StepStarted; the name is the mark's label if it is valid as one
//! variables, context     VariablesPatched, ContextChanged, if they differ from the state before
//! state                  ArtifactsEdited: the artifact `state`
//! status, error          StepFinished or StepFailed; the mark's status
//! id, metadata           the mark's alias and metadata
//! timestamp              the time of the events and the mark
//! everything else        Application `checkpoint_file`
//! ```

mod exported;
mod file;
mod folder;
mod given;
mod goal;
mod plan;
mod write;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use milepost::Options;
use serde_json::{Value, json};

use crate::error::{Failure, Result};
use crate::output::{Out, bar, big, count, printable};
use crate::record::{self, Format, Record, current_user};
use crate::store_locator::{StoreArgs, attach};
use given::Given;
use plan::TaskPlan;
use write::Written;

/// Minimum number of files for a progress bar.
const LONG: u64 = 200;
/// Maximum size of an event: a file's largest field, and the patch around it.
const EVENT_MAX: usize = file::FILE_MAX as usize + 4096;

#[derive(Debug, ClapArgs)]
pub struct Import {
    /// A file of `export`, or `-` for standard input; a folder: a project with
    /// `persistence/checkpoint/`, its `persistence` folder, a folder of ckpt-*.json files, or one
    /// with sessions of Claude Code; or a file that `record` reads.
    #[arg(value_name = "FILE|FOLDER")]
    pub from: PathBuf,
    /// For an export of one task: import it as a copy under this name, with hashes of its own. For
    /// a run of another program: the name of its task.
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// The owner of the tasks. An export names its own. Default: the current user.
    #[arg(long)]
    pub user: Option<String>,
    /// The format of runs of other programs.
    #[arg(long, default_value = "auto")]
    pub format: Format,
    /// Stop at the first line that cannot be read.
    #[arg(long)]
    pub strict: bool,
}

/// A file that was not imported.
#[derive(Debug)]
pub struct Skipped {
    pub path: String,
    pub reason: String,
}

impl Skipped {
    pub fn new(path: &Path, reason: impl Into<String>) -> Self {
        Self { path: path.display().to_string(), reason: reason.into() }
    }
}

pub fn run(store: &StoreArgs, args: &Import, out: &mut Out) -> Result<()> {
    let files = match given::look(&args.from, args.format)? {
        Given::Export(input) => return exported::run(store, args, input, out),
        Given::Runs(files) => return runs(store, args, files, out),
        Given::Checkpoints => folder::files(&folder::find(&args.from)?)?,
    };
    if args.name.is_some() {
        return Err(Failure::new("--as is for an export, or for one run of another program")
            .hint("of a folder each execution becomes a task of its name"));
    }
    let count = files.len() as u64;
    let mut skipped = Vec::new();
    let mut skip = |file: Skipped| {
        say(&file);
        skipped.push(file);
    };
    let reading = bar(count, "read", count >= LONG && !out.json, false);
    let plans = plan::plans(&files, &mut skip, &|done| reading.inc(done));
    reading.finish_and_clear();
    let mut written = Vec::new();
    // Without anything to import, no store is created.
    let planned: u64 = plans.iter().map(TaskPlan::files).sum();
    let ends = args.strict && planned < count;
    let done = if plans.is_empty() || ends {
        Ok(())
    } else {
        let writing = bar(count, "import", count >= LONG && !out.json, false);
        let progress = |done| writing.inc(done);
        let done = write_all(store, args, &plans, &mut written, &mut skip, &progress);
        writing.finish_and_clear();
        done
    };
    if done.is_ok() || !written.is_empty() {
        report(&written, &skipped, out)?;
    }
    done?;
    if skipped.is_empty() {
        return Ok(());
    }
    Err(some_skipped(skipped.len()))
}

/// Imports runs of other programs, with the code of `record`.
fn runs(store: &StoreArgs, args: &Import, files: Vec<PathBuf>, out: &mut Out) -> Result<()> {
    if args.name.is_some() && files.len() > 1 {
        let sessions = count(files.len() as u64, "session");
        return Err(Failure::new(format!("--as names one task, and there are {sessions}"))
            .hint("import it without --as, or one session alone"));
    }
    let record = Record {
        files,
        task: args.name.clone(),
        user: args.user.clone(),
        format: args.format,
        strict: args.strict,
        ack: false,
        event_max: EVENT_MAX,
    };
    record::import(store, &record, out)
}

fn write_all(
    store: &StoreArgs,
    args: &Import,
    plans: &[TaskPlan],
    written: &mut Vec<Written>,
    skip: &mut dyn FnMut(Skipped),
    progress: &dyn Fn(u64),
) -> Result<()> {
    let user = args.user.clone().unwrap_or_else(current_user);
    let engine = store.open_or_create_with_hooks(Options::default().event_max(EVENT_MAX))?;
    let attached = attach(&engine);
    let mut done = Ok(());
    for plan in plans {
        let mut all = true;
        let mut skip = |file: Skipped| {
            all = false;
            skip(file);
        };
        match write::write(&engine, &user, plan, &mut skip, progress) {
            Ok(task) => {
                written.extend(task);
                if args.strict && !all {
                    break;
                }
            }
            Err(failure) => {
                done = Err(failure);
                break;
            }
        }
    }
    drop(attached);
    let closed = engine.close();
    done?;
    Ok(closed?)
}

/// Reports a file that is not imported on standard error.
fn say(file: &Skipped) {
    let text = format!("{}: {}", file.path, file.reason);
    // If standard error is closed, the report is lost.
    let _ = writeln!(io::stderr().lock(), "{}", printable(&text));
}

fn some_skipped(skipped: usize) -> Failure {
    let files = count(skipped as u64, "file");
    Failure::new(format!("{files} could not be imported"))
        .hint("mend them and import the folder again: what is in already stays as it is")
}

fn report(written: &[Written], skipped: &[Skipped], out: &mut Out) -> Result<()> {
    if out.json {
        let tasks: Vec<Value> = written.iter().map(form).collect();
        let skipped: Vec<Value> =
            skipped.iter().map(|file| json!({"path": file.path, "reason": file.reason})).collect();
        return Ok(out.json(&json!({"tasks": tasks, "skipped": skipped}))?);
    }
    if written.is_empty() {
        return Ok(());
    }
    let row = |w: &Written| {
        vec![
            printable(&w.task).into_owned(),
            w.events.to_string(),
            w.checkpoints.to_string(),
            w.repeated.to_string(),
            format!("@{}", w.head),
        ]
    };
    let rows: Vec<Vec<String>> = written.iter().map(row).collect();
    Ok(out.table(&["TASK", "EVENTS", "CHECKPOINTS", "REPEATED", "HEAD"], &rows)?)
}

fn form(written: &Written) -> Value {
    json!({
        "id": written.task,
        "format": "checkpoints",
        "events": big(written.events),
        "checkpoints": big(written.checkpoints),
        "repeated": big(written.repeated),
        "head": big(written.head),
    })
}
