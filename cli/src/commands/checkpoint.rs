//! `checkpoint`, and `restore` without an address: the user picks a checkpoint to restore.

use std::collections::HashMap;

use milepost_api::CheckpointForm;
use serde::Serialize;

use super::{checkpoints, restore, rollback};
use crate::args;
use crate::backend::{Backend, CheckpointsAsked};
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, Style, printable, words};
use crate::picker::{self, End};
use crate::terminal;

pub fn run(source: &dyn Backend, args: &args::Checkpoint, out: &mut Out) -> Result<()> {
    let task = args.task.as_deref().map(|id| source.task(id)).transpose()?;
    let task = task.map(|task| task.id);
    if !terminal::is_possible(out) {
        return list(source, task, out);
    }
    match picker::pick(source, task.as_deref(), args.yes, out)? {
        None => none(out),
        Some(End::Unchanged) => Ok(out.line("nothing was changed")?),
        Some(End::Restore { id, with_files }) => {
            let back = args::GoingBack {
                address: format!("@{id}"),
                options: args::FolderOptions::default(),
                leave_others: false,
                description: args.description.clone(),
            };
            go_back(source, back, with_files, out)
        }
    }
}

/// Runs `restore` without an address. Its options for files need an address.
pub fn instead_of_restore(source: &dyn Backend, args: &args::Restore, out: &mut Out) -> Result<()> {
    if args.files.is_some() || args.options.is_given() || args.leave_others {
        let message = "an address is needed with --files, --dry-run, --theirs, --keep-mine, \
                       --moved and --leave-others";
        return Err(Failure::new(message).code_of(USAGE).hint(
            "`milepost restore` alone, or `milepost checkpoint`, has you pick a checkpoint and its \
             files",
        ));
    }
    let picked = args::Checkpoint { task: None, yes: false, description: args.description.clone() };
    run(source, &picked, out)
}

/// Restores the picked checkpoint with the command that takes an address.
fn go_back(
    source: &dyn Backend,
    back: args::GoingBack,
    with_files: bool,
    out: &mut Out,
) -> Result<()> {
    match with_files && source.has_folders() {
        true => rollback::run(source, &args::Rollback { files: None, back }, out),
        false => restore::to(source, &back, out),
    }
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
    let asked = CheckpointsAsked { task, ..CheckpointsAsked::default() };
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
