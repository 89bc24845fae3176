//! `cleanup`: old checkpoints go, and events that nothing needs.

use milepost_forms::{RetainedForm, RetentionForm};

use super::words;
use crate::args::Cleanup;
use crate::error::{Failure, Result};
use crate::output::{Look, Out, bar, count, printable, size};
use crate::source::Source;

/// A bar is shown from so many tasks on.
const LONG: u64 = 100;

pub fn run(source: &dyn Source, args: &Cleanup, out: &mut Out) -> Result<()> {
    let task = args.task.as_deref().map(|id| source.task(id)).transpose()?;
    let asked = args.asked(task.map(|task| task.id));
    let mut shown = None;
    let done = source.clean_up(&asked, args.dry_run, &mut |done, all| {
        let bar = shown.get_or_insert_with(|| bar(all, "clean up", all >= LONG, false));
        bar.set_position(done);
    });
    if let Some(bar) = shown {
        bar.finish_and_clear();
    }
    let done = done?;
    match out.json {
        true => out.json(&done)?,
        false => print(&done, out)?,
    }
    failed(&done)
}

/// What could not be done.
fn failed(done: &RetentionForm) -> Result<()> {
    let failed = || done.tasks.iter().filter(|task| task.error.is_some());
    let count_of = failed().count() as u64;
    if count_of == 0 {
        return Ok(());
    }
    let failure = Failure::new(format!(
        "{} could not be cleaned up, or not wholly",
        count(count_of, "task")
    ));
    Err(match failed().find(|task| task.held_up) {
        Some(task) => {
            let task = words::encode(&task.id);
            failure.hint(format!(
                "what is done stays done; `milepost recover {task}` takes back the restore that was cut short"
            ))
        }
        None => failure.hint(
            "what is done stays done; where a reducer is missing, clean up from the program that \
             has it, or with --marks-only",
        ),
    })
}

fn row(task: &RetainedForm) -> Vec<String> {
    vec![
        printable(&task.id).into_owned(),
        printable(&task.user).into_owned(),
        task.checkpoints.to_string(),
        task.go.to_string(),
        task.stay.to_string(),
        task.pinned.to_string(),
        task.trimmed.len().to_string(),
        task.dropped.len().to_string(),
        task.bytes.map_or_else(|| "-".into(), |bytes| size(bytes.0)),
    ]
}

fn print(done: &RetentionForm, out: &mut Out) -> Result<()> {
    let (total, dry_run) = (&done.total, done.dry_run);
    let concerned = done.tasks.iter().filter(|task| task.is_concerned());
    let rows: Vec<Vec<String>> = concerned.map(row).collect();
    let (tasks, stay) = (
        count(total.tasks.0, "task"),
        count(total.stay.0, "checkpoint"),
    );
    if rows.is_empty() {
        let said = match total.tasks.0 {
            0 => "no tasks".into(),
            _ => format!("nothing goes; kept: {stay} of {tasks}"),
        };
        return Ok(out.line(said)?);
    }
    let go = if dry_run { "GO" } else { "GONE" };
    out.table(
        &[
            "TASK",
            "USER",
            "CHECKPOINTS",
            go,
            "STAY",
            "PINNED",
            "TRIMMED",
            "DROPPED",
            "ABOUT",
        ],
        &rows,
    )?;
    for task in &done.tasks {
        if let Some(error) = &task.error {
            let name = out.look(Look::Bad, &printable(&task.id));
            out.line(format!("{name}: {}", printable(error)))?;
        }
    }
    let verb = if dry_run { "would go" } else { "are gone" };
    out.line(format!(
        "{} of {tasks}: {} and {} {verb}, about {}; kept: {stay}",
        total.concerned,
        count(total.go.0, "checkpoint"),
        count(total.events.0, "event"),
        size(total.bytes.0)
    ))?;
    if let Some(freed) = done.captures.as_ref().filter(|freed| freed.captures.0 > 0) {
        out.line(format!(
            "with them {} of a folder, and {} that nothing else needs, about {}",
            count(freed.captures.0, "capture"),
            count(freed.chunks.0, "chunk"),
            size(freed.bytes.0)
        ))?;
    }
    let hint = "`milepost compact` gives the bytes back";
    Ok(match dry_run {
        true => out.line(format!("nothing was changed; after a cleanup {hint}")),
        false => out.line(hint),
    }?)
}
