//! `restore`: back to a point, in a new lineage.

use milepost::{Engine, Task};
use serde_json::{Value, json};

use super::{forms, interrupted, point, rollback};
use crate::args;
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, big, printable};

pub fn run(engine: &Engine, args: &args::Restore, out: &mut Out) -> Result<()> {
    if let Some(files) = &args.files {
        return rollback::files_only(engine, &args.back, files, out);
    }
    if args.back.how.is_given() {
        let message = "--dry-run, --theirs, --keep-mine and --moved are for files";
        return Err(Failure::new(message).code_of(USAGE).hint(
            "`milepost restore ADDRESS --files DIR` takes files back, `milepost rollback ADDRESS` all",
        ));
    }
    let point = point(engine, &args.back.address)?;
    interrupted::recover(engine, &engine.task(&point.task)?, None)?;
    let task = engine.restore(&point, args.back.description.as_deref())?;
    let from = forms::address(&point.task, point.lineage, point.offset);
    let note = format!("back to {from}");
    let hint = format!(
        "`milepost undo {}` takes this back",
        forms::encode(&point.task)
    );
    print(&task, &note, &hint, out)
}

/// Says with which lineage a task goes on.
pub fn print(task: &Task, note: &str, hint: &str, out: &mut Out) -> Result<()> {
    match out.json {
        true => Ok(out.json(&form(task)?)?),
        false => lines(task, note, hint, out),
    }
}

/// The lineage that a task goes on with, for programs.
pub fn form(task: &Task) -> Result<Value> {
    let mut form = forms::lineage(&task.lineage().info()?);
    if let Some(fields) = form.as_object_mut() {
        fields.insert("task".into(), json!(task.id()));
        fields.insert("epoch".into(), big(task.epoch()));
    }
    Ok(form)
}

/// The same for people.
pub fn lines(task: &Task, note: &str, hint: &str, out: &mut Out) -> Result<()> {
    let lineage = task.lineage();
    let head = lineage.head()?;
    out.line(printable(note))?;
    let (id, name) = (lineage.id(), printable(task.id()).into_owned());
    out.line(format!(
        "{name} goes on with lineage {id}, head @{}",
        head.next
    ))?;
    Ok(out.line(printable(hint))?)
}
