//! `stats`: counts and sizes of the store, of a user's tasks, or the tokens and cost of tasks.

use milepost_api::{TaskStatsForm, UserForm};
use serde_json::json;

use super::command::{CliCommand, Examples, Needs, Run};
use super::usage::{Counted, UsageGroup, usage};
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{Out, count, printable, size, words};

/// Print counts and sizes of the store, or tokens and cost of tasks.
#[derive(Debug, clap::Args)]
pub struct StatsArgs {
    /// Print the tokens and cost of this task; in a name, `*` matches any text.
    pub task: Option<String>,
    /// Print tokens and cost by model, day or task. Default of a task: by model.
    #[arg(long, value_name = "GROUP")]
    pub by: Option<UsageGroup>,
    /// Only tasks of this user. Without `--by`, prints the size of each.
    #[arg(long)]
    pub user: Option<String>,
}

impl CliCommand for StatsArgs {
    const EXAMPLES: Examples = &[("stats", "of the store"), ("stats --user ana", "of ana's tasks")];
    const RUN: Run<Self> = Run::OnStore(Needs::READS, run);
}

fn run(source: &dyn Backend, args: &StatsArgs, out: &mut Out) -> Result<()> {
    let (task, user) = (args.task.as_deref(), args.user.as_deref());
    match (args.by.or(task.map(|_| UsageGroup::Model)), user) {
        (Some(by), user) => usage(source, Counted { task, user }, by, out),
        (None, Some(user)) => of_user(source, user, out),
        (None, None) => of_store(source, out),
    }
}

/// Prints the counts and sizes of the store.
fn of_store(source: &dyn Backend, out: &mut Out) -> Result<()> {
    let stats = source.stats()?;
    if out.json {
        return Ok(out.json(&stats)?);
    }
    let counts = [
        ("tasks", stats.tasks),
        ("lineages", stats.lineages),
        ("events", stats.events),
        ("checkpoints", stats.checkpoints),
        ("event_bytes", stats.event_bytes),
        ("recovered", stats.recovered),
        ("seq", stats.seq),
        ("applied", stats.applied),
    ];
    let disk = [
        ("journal", stats.disk.journal),
        ("archive", stats.disk.archive),
        ("sled", stats.disk.sled),
        ("packs", stats.disk.packs),
        ("total", stats.disk.total),
    ];
    for (name, count) in counts {
        out.line(format!("{name:12} {count}"))?;
    }
    for (name, bytes) in disk {
        out.line(format!("{name:12} {}", size(bytes.0)))?;
    }
    Ok(())
}

/// Prints the sizes of a user's tasks.
fn of_user(source: &dyn Backend, user: &str, out: &mut Out) -> Result<()> {
    let UserForm { tasks, total, .. } = source.stats_of(user)?;
    if out.json {
        return Ok(out.json(&json!({ "user": user, "tasks": tasks, "total": total }))?);
    }
    if tasks.is_empty() {
        return Ok(out.line(printable(&format!("no tasks of user `{user}`")))?);
    }
    let rows: Vec<Vec<String>> = tasks.iter().map(row).collect();
    out.table(&["TASK", "LINEAGES", "EVENTS", "CHECKPOINTS", "BYTES", "ABOUT ON DISK"], &rows)?;
    Ok(out.line(format!(
        "{}: {}, {}, {}, {}, about {} on disk",
        count(tasks.len() as u64, "task"),
        count(total.lineages.0, "lineage"),
        count(total.events.0, "event"),
        count(total.checkpoints.0, "checkpoint"),
        size(total.bytes.0),
        size(total.disk_bytes.0)
    ))?)
}

fn row(task: &TaskStatsForm) -> Vec<String> {
    let counts = &task.counts;
    vec![
        printable(&words::encode(&task.id)).into_owned(),
        counts.lineages.to_string(),
        counts.events.to_string(),
        counts.checkpoints.to_string(),
        size(counts.bytes.0),
        size(counts.disk_bytes.0),
    ]
}
