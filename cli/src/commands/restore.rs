//! `restore`: back to a point, in a new lineage.

use milepost_api::RestoredForm;
use serde_json::{Value, json};

use super::left_files::{Left, LeftFiles};
use super::{checkpoint, rollback};
use crate::args;
use crate::backend::Backend;
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, printable, words};

pub fn run(source: &dyn Backend, args: &args::Restore, out: &mut Out) -> Result<()> {
    let Some(address) = &args.address else {
        return checkpoint::instead_of_restore(source, args, out);
    };
    let back = args.back(address);
    if let Some(files) = &args.files {
        return rollback::files_only(source, &back, files, out);
    }
    if back.options.is_given() || back.leave_others {
        let message = "--dry-run, --theirs, --keep-mine, --moved and --leave-others are for files";
        return Err(Failure::new(message).code_of(USAGE).hint(
            "`milepost restore ADDRESS --files DIR` takes files back, `milepost rollback ADDRESS` \
             all",
        ));
    }
    to(source, &back, out)
}

/// Restores a point, without a folder.
pub fn to(source: &dyn Backend, back: &args::GoingBack, out: &mut Out) -> Result<()> {
    let point = source.point(&back.address)?;
    let task = source.task(&point.task)?;
    if (point.lineage, point.offset) == (task.active, task.head) {
        let shown = words::encode(&point.task);
        let message = format!("{} is at this point already: its head", printable(&point.task));
        return Err(Failure::new(message).hint(format!(
            "`{shown}~1` is its last checkpoint, `{shown}@LABEL` a named one, `{shown}@12` an \
             offset; `milepost checkpoints {shown}` lists them"
        )));
    }
    let restored = source.restore(&point, back.description.as_deref())?;
    let from = words::address(&point.task, point.lineage, point.offset.0);
    let note = format!("back to {from}");
    let hint = format!("`milepost undo {}` takes this back", words::encode(&point.task));
    let left = Left::of(source, &task, &restored, from);
    print(&restored, &note, Some(&left), &hint, out)
}

/// Prints the lineage in which a task continues, and what it left.
pub fn print(
    restored: &RestoredForm,
    note: &str,
    left: Option<&Left>,
    hint: &str,
    out: &mut Out,
) -> Result<()> {
    let files = left.and_then(|left| left.files.as_ref());
    if out.json {
        let mut form = form(restored)?;
        if let Some(fields) = form.as_object_mut() {
            fields.insert("left".into(), json!(left.map(|left| left.lineage)));
            fields.insert("files".into(), json!(files.map(LeftFiles::form)));
        }
        return Ok(out.json(&form)?);
    }
    let files = files.map(LeftFiles::line);
    let hints: Vec<&str> = files.as_deref().into_iter().chain([hint]).collect();
    lines(restored, note, &hints, out)
}

/// Returns the lineage in which a task continues, as JSON.
pub fn form(restored: &RestoredForm) -> Result<Value> {
    let mut form = serde_json::to_value(&restored.lineage)?;
    if let Some(fields) = form.as_object_mut() {
        fields.insert("task".into(), json!(restored.task.id));
        fields.insert("epoch".into(), json!(restored.task.epoch));
    }
    Ok(form)
}

/// Prints the lineage in which a task continues, as text.
pub fn lines(restored: &RestoredForm, note: &str, hints: &[&str], out: &mut Out) -> Result<()> {
    let RestoredForm { task, lineage, .. } = restored;
    out.line(printable(note))?;
    out.line(format!(
        "{} continues on lineage {}, head @{}",
        printable(&task.id),
        lineage.id,
        lineage.head
    ))?;
    for hint in hints {
        out.advice(hint)?;
    }
    Ok(())
}
