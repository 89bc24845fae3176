//! `undo`: reverts the last restore of a task, with the folder if files were restored.

use std::path::PathBuf;

use milepost::{ErrorKind, LineageId};
use milepost_api::{JobRequest, RestoredForm, TaskForm, UndoRequest};

use super::command::{CliCommand, Examples, Needs, Run};
use super::left_files::Left;
use super::{restore, rewind, workspace_args};
use crate::args::FolderOptions;
use crate::backend::Backend;
use crate::backend::jobs::{self, Wording};
use crate::error::{Failure, Result};
use crate::output::{JobBar, Out, words};

/// Message of an undo of the state.
const DONE: &str = "the last restore or switch is undone";

/// Message of an undo with files, by the program that has the store open.
const WITH_FILES: &str = "the last restore is undone, with its files";

/// Undo the last restore of a task, and restore its folder if files were restored.
#[derive(Debug, clap::Args)]
pub struct UndoArgs {
    /// The task's id.
    pub task: String,
    /// The folder, if files were restored. Default: the one that the restore changed.
    #[arg(long, alias = "dir", value_name = "DIR")]
    pub files: Option<PathBuf>,
    #[command(flatten)]
    pub options: FolderOptions,
}

impl CliCommand for UndoArgs {
    const EXAMPLES: Examples = &[
        ("undo run", "take the last restore back"),
        ("undo run --dry-run", "what that would do with the files"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::WRITES, run);

    fn needs(&self, usual: Needs, _can_pick: bool) -> Needs {
        if self.options.dry_run { Needs::READS } else { usual }
    }
}

fn run(source: &dyn Backend, args: &UndoArgs, out: &mut Out) -> Result<()> {
    let had = source.task(&args.task)?;
    if !source.has_folders() {
        return elsewhere(source, &had, args, out);
    }
    let files = workspace_args::folder(args.files.as_deref(), &args.options)?;
    let job = JobRequest::Undo(UndoRequest { task: had.id.clone(), files });
    let wording = Wording { files: args.files.as_deref(), ..Wording::default() };
    let done = source.job(&job, JobBar::new(!out.json));
    let form = workspace_args::done(done, &wording, out)?;
    let plan = workspace_args::plan(&form)?;
    if form.restored.is_some() {
        rewind::after_undo(source, &had.id, had.active);
    }
    match (&plan, &form.restored) {
        (None, Some(restored)) => went(source, &had, restored, out),
        (_, None) => workspace_args::dry(&plan.unwrap_or_default(), out),
        (Some(plan), Some(restored)) => {
            let (name, left) = (words::encode(&had.id), had.active);
            let folder = workspace_args::shown(&form);
            let note = format!("the last restore is undone, with the files of {folder}");
            workspace_args::went(plan, restored, &note, &rolled_back(&name, left), out)
        }
    }
}

/// Undoes a restore of the state through a service on another machine.
fn elsewhere(source: &dyn Backend, had: &TaskForm, args: &UndoArgs, out: &mut Out) -> Result<()> {
    if args.files.is_some() || args.options.is_given() {
        return Err(jobs::on_another_machine("`undo` of files"));
    }
    let restored = source.undo(had).map_err(|failure| match failure.kind() {
        Some(ErrorKind::Invalid | ErrorKind::NotFound) => {
            let name = words::encode(&had.id);
            failure.hint(format!("`milepost lineages {name}` shows the lineages as they are"))
        }
        _ => failure,
    })?;
    went(source, had, &restored, out)
}

/// Prints the lineage that a task continues on after an undo.
fn went(
    source: &dyn Backend,
    had: &TaskForm,
    restored: &RestoredForm,
    out: &mut Out,
) -> Result<(), Failure> {
    let name = words::encode(&had.id);
    if restored.files.is_some() {
        let (left, hint) =
            (Left { lineage: had.active, files: None }, rolled_back(&name, had.active));
        return restore::print(restored, WITH_FILES, Some(&left), &hint, out);
    }
    let left = Left::of(source, had, restored, format!("{name}/{}", restored.lineage.id));
    let hint =
        format!("lineage {} stays: `milepost redo {name}` takes the undo back", left.lineage);
    restore::print(restored, DONE, Some(&left), &hint, out)
}

/// Returns the hint after an undo with files, which a redo does not take back.
fn rolled_back(name: &str, left: LineageId) -> String {
    format!("lineage {left} stays: `milepost rollback {name}/{left}` goes there again")
}
