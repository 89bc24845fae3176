//! `delete`: a task, or all tasks of a user, for good.

use clap::ArgGroup;
use milepost_api::{CountsForm, TaskStatsForm, UserForm};
use serde_json::json;

use super::command::{CliCommand, Examples, Needs, Run};
use super::confirm::confirm;
use crate::backend::Backend;
use crate::error::{Failure, Result};
use crate::output::{Out, bar, big, count, printable, size};

/// Number of tasks from which on a bar is shown.
const LONG: u64 = 100;

/// Delete a task, or all tasks of a user, for good.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("what").args(["task", "user"]).required(true)))]
pub struct DeleteArgs {
    /// The task's id.
    pub task: Option<String>,
    /// All tasks of this user.
    #[arg(long)]
    pub user: Option<String>,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}

impl CliCommand for DeleteArgs {
    const EXAMPLES: Examples = &[
        ("delete run", "a task, for good"),
        ("delete --user ana --yes", "all of ana's, without asking"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::NONE, run);

    fn left_to_user(&self) -> Option<&'static str> {
        Some("what it removes is gone for good: ask the user, who runs the same command")
    }
}

fn run(source: &dyn Backend, args: &DeleteArgs, out: &mut Out) -> Result<()> {
    let (tasks, total, what) = match (&args.task, &args.user) {
        (Some(id), _) => of_task(source, id)?,
        (None, Some(user)) => of_user(source, user)?,
        (None, None) => return Err(Failure::new("neither a task nor a user was named")),
    };
    let needs = source.compaction_needs()?;
    let room = needs.map(|needs| format!(" at most {} of free space", size(needs)));
    let room = room.unwrap_or_else(|| " some free space".into());
    let question = format!(
        "Delete {what} with {} and {}, about {} on disk?",
        count(total.events.0, "event"),
        count(total.checkpoints.0, "checkpoint"),
        size(total.disk_bytes.0)
    );
    let note = format!(
        "deleting needs no room; `milepost compact` takes it off the disk, and needs{room}"
    );
    confirm(args.yes, &note, &question, out)?;
    let all = tasks.len() as u64;
    let deleted = match &args.user {
        Some(user) => {
            let shown = bar(all, "delete", all >= LONG, false);
            let done = source.delete_user(user, &mut |done, _| shown.set_position(done));
            shown.finish_and_clear();
            done?
        }
        None => {
            for task in &tasks {
                source.delete(&task.id)?;
            }
            all
        }
    };
    if out.json {
        return Ok(out.json(&json!({
            "deleted": big(deleted),
            "tasks": tasks,
            "total": total,
            "compaction_needs": needs.map(big),
        }))?);
    }
    // Tasks may be started or deleted since they were counted.
    let what = match deleted == all {
        true => what,
        false => format!("{} of the {all} that were counted, {what}", count(deleted, "task")),
    };
    out.line(printable(&format!(
        "deleted {what}: {} and {}, about {} on disk",
        count(total.events.0, "event"),
        count(total.checkpoints.0, "checkpoint"),
        size(total.disk_bytes.0)
    )))?;
    Ok(out.advice(format!("`milepost compact` takes it off the disk; it needs{room}"))?)
}

type Named = (Vec<TaskStatsForm>, CountsForm, String);

fn of_task(source: &dyn Backend, id: &str) -> Result<Named> {
    let task = source.task(id)?;
    let mut tasks = source.stats_of(&task.user)?.tasks;
    tasks.retain(|stats| stats.id == task.id);
    let total = tasks.first().map(|stats| stats.counts.clone());
    let gone = || Failure::new(format!("task `{}` was deleted by another command", task.id));
    let total = total.ok_or_else(gone)?;
    Ok((tasks, total, format!("task `{}`", task.id)))
}

fn of_user(source: &dyn Backend, user: &str) -> Result<Named> {
    let UserForm { tasks, total, .. } = source.stats_of(user)?;
    if tasks.is_empty() {
        return Err(Failure::new(format!("user `{user}` has no tasks"))
            .hint("`milepost tasks` lists the tasks and whose they are"));
    }
    let what = format!("{} of user `{user}`", count(tasks.len() as u64, "task"));
    Ok((tasks, total, what))
}
