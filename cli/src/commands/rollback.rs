//! `rollback`, and `restore` with `--files`: back to a point with the folder.

use std::path::{Path, PathBuf};

use milepost::Scope;
use milepost_api::{FilesRequest, JobRequest, PointForm};

use super::command::{CliCommand, Examples, Needs, Run};
use super::workspace_args;
use crate::args::GoingBack;
use crate::backend::jobs::Wording;
use crate::backend::{Backend, named};
use crate::error::Result;
use crate::output::{JobBar, Out, words};

/// Go back to a point with the folder: restore state and files together, or neither.
#[derive(Debug, clap::Args)]
pub struct RollbackArgs {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// The folder. Default: the captured one, if it exists.
    #[arg(long, alias = "dir", value_name = "DIR")]
    pub files: Option<PathBuf>,
    #[command(flatten)]
    pub back: GoingBack,
}

impl CliCommand for RollbackArgs {
    const EXAMPLES: Examples = &[
        ("rollback run@good", "state and files together"),
        ("rollback run@good --dry-run", "only what would be done"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::WRITES, run);

    fn needs(&self, usual: Needs, _can_pick: bool) -> Needs {
        if self.back.options.dry_run { Needs::READS } else { usual }
    }
}

pub fn run(source: &dyn Backend, args: &RollbackArgs, out: &mut Out) -> Result<()> {
    go_back(source, (&args.address, &args.back), args.files.as_deref(), Scope::All, out)
}

/// Restores only the files of a folder, for `restore --files`.
pub fn files_only(
    source: &dyn Backend,
    asked: (&str, &GoingBack),
    files: &Path,
    out: &mut Out,
) -> Result<()> {
    go_back(source, asked, Some(files), Scope::Files, out)
}

fn go_back(
    source: &dyn Backend,
    (address, asked): (&str, &GoingBack),
    files: Option<&Path>,
    scope: Scope,
    out: &mut Out,
) -> Result<()> {
    let to = source.point(address)?;
    let mut folder = workspace_args::folder(files, &asked.options)?;
    folder.choices.leave_others = asked.leave_others;
    let job = JobRequest::Restore(FilesRequest {
        to: named(&to),
        scope,
        files: folder,
        description: asked.description.clone(),
    });
    let wording = Wording { address: Some(address), files, ..Wording::default() };
    let done = source.job(&job, JobBar::new(!out.json));
    let form = workspace_args::done(done, &wording, out)?;
    let plan = workspace_args::plan(&form)?.unwrap_or_default();
    let Some(restored) = &form.restored else {
        return workspace_args::dry(&plan, out);
    };
    let hint = format!("`milepost undo {}` takes this back", words::encode(&to.task));
    let note = note(&to, scope, &workspace_args::shown(&form));
    workspace_args::went(&plan, restored, &note, &hint, out)
}

fn note(to: &PointForm, scope: Scope, folder: &str) -> String {
    let to = words::address(&to.task, to.lineage, to.offset.0);
    match scope {
        Scope::Files => format!("the files of {folder} are back at {to}, the state stays"),
        _ => format!("back to {to}, with the files of {folder}"),
    }
}
