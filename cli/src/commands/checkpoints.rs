//! `checkpoints`: list of checkpoints, newest first.

use std::io;

use milepost::ErrorKind;
use milepost::events::MarkStatus;
use milepost_api::{CheckpointForm, Listed};
use serde_json::Value;

use super::command::{CliCommand, Examples, Needs, Run};
use super::mark::Status;
use crate::args::at_least_one;
use crate::backend::{Backend, CheckpointsRequest};
use crate::error::{Failure, Result, USAGE};
use crate::output::{FittedRow, FittedTable, NONE, Out, excerpt, hint, time_short, words};

/// Size of a page if no limit is given.
const PAGE: usize = 1000;
/// Columns of the list between the id and the metadata. One without a value is left out.
const TITLES: [&str; 8] =
    ["POINT", "CAUSE", "STATUS", "TIME", "ITERATION", "PHASE", "STEP", "LABEL"];

/// List checkpoints, newest first.
#[derive(Debug, clap::Args)]
pub struct CheckpointsArgs {
    /// Only checkpoints of this task.
    pub task: Option<String>,
    /// At most N checkpoints. `-20` is `-n 20`.
    #[arg(short = 'n', long, alias = "last", value_name = "N", value_parser = at_least_one,
          allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// Continue an earlier list that `--limit` cut off.
    #[arg(long)]
    pub cursor: Option<String>,
    /// Only checkpoints with this value under this key of their metadata. May be given more than
    /// once.
    #[arg(long = "where", value_name = "KEY=JSON")]
    pub filter: Vec<String>,
    /// Only checkpoints with this status.
    #[arg(long)]
    pub status: Option<Status>,
    /// Only checkpoints of the task with this alias, on any lineage.
    #[arg(long, requires = "task")]
    pub alias: Option<String>,
}

impl CliCommand for CheckpointsArgs {
    const EXAMPLES: Examples = &[
        ("checkpoints run", "those of a task"),
        ("checkpoints --where step=3 --status success", "of all tasks, by metadata and status"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);
}

fn run(source: &dyn Backend, args: &CheckpointsArgs, out: &mut Out) -> Result<()> {
    let task = args.task.as_deref().map(|id| source.task(id)).transpose()?;
    let filter = args.filter.iter().map(|text| condition(text)).collect::<Result<Vec<_>>>()?;
    let asked = CheckpointsRequest {
        task: task.map(|task| task.id),
        filter,
        status: args.status.map(MarkStatus::from),
        alias: args.alias.clone(),
        limit: args.limit.unwrap_or(PAGE),
        cursor: args.cursor.clone(),
    };
    let listed = match args.limit {
        Some(_) => source.checkpoints(&asked),
        None => every(source, asked),
    };
    let Listed { items: all, next: cursor } =
        listed.map_err(|failure| of_cursor(failure, args.cursor.as_deref()))?;
    if out.json {
        return Ok(out.json(&Listed { items: all, next: cursor })?);
    }
    if all.is_empty() {
        out.line("no checkpoints")?;
    } else {
        table(&all.iter().map(|one| (one, None)).collect::<Vec<_>>(), out)?;
    }
    if let Some(cursor) = cursor {
        hint(&format!("there is more: --cursor {cursor}"));
    }
    Ok(())
}

/// Adds a hint to the failure of a list that was to continue at a cursor.
pub fn of_cursor(failure: Failure, cursor: Option<&str>) -> Failure {
    match (failure.kind(), cursor) {
        (Some(ErrorKind::Invalid), Some(_)) => failure.hint(
            "a cursor comes from the end of the same list; leave out --cursor to begin at its top",
        ),
        _ => failure,
    }
}

/// Returns all pages of a list.
pub fn every(
    source: &dyn Backend,
    mut asked: CheckpointsRequest,
) -> Result<Listed<CheckpointForm>> {
    asked.limit = PAGE;
    let mut items = Vec::new();
    loop {
        let page = source.checkpoints(&asked)?;
        items.extend(page.items);
        asked.cursor = page.next;
        if asked.cursor.is_none() {
            return Ok(Listed { items, next: None });
        }
    }
}

/// Parses `KEY=JSON`. A value that is not JSON is a string.
fn condition(text: &str) -> Result<(String, Value)> {
    let (key, value) = text.split_once('=').ok_or_else(|| {
        Failure::new(format!("--where is `{text}`, not KEY=JSON"))
            .code_of(USAGE)
            .hint("as in --where step=3")
    })?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((key.to_owned(), value))
}

/// Prints checkpoints as a table, with their steps.
pub fn table(all: &[(&CheckpointForm, Option<String>)], out: &mut Out) -> io::Result<()> {
    let rows = all.iter().map(|(one, step)| row(one, step.as_deref())).collect();
    FittedTable { name: "CHECKPOINT", titles: TITLES.to_vec(), text: "METADATA", rows }.print(out)
}

/// Formats a checkpoint by the columns of the list.
fn row(checkpoint: &CheckpointForm, step: Option<&str>) -> FittedRow {
    let id = words::short_id(&checkpoint.id);
    let iteration = checkpoint.iteration.map(|iteration| iteration.to_string());
    let cells = [
        words::address(&checkpoint.task, checkpoint.lineage, checkpoint.at.0),
        checkpoint.cause.name().to_owned(),
        checkpoint.status.name().to_owned(),
        time_short(checkpoint.time_us.0),
        iteration.unwrap_or_else(|| NONE.to_owned()),
        excerpt(checkpoint.phase.as_deref().unwrap_or(NONE), 20),
        excerpt(step.unwrap_or(NONE), 40),
        excerpt(checkpoint.label.as_deref().unwrap_or(NONE), 40),
    ];
    let metadata = excerpt(checkpoint.metadata.as_ref().map_or("", |json| json.text()), 60);
    FittedRow { name: format!("@{id}"), cells: cells.to_vec(), text: metadata, style: None }
}
