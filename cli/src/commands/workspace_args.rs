//! Functions that the commands which restore a folder share: the folder, choices for its paths, and
//! output.

use std::collections::BTreeMap;
use std::path::Path;

use milepost_api::{ChoicesRequest, FilesForm, FolderRequest, JobResult, RestoredForm};
use milepost_service::forms;
use milepost_service::jobs::place;
use milepost_workspace::{ConflictWhy, PathConflict, Plan, Way};
use serde_json::{Value, json};

use super::{captured_files, restore};
use crate::args;
use crate::backend::jobs::{self, JobFailed, Wording, absolute};
use crate::backend::recovery;
use crate::error::Result;
use crate::output::{Out, note, printable, printable_lines};

/// Returns the choices of the arguments.
pub fn choices(paths: &args::Paths) -> Result<ChoicesRequest> {
    let parsed = |paths: &[std::ffi::OsString]| {
        paths.iter().map(|path| captured_files::tree_path(path)).collect::<Result<Vec<_>>>()
    };
    let (theirs, keep_mine) = (parsed(&paths.theirs)?, parsed(&paths.keep_mine)?);
    Ok(ChoicesRequest { theirs, keep_mine, ..ChoicesRequest::default() })
}

/// Returns the folder of the arguments, and the choices for its paths.
pub fn folder(files: Option<&Path>, options: &args::FolderOptions) -> Result<FolderRequest> {
    let choices = choices(&options.paths)?;
    let (moved, take_ignored) = (options.moved, options.take_ignored);
    Ok(FolderRequest {
        folder: files.map(absolute).transpose()?,
        choices: ChoicesRequest { moved, take_ignored, ..choices },
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
            if let Some(first) = recovery::first(&form) {
                note(&first);
            }
            Ok(form)
        }
        Ok(_) => Err(jobs::no_such_result()),
        Err(failed) => {
            let failed_form = failed.result.as_ref().and_then(|result| result.restore());
            recovery::tell(failed_form.and_then(|form| form.recovered.as_ref()));
            let plan = failed_form.map(plan).transpose()?.flatten();
            let Some(plan) = plan.filter(|plan| !plan.conflicts.is_empty()) else {
                return Err(failed.worded(wording));
            };
            match out.json {
                true => out.json(&form(&plan, Value::Null))?,
                false => lines(&plan, out)?,
            }
            Err(failed.failure.hint(way_out(&plan.conflicts)))
        }
    }
}

/// Returns the plan of a result, if it has a folder.
pub fn plan(form: &FilesForm) -> Result<Option<Plan>> {
    Ok(form.files.clone().map(forms::plan_of_files).transpose()?)
}

/// Returns the folder of a result, for messages.
pub fn shown(form: &FilesForm) -> String {
    let folder = form.folder.as_ref().map(|folder| place(folder).display().to_string());
    printable(&folder.unwrap_or_default()).into_owned()
}

/// Returns the hint for the conflicts of a plan: options that resolve them.
fn way_out(conflicts: &[PathConflict]) -> String {
    // A conflict of the whole folder has to be resolved first.
    if let Some(whole) = conflicts.iter().find(|conflict| conflict.path.is_none()) {
        return by_hand(whole).to_owned();
    }
    let mut groups: BTreeMap<&[Way], Vec<&PathConflict>> = BTreeMap::new();
    for conflict in conflicts {
        groups.entry(&conflict.ways).or_default().push(conflict);
    }
    let is_only = groups.len() == 1;
    let hints = groups.into_iter().filter_map(|(ways, conflicts)| {
        let first = conflicts.first()?;
        if ways.is_empty() {
            return Some(format!("{}: {}", path_of(first), by_hand(first)));
        }
        let more = conflicts.len() > 1;
        let options = ways.iter().map(|way| match more && is_only {
            true => worded(*way, &way.option(None), " PATH"),
            false => worded(*way, &way.option(first.path.as_ref()), ""),
        });
        let options = options.collect::<Vec<_>>().join(", ");
        Some(match (more, is_only) {
            (true, true) => format!("{options}; PATH may be a folder, for all below it"),
            (true, false) => format!("{options}, and so for {} more", conflicts.len() - 1),
            _ => options,
        })
    });
    hints.collect::<Vec<_>>().join("; ")
}

fn worded(way: Way, option: &str, path: &str) -> String {
    match way {
        Way::Theirs => format!("`{option}{path}` takes what was captured"),
        Way::KeepMine => format!("`{option}{path}` leaves what is there"),
        _ => format!("`{option}` says that it is the folder that was captured"),
    }
}

fn path_of(conflict: &PathConflict) -> String {
    conflict.path.as_ref().map_or_else(String::new, |path| path.to_string())
}

/// Returns what resolves a conflict that no option about its path does.
fn by_hand(conflict: &PathConflict) -> &'static str {
    match conflict.why {
        ConflictWhy::OtherFolder => {
            "`--moved` says that it is the folder that was captured; `--files DIR` names another \
             one"
        }
        ConflictWhy::Locked => "wait for the other, or end it, and ask again",
        ConflictWhy::Space => "make room on the folder's disk, and ask again",
        ConflictWhy::Denied => "give yourself leave to write to it, and ask again",
        _ => "decide about the folder as a whole, or about nothing in it",
    }
}

/// Prints a plan line by line, and its sentence.
pub fn print(plan: &Plan, out: &mut Out) -> Result<()> {
    lines(plan, out)?;
    Ok(out.line(printable(&plan.summary()))?)
}

fn lines(plan: &Plan, out: &mut Out) -> Result<()> {
    for line in plan.to_string().lines() {
        out.line(printable_lines(line))?;
    }
    Ok(())
}

/// Returns a plan and its result as JSON.
fn form(plan: &Plan, lineage: Value) -> Value {
    let summary = plan.summary();
    json!({ "plan": plan, "lineage": lineage, "kept": plan.kept, "summary": summary })
}

/// Prints a plan, and that nothing was done.
pub fn dry(plan: &Plan, out: &mut Out) -> Result<()> {
    if out.json {
        return Ok(out.json(&form(plan, Value::Null))?);
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
    if out.json {
        return Ok(out.json(&form(plan, restore::form(restored)?))?);
    }
    print(plan, out)?;
    restore::lines(restored, note, &[hint], out)
}
