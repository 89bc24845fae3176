//! `stats`: counts and sizes of the store, or of a user's tasks.

use milepost::{Engine, TaskStats};
use serde_json::json;

use super::forms;
use crate::error::Result;
use crate::output::{Out, big, count, printable, size};

pub fn run(engine: &Engine, out: &mut Out) -> Result<()> {
    let stats = engine.stats()?;
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
    if out.json {
        let mut form = serde_json::Map::new();
        for (name, count) in counts {
            form.insert(name.into(), big(count));
        }
        let disk = disk
            .into_iter()
            .map(|(name, bytes)| (name.to_owned(), big(bytes)));
        form.insert(
            "disk".into(),
            json!(disk.collect::<serde_json::Map<_, _>>()),
        );
        return Ok(out.json(&form)?);
    }
    for (name, count) in counts {
        out.line(format!("{name:12} {count}"))?;
    }
    for (name, bytes) in disk {
        out.line(format!("{name:12} {}", size(bytes)))?;
    }
    Ok(())
}

/// What each task of a user takes.
pub fn of_user(engine: &Engine, user: &str, out: &mut Out) -> Result<()> {
    let tasks = engine.task_stats(Some(user))?;
    let total = forms::total(&tasks);
    if out.json {
        let tasks: Vec<_> = tasks.iter().map(forms::task_stats).collect();
        return Ok(out.json(&json!({
            "user": user,
            "tasks": tasks,
            "total": forms::task_totals(&total),
        }))?);
    }
    if tasks.is_empty() {
        return Ok(out.line(printable(&format!("no tasks of user `{user}`")))?);
    }
    let rows: Vec<Vec<String>> = tasks.iter().map(row).collect();
    out.table(
        &[
            "TASK",
            "LINEAGES",
            "EVENTS",
            "CHECKPOINTS",
            "BYTES",
            "ABOUT ON DISK",
        ],
        &rows,
    )?;
    Ok(out.line(format!(
        "{}: {}, {}, {}, {}, about {} on disk",
        count(tasks.len() as u64, "task"),
        count(total.lineages, "lineage"),
        count(total.events, "event"),
        count(total.checkpoints, "checkpoint"),
        size(total.bytes),
        size(total.disk)
    ))?)
}

fn row(task: &TaskStats) -> Vec<String> {
    vec![
        printable(&task.task).into_owned(),
        task.lineages.to_string(),
        task.events.to_string(),
        task.checkpoints.to_string(),
        size(task.bytes),
        size(task.disk),
    ]
}
