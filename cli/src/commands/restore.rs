//! `restore`: back to a point, in a new lineage.

use milepost::{Engine, Task};
use serde_json::json;

use super::{forms, point};
use crate::args;
use crate::error::Result;
use crate::output::{Out, big, printable};

pub fn run(engine: &Engine, args: &args::Restore, out: &mut Out) -> Result<()> {
    let point = point(engine, &args.address)?;
    let task = engine.restore(&point, args.description.as_deref())?;
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
    let lineage = task.lineage();
    let head = lineage.head()?;
    if out.json {
        let mut form = forms::lineage(&lineage.info()?);
        if let Some(fields) = form.as_object_mut() {
            fields.insert("task".into(), json!(task.id()));
            fields.insert("epoch".into(), big(task.epoch()));
        }
        return Ok(out.json(&form)?);
    }
    out.line(printable(note))?;
    let (id, name) = (lineage.id(), printable(task.id()).into_owned());
    out.line(format!(
        "{name} goes on with lineage {id}, head @{}",
        head.next
    ))?;
    Ok(out.line(printable(hint))?)
}
