//! `rollback`, and `restore` with `--files`: back to a point with the folder.

use std::path::Path;

use milepost::{Engine, Point, Scope};

use super::workspace_args;
use crate::args;
use crate::backend::{folders, hints, recovery};
use crate::error::{Failure, Result};
use crate::output::{Out, printable, words};

pub fn run(engine: &Engine, args: &args::Rollback, out: &mut Out) -> Result<()> {
    go_back(engine, &args.back, args.files.as_deref(), Scope::All, out)
}

/// Restores only the files of a folder, for `restore --files`.
pub fn files_only(
    engine: &Engine,
    asked: &args::GoingBack,
    files: &Path,
    out: &mut Out,
) -> Result<()> {
    go_back(engine, asked, Some(files), Scope::Files, out)
}

fn go_back(
    engine: &Engine,
    asked: &args::GoingBack,
    files: Option<&Path>,
    scope: Scope,
    out: &mut Out,
) -> Result<()> {
    let to = hints::point(engine, &asked.address)?;
    let task = engine.task(&to.task)?;
    let capture =
        workspace_args::captured_at(engine, &to)?.ok_or_else(|| no_files(&asked.address))?;
    let workspace =
        workspace_args::open((engine, &to.task), files, Some(&capture), asked.options.anyway)?;
    let choices = workspace_args::choices(&asked.options.paths, asked.options.moved)?;
    let choices = match asked.options.take_ignored {
        true => choices.take_ignored(),
        false => choices,
    };
    if asked.options.dry_run {
        recovery::none(engine, &task)?;
        let plan = workspace.plan(engine, &to, &choices);
        return workspace_args::dry(&plan.map_err(folders::failed)?, out);
    }
    recovery::recover(engine, &task, Some((&workspace, &choices)))?;
    recovery::none(engine, &task)?;
    // All conflicts are printed before anything is recorded.
    let plan = workspace.plan(engine, &to, &choices);
    workspace_args::check(&plan.map_err(folders::failed)?, out)?;
    let description = asked.description.as_deref();
    let went = workspace.restore(engine, &to, scope, description, &choices);
    let went = went.map_err(folders::failed)?;
    let hint = format!("`milepost undo {}` takes this back", words::encode(&to.task));
    let note = note(&to, scope, &folders::shown(&workspace));
    workspace_args::went(&went, &note, &hint, out)
}

fn note(to: &Point, scope: Scope, folder: &str) -> String {
    let to = words::address(&to.task, to.lineage, to.offset);
    match scope {
        Scope::Files => format!("the files of {folder} are back at {to}, the state stays"),
        _ => format!("back to {to}, with the files of {folder}"),
    }
}

fn no_files(address: &str) -> Failure {
    let address = printable(address);
    Failure::new(format!("no folder was captured before {address}"))
        .hint(format!("`milepost restore {address}` goes back to it and leaves the files"))
}
