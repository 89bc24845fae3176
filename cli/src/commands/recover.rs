//! `recover`: undoes interrupted restores of folders.

use milepost_api::{FolderAsked, JobAsked, JobResult, RecoverAsked, RecoveryForm};
use milepost_service::jobs::place;
use serde_json::{Value, json};

use super::workspace_args;
use crate::args;
use crate::backend::Backend;
use crate::backend::jobs::{self, Wording, absolute};
use crate::error::Result;
use crate::output::{JobBar, Out, printable, time_short};

pub fn run(source: &dyn Backend, args: &args::Recover, out: &mut Out) -> Result<()> {
    let task = match &args.task {
        Some(id) => Some(source.task(id)?.id),
        None => None,
    };
    let files = FolderAsked {
        folder: args.files.as_deref().map(absolute).transpose()?,
        choices: workspace_args::choices(&args.paths)?,
        anyway: args.anyway,
        dry_run: false,
    };
    let job = JobAsked::Recover(RecoverAsked { task, files, give_up: args.give_up });
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
