//! `checkpoint`, and `restore` without an address: the user picks a checkpoint to restore.

use std::collections::HashMap;

use milepost_api::CheckpointForm;
use serde::Serialize;

use super::command::{CliCommand, Examples, Needs, Run};
use super::restore::RestoreArgs;
use super::rollback::RollbackArgs;
use super::{checkpoints, on_store, restore, rollback};
use crate::args::GoingBack;
use crate::backend::{Backend, CheckpointsRequest};
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, Style, printable, words};
use crate::picker::{self, End};
use crate::store_locator::StoreArgs;
use crate::terminal;

/// Pick a checkpoint on the screen, and restore it. On a pipe, list the checkpoints by task.
#[derive(Debug, clap::Args)]
pub struct CheckpointArgs {
    /// Only checkpoints of this task.
    pub task: Option<String>,
    /// Restore on Enter, without confirmation.
    #[arg(long)]
    pub yes: bool,
    /// A description of the new lineage.
    #[arg(short = 'm', long, alias = "message", value_name = "TEXT")]
    pub description: Option<String>,
}

impl CliCommand for CheckpointArgs {
    const EXAMPLES: Examples = &[
        ("checkpoint", "choose one of all tasks, and go back to it"),
        ("checkpoint run", "one of a task"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES, run);

    fn needs(&self, usual: Needs, can_pick: bool) -> Needs {
        if can_pick { Needs::PICKS } else { usual }
    }

    /// In a fresh folder there is nothing to pick from.
    fn begin(&self, store: &StoreArgs, out: &mut Out) -> Result<bool> {
        match self.task.is_none() && store.is_nowhere() {
            true => none(out).map(|()| false),
            false => Ok(true),
        }
    }
}

/// Runs the command, for another one that has nothing of its own to pick from.
pub fn pick(store: &StoreArgs, args: &CheckpointArgs, out: &mut Out) -> Result<()> {
    let needs = args.needs(Needs::GLANCES, terminal::is_possible(out));
    on_store::run(store, needs, &|source, out| run(source, args, out), out)
}

fn run(source: &dyn Backend, args: &CheckpointArgs, out: &mut Out) -> Result<()> {
    let task = args.task.as_deref().map(|id| source.task(id)).transpose()?;
    let task = task.map(|task| task.id);
    if !terminal::is_possible(out) {
        return list(source, task, out);
    }
    match picker::pick(source, task.as_deref(), args.yes, out)? {
        None => none(out),
        Some(End::Unchanged) => Ok(out.line("nothing was changed")?),
        Some(End::Restore { id, with_files }) => {
            let address = format!("@{id}");
            let description = args.description.clone();
            // With the command that takes an address.
            match with_files && source.has_folders() {
                true => {
                    let back = GoingBack { description, ..GoingBack::default() };
                    rollback::run(source, &RollbackArgs { address, files: None, back }, out)
                }
                false => restore::to(source, &address, description.as_deref(), out),
            }
        }
    }
}

/// Runs `restore` without an address. Its options for files need an address.
pub fn instead_of_restore(source: &dyn Backend, args: &RestoreArgs, out: &mut Out) -> Result<()> {
    if args.files.is_some() || args.back.options.is_given() || args.back.leave_others {
        let message = "an address is needed with --files, --dry-run, --theirs, --keep-mine, \
                       --moved and --leave-others";
        return Err(Failure::new(message).code_of(USAGE).hint(
            "`milepost restore` alone, or `milepost checkpoint`, has you pick a checkpoint and its \
             files",
        ));
    }
    let picked =
        CheckpointArgs { task: None, yes: false, description: args.back.description.clone() };
    run(source, &picked, out)
}

/// Says that there is no checkpoint: no store, none in the store, or none of the task.
pub fn none(out: &mut Out) -> Result<()> {
    match out.json {
        true => Ok(out.json(&[(); 0])?),
        false => Ok(out.line("No checkpoints found.")?),
    }
}

/// Lists the checkpoints by task, if there is no screen to pick on.
fn list(source: &dyn Backend, task: Option<String>, out: &mut Out) -> Result<()> {
    let asked = CheckpointsRequest { task, ..CheckpointsRequest::default() };
    let all = checkpoints::every(source, asked)?.items;
    if all.is_empty() {
        return none(out);
    }
    let mut groups = Vec::new();
    for (task, checkpoints) in by_task(&all) {
        // Encoded, as in an address: an id with a `%` would be decoded.
        let user = source.task(&words::encode(task))?.user;
        let step = |checkpoint| picker::step(source, checkpoint, picker::NEAR);
        let items = checkpoints.into_iter().map(|checkpoint| (checkpoint, step(checkpoint)));
        let items: Vec<_> = items.collect();
        if out.json {
            groups.push(Group::of(task, user, items));
            continue;
        }
        let title = format!("{} (user {})", printable(task), printable(&user));
        out.line(out.style(Style::Bold, &title))?;
        checkpoints::table(&items, out)?;
    }
    match out.json {
        true => Ok(out.json(&groups)?),
        false => Ok(()),
    }
}

/// The checkpoints of a task, as JSON.
#[derive(Serialize)]
struct Group<'a> {
    task: &'a str,
    user: String,
    checkpoints: Vec<Item<'a>>,
}

/// A checkpoint, and the number and the name of its step.
#[derive(Serialize)]
struct Item<'a> {
    step: Option<String>,
    checkpoint: &'a CheckpointForm,
}

impl<'a> Group<'a> {
    fn of(task: &'a str, user: String, items: Vec<(&'a CheckpointForm, Option<String>)>) -> Self {
        let item = |(checkpoint, step)| Item { step, checkpoint };
        Self { task, user, checkpoints: items.into_iter().map(item).collect() }
    }
}

/// Returns the checkpoints of each task. The task with the newest checkpoint comes first.
fn by_task(all: &[CheckpointForm]) -> Vec<(&str, Vec<&CheckpointForm>)> {
    let mut places = HashMap::new();
    let mut tasks: Vec<(&str, Vec<&CheckpointForm>)> = Vec::new();
    for checkpoint in all {
        let place = *places.entry(checkpoint.task.as_str()).or_insert(tasks.len());
        if place == tasks.len() {
            tasks.push((&checkpoint.task, Vec::new()));
        }
        if let Some((_, rows)) = tasks.get_mut(place) {
            rows.push(checkpoint);
        }
    }
    tasks
}
