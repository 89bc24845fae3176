//! `recover`: undoes interrupted restores of folders.

use std::path::PathBuf;

use milepost_api::{FolderRequest, JobRequest, JobResult, RecoverRequest, RecoveryForm};
use milepost_service::jobs::place;
use serde_json::{Value, json};

use super::command::{CliCommand, Examples, Needs, Run};
use super::workspace_args;
use crate::args::Paths;
use crate::backend::Backend;
use crate::backend::jobs::{self, Wording, absolute};
use crate::error::Result;
use crate::output::{JobBar, Out, printable, time_short};

/// Take back interrupted restores of folders.
#[derive(Debug, clap::Args)]
pub struct RecoverArgs {
    /// Only restores of this task.
    pub task: Option<String>,
    /// The folder, if it was moved, or if the task or the store is not your own. Default: the
    /// folder in which the restore began.
    #[arg(long, alias = "dir", value_name = "DIR", requires = "task")]
    pub files: Option<PathBuf>,
    #[command(flatten)]
    pub paths: Paths,
    /// Accept the folder even if it is your home folder or contains it.
    #[arg(long, requires = "files")]
    pub anyway: bool,
    /// End the restore, and leave the folder as it is.
    #[arg(long, requires = "task", conflicts_with_all = ["files", "theirs", "keep_mine"])]
    pub give_up: bool,
}

impl CliCommand for RecoverArgs {
    const EXAMPLES: Examples = &[
        ("recover", "end interrupted restores"),
        ("recover run --give-up", "and leave the folder as it is"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::WRITES, run);
}

fn run(source: &dyn Backend, args: &RecoverArgs, out: &mut Out) -> Result<()> {
    let task = match &args.task {
        Some(id) => Some(source.task(id)?.id),
        None => None,
    };
    let files = FolderRequest {
        folder: args.files.as_deref().map(absolute).transpose()?,
        choices: workspace_args::choices(&args.paths)?,
        anyway: args.anyway,
        dry_run: false,
    };
    let job = JobRequest::Recover(RecoverRequest { task, files, give_up: args.give_up });
    let (form, failed) = match source.job(&job, JobBar::new(!out.json)) {
        Ok(JobResult::Recover(form)) => (form, None),
        Ok(_) => {
            return Err(jobs::no_such_result());
        }
        Err(mut failed) => {
            let result = failed.result.take();
            let wording = Wording { files: args.files.as_deref(), ..Wording::default() };
            let failure = failed.worded(&wording);
            match result.map(|result| *result) {
                Some(JobResult::Recover(form)) => (form, Some(failure)),
                _ => return Err(failure),
            }
        }
    };
    if out.json {
        let items: Vec<Value> = form.items.iter().map(document).collect();
        out.json(&items)?;
    } else if form.items.is_empty() {
        out.line("nothing is pending: no restore was interrupted")?;
    } else {
        for item in &form.items {
            out.line(line(item))?;
        }
    }
    failed.map_or(Ok(()), Err)
}

fn document(item: &RecoveryForm) -> Value {
    json!({
        "task": item.task,
        "restore": item.restore,
        "since": item.since,
        "folder": item.folder,
        "outcome": item.outcome,
    })
}

fn line(item: &RecoveryForm) -> String {
    let folder = item.folder.as_ref().map_or_else(
        || "an unknown folder".to_owned(),
        |folder| printable(&place(folder).display().to_string()).into_owned(),
    );
    let outcome = match item.outcome.as_str() {
        "undone" => "was undone",
        "given_up" => "was given up, and the folder left as it is",
        _ => "is still pending",
    };
    format!(
        "{}: the restore of {folder} that was begun at {} {outcome}",
        printable(&item.task),
        time_short(item.since_us.0)
    )
}
