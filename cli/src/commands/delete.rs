//! `delete`: a task, or all tasks of a user, for good.

use milepost::{Engine, TaskStats};
use milepost_forms::{CountsForm, TaskStatsForm};
use serde_json::json;

use super::confirm::confirm;
use super::{task, words};
use crate::args::Delete;
use crate::error::{Failure, Result};
use crate::output::{Out, bar, big, count, printable, size};

/// A bar is shown from so many tasks on.
const LONG: u64 = 100;

pub fn run(engine: &Engine, args: &Delete, out: &mut Out) -> Result<()> {
    let (tasks, what) = match (&args.task, &args.user) {
        (Some(id), _) => of_task(engine, id)?,
        (None, Some(user)) => of_user(engine, user)?,
        (None, None) => return Err(Failure::new("neither a task nor a user was named")),
    };
    let total = words::total(&tasks);
    let needs = engine.plan_compaction()?.needs;
    let room = format!(
        "deleting needs no room; `milepost compact` takes it off the disk, and needs at most {} \
         free beside the store",
        size(needs)
    );
    let question = format!(
        "Delete {what} with {} and {}, about {} on disk?",
        count(total.events, "event"),
        count(total.checkpoints, "checkpoint"),
        size(total.disk)
    );
    confirm(args.yes, &room, &question)?;
    let deleted = match &args.user {
        Some(user) => {
            let all = tasks.len() as u64;
            let shown = bar(all, "delete", all >= LONG, false);
            let done = engine.delete_user(user, &mut |done, _| shown.set_position(done));
            shown.finish_and_clear();
            done?
        }
        None => {
            for task in &tasks {
                engine.delete_task(&task.task)?;
            }
            1
        }
    };
    if out.json {
        let counts = CountsForm::from(&total);
        let forms: Vec<_> = tasks.into_iter().map(TaskStatsForm::from).collect();
        return Ok(out.json(&json!({
            "deleted": big(deleted),
            "tasks": forms,
            "total": counts,
            "compaction_needs": big(needs),
        }))?);
    }
    out.line(printable(&format!(
        "deleted {what}: {} and {}, about {} on disk",
        count(total.events, "event"),
        count(total.checkpoints, "checkpoint"),
        size(total.disk)
    )))?;
    Ok(out.line(format!(
        "`milepost compact` takes it off the disk; it needs at most {} free beside the store",
        size(needs)
    ))?)
}

fn of_task(engine: &Engine, id: &str) -> Result<(Vec<TaskStats>, String)> {
    let task = task(engine, id)?;
    let mut tasks = engine.task_stats(Some(task.user()))?;
    tasks.retain(|stats| stats.task == task.id());
    Ok((tasks, format!("task `{}`", task.id())))
}

fn of_user(engine: &Engine, user: &str) -> Result<(Vec<TaskStats>, String)> {
    let tasks = engine.task_stats(Some(user))?;
    if tasks.is_empty() {
        return Err(Failure::new(format!("user `{user}` has no tasks"))
            .hint("`milepost tasks` lists the tasks and whose they are"));
    }
    let what = format!("{} of user `{user}`", count(tasks.len() as u64, "task"));
    Ok((tasks, what))
}
