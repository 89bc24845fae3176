//! `branch`: a new lineage at a point, which does not become active.

// tidy: one command

use serde_json::json;

use crate::args;
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{Out, printable, words};

pub fn run(source: &dyn Backend, args: &args::Branch, out: &mut Out) -> Result<()> {
    let point = source.point(&args.address)?;
    let lineage = source.branch(&point, args.description.as_deref())?;
    if out.json {
        let mut form = serde_json::to_value(&lineage)?;
        if let Some(fields) = form.as_object_mut() {
            fields.insert("task".into(), json!(point.task));
        }
        return Ok(out.json(&form)?);
    }
    let task = source.task(&words::encode(&point.task))?;
    let from = words::address(&point.task, point.lineage, point.offset.0);
    out.line(printable(&format!("branched from {from}")))?;
    out.line(format!(
        "lineage {} of {}, head @{}; the task stays on lineage {}",
        lineage.id,
        printable(&point.task),
        lineage.head,
        task.active
    ))?;
    let name = format!("{}/{}", words::encode(&point.task), lineage.id);
    let hint = format!("`milepost switch {name}` continues on it, `milepost log {name}` shows it");
    Ok(out.advice(hint)?)
}
