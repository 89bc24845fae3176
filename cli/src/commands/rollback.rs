//! `rollback`, and `restore` with `--files`: back to a point with the folder.

use std::path::Path;

use milepost::{Engine, Point, Scope};

use super::{folder, forms, point};
use crate::args;
use crate::error::{Failure, Result};
use crate::output::{Out, printable};

/// What was asked for.
struct Asked<'a> {
    address: &'a str,
    files: Option<&'a Path>,
    how: &'a args::How,
    description: Option<&'a str>,
    scope: Scope,
}

pub fn run(engine: &Engine, args: &args::Rollback, out: &mut Out) -> Result<()> {
    let asked = Asked {
        address: &args.address,
        files: args.files.as_deref(),
        how: &args.how,
        description: args.description.as_deref(),
        scope: Scope::All,
    };
    go_back(engine, &asked, out)
}

/// `restore` of the files of a folder only.
pub fn files_only(
    engine: &Engine,
    args: &args::Restore,
    files: &Path,
    out: &mut Out,
) -> Result<()> {
    let asked = Asked {
        address: &args.address,
        files: Some(files),
        how: &args.how,
        description: args.description.as_deref(),
        scope: Scope::Files,
    };
    go_back(engine, &asked, out)
}

fn go_back(engine: &Engine, asked: &Asked<'_>, out: &mut Out) -> Result<()> {
    let to = point(engine, asked.address)?;
    let task = engine.task(&to.task)?;
    let capture = folder::captured_at(engine, &to)?.ok_or_else(|| no_files(asked.address))?;
    let workspace = folder::open(asked.files, Some(&capture))?;
    let choices = folder::choices(&asked.how.paths, asked.how.moved)?;
    if asked.how.dry_run {
        folder::none_pending(engine, &task)?;
        let plan = workspace.plan(engine, &to, &choices);
        return folder::dry(&plan.map_err(folder::failed)?, out);
    }
    folder::recover_first(engine, &task, &workspace, &choices, out)?;
    // What stands in the way is told in full before anything is recorded.
    let plan = workspace.plan(engine, &to, &choices);
    folder::check(&plan.map_err(folder::failed)?, out)?;
    let went = workspace.go_back(engine, &to, asked.scope, asked.description, &choices);
    let went = went.map_err(folder::failed)?;
    let hint = format!(
        "`milepost undo {}` takes this back",
        forms::encode(&to.task)
    );
    let note = note(&to, asked.scope, &folder::shown(&workspace));
    folder::went(&went, &note, &hint, out)
}

fn note(to: &Point, scope: Scope, folder: &str) -> String {
    let to = forms::address(&to.task, to.lineage, to.offset);
    match scope {
        Scope::Files => format!("the files of {folder} are back at {to}, the state stays"),
        _ => format!("back to {to}, with the files of {folder}"),
    }
}

fn no_files(address: &str) -> Failure {
    let address = printable(address);
    Failure::new(format!("no folder was captured before {address}")).hint(format!(
        "`milepost restore {address}` goes back to it and leaves the files"
    ))
}
