//! `capture`: the present content of a folder, for a task.

use std::path::{Path, PathBuf};

use milepost::ErrorKind;
use milepost_api::{CaptureRequest, CapturedForm, JobRequest, JobResult, LeftOutForm, LeftOutPath};
use serde_json::json;

use super::command::{CliCommand, Examples, Needs, Run};
use crate::args::ScanOptions;
use crate::backend::jobs::{self, JobFailed, Wording, absolute};
use crate::backend::{Backend, hints, recovery};
use crate::defaults;
use crate::error::{Failure, Result};
use crate::output::{JobBar, Out, count, grouped, note, printable, size, words};

/// Most files to name that were left out by size.
const NAMED: usize = 5;
use crate::store_locator::StoreArgs;

/// Capture a folder of files for a task.
#[derive(Debug, clap::Args)]
pub struct CaptureArgs {
    /// The folder.
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// The task that the files belong to. Default: the task named after the folder, started if
    /// there is none.
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Also mark a checkpoint with this label. It must not be all digits.
    #[arg(long)]
    pub label: Option<String>,
    #[command(flatten)]
    pub scan: ScanOptions,
}

impl CliCommand for CaptureArgs {
    const EXAMPLES: Examples = &[
        ("capture", "this folder, for the task of its name"),
        ("capture --task run work", "a folder, as part of a task"),
    ];
    const RUN: Run<Self> =
        Run::OnStore(Needs { creates: StoreArgs::is_missing, ..Needs::WRITES }, run);
}

fn run(source: &dyn Backend, args: &CaptureArgs, out: &mut Out) -> Result<()> {
    check_name(&args.folder, args.task.as_deref())?;
    let asked = JobRequest::Capture(CaptureRequest {
        folder: absolute(&args.folder)?,
        task: args.task.as_deref().map(|id| task_id(source, id)).transpose()?,
        user: Some(defaults::current_user()),
        label: args.label.clone(),
        options: args.scan.asked(),
    });
    let form = match source.job(&asked, JobBar::new(!out.json)) {
        Ok(JobResult::Capture(form)) => form,
        Ok(_) => return Err(jobs::no_such_result()),
        Err(failed) => return Err(worded(failed, args.label.is_some())),
    };
    recovery::tell(form.recovered.as_ref());
    if form.is_new {
        note(&hints::started(&form.task));
    }
    if let Some(left_out) = &form.left_out {
        tell_left_out(left_out);
    }
    if out.json {
        return print_json(&form, out);
    }
    match form.appended {
        Some(_) => out.line(line(&form))?,
        None => out.line("nothing changed")?,
    }
    if let (Some(id), Some(label)) = (form.checkpoint, &args.label) {
        out.line(format!("marked as `{}`", printable(label)))?;
        out.line(format!("checkpoint @{id}"))?;
    }
    Ok(())
}

/// Returns the id of a task, which may be percent-encoded as in an address. One that does not exist
/// is started under the id as given.
pub fn task_id(source: &dyn Backend, id: &str) -> Result<String> {
    match source.task(id) {
        Ok(task) => Ok(task.id),
        Err(failure) if failure.kind() == Some(ErrorKind::NotFound) => Ok(id.to_owned()),
        Err(failure) => Err(failure),
    }
}

/// Refuses a folder whose name no task can have, unless a task is named.
pub fn check_name(folder: &Path, task: Option<&str>) -> Result<()> {
    // A folder that is not there is reported by the job.
    let Ok(folder) = folder.canonicalize() else { return Ok(()) };
    if task.is_some() || folder.file_name().is_some_and(|name| name.to_str().is_some()) {
        return Ok(());
    }
    let text = format!("{} has no name that a task can have", folder.display());
    let failure = Failure::new(text).of_kind(ErrorKind::Invalid);
    Err(failure.hint("--task NAME names the task"))
}

/// Words the failure of a capture.
pub fn worded(failed: JobFailed, labelled: bool) -> Failure {
    if failed.remedy.is_some() {
        let wording = Wording { is_argument: true, ..Wording::default() };
        return failed.worded(&wording);
    }
    let failure = failed.failure;
    match failure.kind() {
        Some(ErrorKind::Invalid) if labelled && !failed.is_refused => failure
            .hint("a label is a name, as in `before-fix`, and the folder is one that you work in"),
        Some(ErrorKind::Invalid) if !failed.is_refused => {
            failure.hint("name a folder that you work in")
        }
        Some(ErrorKind::Unavailable) => failure
            .hint("nothing was recorded: mend what it says, or wait for the other, and ask again"),
        _ => failure,
    }
}

/// Prints what a capture left out for the first time, by the default list and by size.
pub fn tell_left_out(left_out: &LeftOutForm) {
    if !left_out.by_size.is_empty() {
        let named = left_out.by_size.iter().take(NAMED).map(|path| {
            let shown = path.path.to_string();
            format!("{} ({})", printable(&shown), size(path.bytes.0))
        });
        let mut named: Vec<String> = named.collect();
        let more = left_out.by_size.len().saturating_sub(NAMED);
        if more > 0 {
            named.push(format!("{more} more"));
        }
        note(&format!(
            "left out by size: {}; --max-file and --max-total capture larger files",
            named.join(", ")
        ));
    }
    if left_out.unread_index {
        note(
            "git's index cannot be read: what git tracks is left out where the default list or a \
             rule says so",
        );
    }
    if left_out.paths.0 == 0 {
        return;
    }
    let named = |path: &LeftOutPath| {
        let shown = path.path.to_string();
        format!("{} ({})", printable(&shown), size(path.bytes.0))
    };
    let mut named: Vec<String> = left_out.largest.iter().map(named).collect();
    let more = left_out.paths.0.saturating_sub(named.len() as u64);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let at_least = if left_out.more { "at least " } else { "" };
    note(&format!(
        "left out by default: {}, {at_least}{}: {}; `!NAME` in .milepostignore or \
         --no-default-ignores includes them",
        count(left_out.paths.0, "path"),
        size(left_out.bytes.0),
        named.join(", ")
    ));
}

fn print_json(form: &CapturedForm, out: &mut Out) -> Result<()> {
    Ok(out.json(&json!({
        "task": form.task,
        "folder": form.folder,
        "root": form.root,
        "appended": form.appended,
        "checkpoint": form.checkpoint,
        "files": form.files,
        "bytes": form.bytes,
        "read": form.read,
        "stored": form.stored,
        "skips": form.skips,
    }))?)
}

fn line(form: &CapturedForm) -> String {
    let mut line = format!(
        "captured {}, {}: {} read, {} stored",
        count(form.files.0, "file"),
        size(form.bytes.0),
        grouped(form.read.0),
        count(form.stored.0, "chunk")
    );
    if form.skips.0 > 0 {
        let (skips, task) = (grouped(form.skips.0), words::encode(&form.task));
        line.push_str(&format!(", {skips} left out (milepost files {task} --skips)"));
    }
    line
}
