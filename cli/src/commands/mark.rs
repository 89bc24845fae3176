//! `mark`: a checkpoint at a point.

use milepost::events::MarkStatus;
use milepost::{ErrorKind, Json};
use milepost_api::{MarkRequest, PointForm};
use serde_json::Value;

use super::command::{CliCommand, Examples, Needs, Run};
use crate::backend::{Backend, hints};
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, excerpt, note, printable, words};
use crate::store_locator::{self, StoreArgs};

/// Mark a checkpoint at a point.
#[derive(Debug, clap::Args)]
#[command(allow_missing_positional = true)]
pub struct MarkArgs {
    /// The address of the point; see `milepost --help`. Default: the head of the task named after
    /// this folder or the nearest one above it in the project; if there is none, a task for this
    /// folder is started.
    pub address: Option<String>,
    /// The label. It must not be all digits.
    pub label: String,
    /// An id that another system uses for the checkpoint: `@ALIAS` is its address. May be given
    /// more than once.
    #[arg(long)]
    pub alias: Vec<String>,
    /// The status of the work up to the point.
    #[arg(long, default_value = "success")]
    pub status: Status,
    /// Metadata for `checkpoints --where`, as a JSON object.
    #[arg(long, value_name = "JSON")]
    pub metadata: Option<String>,
}

impl CliCommand for MarkArgs {
    const EXAMPLES: Examples = &[
        ("mark good", "the head of the task of this folder"),
        ("mark run good", "the head of a task, as `run@good` from now on"),
        ("mark run@17 before-it-broke --status failure", "an earlier point"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::WRITES, run);

    fn needs(&self, usual: Needs, _can_pick: bool) -> Needs {
        match self.address {
            Some(_) => usual,
            None => Needs { creates: StoreArgs::is_missing, ..usual },
        }
    }
}

/// Status of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Status {
    Success,
    Failure,
}

impl From<Status> for MarkStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Success => Self::Success,
            Status::Failure => Self::Failure,
        }
    }
}

fn run(source: &dyn Backend, args: &MarkArgs, out: &mut Out) -> Result<()> {
    let point = match &args.address {
        Some(address) => source.point(address)?,
        None => {
            check_is_no_task(source, &args.label)?;
            source.point(&words::encode(&default_task(source)?))?
        }
    };
    let metadata = args.metadata.as_deref().map(metadata).transpose()?;
    let asked = MarkRequest {
        label: Some(args.label.clone()),
        aliases: args.alias.clone(),
        status: Some(args.status.into()),
        metadata,
        cause: None,
    };
    let before = if out.json { None } else { labelled(source, &point, &args.label) };
    let checkpoint = source.mark(&point, asked)?;
    if out.json {
        return Ok(out.json(&checkpoint)?);
    }
    let at = checkpoint.at.0;
    let place = words::address(&checkpoint.task, checkpoint.lineage, at);
    out.line(printable(&format!("marked {place} as `{}`", args.label)))?;
    if let Some(before) = before.filter(|before| *before != at) {
        let moved = format!("label `{}` moved from @{before} to @{at}", args.label);
        out.line(printable(&moved))?;
    }
    Ok(out.line(format!("checkpoint @{}", checkpoint.id))?)
}

/// Returns the offset that a label names on the lineage of a point, if it is used there.
fn labelled(source: &dyn Backend, point: &PointForm, label: &str) -> Option<u64> {
    let (task, lineage) = (words::encode(&point.task), point.lineage);
    let found = source.point(&format!("{task}/{lineage}@{}", words::encode(label)));
    found.ok().map(|point| point.offset.0)
}

/// Parses metadata.
fn metadata(text: &str) -> Result<Json> {
    let is_object = serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
    match Json::new(text) {
        Ok(json) if is_object => Ok(json),
        _ => {
            let text = excerpt(text, 40);
            Err(Failure::new(format!("--metadata is `{text}`, which is no JSON object"))
                .code_of(USAGE)
                .hint("as in --metadata '{\"score\": 0.9}'"))
        }
    }
}

/// Refuses a label that names a task: the label itself was left out.
fn check_is_no_task(source: &dyn Backend, label: &str) -> Result<()> {
    match source.task(label) {
        Ok(_) => {
            let shown = printable(label);
            Err(Failure::new(format!("`{shown}` is a task, and the label is missing"))
                .hint(format!("`milepost mark {} LABEL`", words::encode(label))))
        }
        Err(failure) if failure.kind() == Some(ErrorKind::NotFound) => Ok(()),
        Err(failure) => Err(failure),
    }
}

/// Returns the task named after the current folder, or after the nearest one above it in the
/// project that has a task.
/// If there is none, starts one for the current folder.
fn default_task(source: &dyn Backend) -> Result<String> {
    let here = store_locator::here()?;
    let project = store_locator::project_here().unwrap_or_else(|| here.clone());
    let above = here.ancestors().take_while(|folder| folder.starts_with(&project));
    let above = above.filter_map(|folder| hints::name_of(folder).ok());
    for name in above {
        match source.task(&name) {
            Ok(task) => return Ok(task.id),
            Err(failure) if failure.kind() == Some(ErrorKind::NotFound) => {}
            Err(failure) => return Err(failure),
        }
    }
    let name = hints::name_of(&here)?;
    source.start(&name, None, None)?;
    note(&hints::started(&name));
    Ok(name)
}
