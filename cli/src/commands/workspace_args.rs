//! Functions that the commands which restore a folder share: the folder, choices for its paths, and
//! output.

use std::path::Path;

use milepost_api::{ChoicesAsked, FilesForm, FolderAsked, JobResult, RestoredForm, plan_of_files};
use milepost_jobs::place;
use milepost_workspace::{ConflictWhy, PathBytes, PathConflict, Plan};
use serde_json::{Value, json};

use super::{captured_files, restore};
use crate::args;
use crate::backend::jobs::{self, CHOOSE, JobFailed, Wording, absolute};
use crate::backend::recovery;
use crate::error::Result;
use crate::output::{Out, count, printable, printable_lines};

/// Returns the choices of the arguments.
pub fn choices(paths: &args::Paths) -> Result<ChoicesAsked> {
    let parsed = |paths: &[std::ffi::OsString]| {
        paths.iter().map(|path| captured_files::tree_path(path)).collect::<Result<Vec<_>>>()
    };
    let (theirs, keep_mine) = (parsed(&paths.theirs)?, parsed(&paths.keep_mine)?);
    Ok(ChoicesAsked { theirs, keep_mine, ..ChoicesAsked::default() })
}

/// Returns the folder of the arguments, and the choices for its paths.
pub fn folder(files: Option<&Path>, options: &args::FolderOptions) -> Result<FolderAsked> {
    let choices = choices(&options.paths)?;
    let (moved, take_ignored) = (options.moved, options.take_ignored);
    Ok(FolderAsked {
        folder: files.map(absolute).transpose()?,
        choices: ChoicesAsked { moved, take_ignored, ..choices },
        anyway: options.anyway,
        dry_run: options.dry_run,
    })
}

/// Returns the result of a job that restores a folder. A failure has its hint; one by conflicts
/// prints the plan before.
pub fn done(
    done: Result<JobResult, JobFailed>,
    wording: &Wording<'_>,
    out: &mut Out,
) -> Result<FilesForm> {
    match done {
        Ok(JobResult::Restore(form) | JobResult::Undo(form)) => {
            recovery::tell(form.recovered.as_ref());
            Ok(form)
        }
        Ok(_) => Err(jobs::no_such_result()),
        Err(failed) => {
            let plan = match failed.result.as_deref() {
                Some(JobResult::Restore(form) | JobResult::Undo(form)) => {
                    recovery::tell(form.recovered.as_ref());
                    plan(form)?
                }
                _ => None,
            };
            let Some(plan) = plan.filter(|plan| !plan.conflicts.is_empty()) else {
                return Err(failed.worded(wording));
            };
            match out.json {
                true => out.json(&form(&plan, Value::Null, &[]))?,
                false => print(&plan, out)?,
            }
            // A conflict of the whole folder has to be resolved first.
            let whole = plan.conflicts.iter().find(|it| it.path.is_none());
            let first = whole.or(plan.conflicts.first());
            Err(failed.failure.hint(first.map_or(CHOOSE, way_out)))
        }
    }
}

/// Returns the plan of a result, if it has a folder.
pub fn plan(form: &FilesForm) -> Result<Option<Plan>> {
    Ok(form.files.clone().map(plan_of_files).transpose()?)
}

/// Returns the folder of a result, for messages.
pub fn shown(form: &FilesForm) -> String {
    let folder = form.folder.as_ref().map(|folder| place(folder).display().to_string());
    printable(&folder.unwrap_or_default()).into_owned()
}

fn way_out(conflict: &PathConflict) -> &'static str {
    match conflict.why {
        ConflictWhy::OtherFolder => {
            "`--moved` says that it is the folder that was captured; `--files DIR` names another \
             one"
        }
        ConflictWhy::Locked => "wait for the other, or end it, and ask again",
        ConflictWhy::Space => "make room on the folder's disk, and ask again",
        ConflictWhy::Denied => "give yourself leave to write to it, and ask again",
        ConflictWhy::Missing | ConflictWhy::Case => {
            "`--keep-mine PATH` leaves what is there; `milepost repair --dry-run` says what is \
             damaged"
        }
        _ => CHOOSE,
    }
}

/// Prints a plan line by line.
pub fn print(plan: &Plan, out: &mut Out) -> Result<()> {
    for line in plan.to_string().lines() {
        out.line(printable_lines(line))?;
    }
    if plan.is_empty() && plan.conflicts.is_empty() {
        out.line(match plan.left.is_empty() {
            true => "the files are as they were then",
            false => "what the run changed is as it was then",
        })?;
    }
    Ok(())
}

/// Returns a plan and its result as JSON.
fn form(plan: &Plan, lineage: Value, kept: &[PathBytes]) -> Value {
    json!({ "plan": plan, "lineage": lineage, "kept": kept })
}

/// Prints a plan, and that nothing was done.
pub fn dry(plan: &Plan, out: &mut Out) -> Result<()> {
    if out.json {
        return Ok(out.json(&form(plan, Value::Null, &[]))?);
    }
    print(plan, out)?;
    Ok(out.line("this was a dry run: nothing was done")?)
}

/// Prints a finished restore.
pub fn went(
    plan: &Plan,
    restored: &RestoredForm,
    note: &str,
    hint: &str,
    out: &mut Out,
) -> Result<()> {
    let kept = restored.kept.as_deref().unwrap_or_default();
    if out.json {
        return Ok(out.json(&form(plan, restore::form(restored)?, kept))?);
    }
    print(plan, out)?;
    if !kept.is_empty() {
        let number = count(kept.len() as u64, "file");
        out.line(format!("{number} changed by others, and kept:"))?;
        for path in kept {
            out.line(format!("  {path}"))?;
        }
    }
    restore::lines(restored, note, &[hint], out)
}
