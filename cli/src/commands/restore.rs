//! `restore`: back to a point, in a new lineage.

use std::path::PathBuf;

use milepost_api::RestoredForm;
use serde_json::{Value, json};

use super::command::{CliCommand, Examples, Needs, Run};
use super::left_files::{Left, LeftFiles};
use super::{checkpoint, rollback};
use crate::args::GoingBack;
use crate::backend::Backend;
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, printable, words};
use crate::store_locator::StoreArgs;

/// Go back to a point: open a new lineage there, and make it the active one. With --files,
/// restore only the files of a folder. Without an address, pick a checkpoint.
#[derive(Debug, clap::Args)]
pub struct RestoreArgs {
    /// The address of the point; see `milepost --help`. Without an address, pick a checkpoint as in
    /// `milepost checkpoint`.
    pub address: Option<String>,
    /// Restore the files of this folder, and leave the state as it is.
    #[arg(long, alias = "dir", value_name = "DIR")]
    pub files: Option<PathBuf>,
    #[command(flatten)]
    pub back: GoingBack,
}

impl CliCommand for RestoreArgs {
    const EXAMPLES: Examples = &[
        ("restore run@good", "continue there, in a new lineage"),
        ("restore run~1 -m 'try a smaller step'", "from the last checkpoint, and why"),
        ("restore run@good --files .", "only the files of this folder"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::WRITES, run);

    fn needs(&self, usual: Needs, can_pick: bool) -> Needs {
        match &self.address {
            Some(_) if self.back.options.dry_run => Needs::READS,
            Some(_) => usual,
            None if can_pick => Needs::PICKS,
            None => Needs::NONE,
        }
    }

    /// In a fresh folder there is nothing to pick from.
    fn begin(&self, store: &StoreArgs, out: &mut Out) -> Result<bool> {
        match self.address.is_none() && self.files.is_none() && store.is_nowhere() {
            true => checkpoint::none(out).map(|()| false),
            false => Ok(true),
        }
    }
}

fn run(source: &dyn Backend, args: &RestoreArgs, out: &mut Out) -> Result<()> {
    let Some(address) = &args.address else {
        return checkpoint::instead_of_restore(source, args, out);
    };
    let back = &args.back;
    if let Some(files) = &args.files {
        return rollback::files_only(source, (address, back), files, out);
    }
    if back.options.is_given() || back.leave_others {
        let message = "--dry-run, --theirs, --keep-mine, --moved and --leave-others are for files";
        return Err(Failure::new(message).code_of(USAGE).hint(
            "`milepost restore ADDRESS --files DIR` takes files back, `milepost rollback ADDRESS` \
             all",
        ));
    }
    to(source, address, back.description.as_deref(), out)
}

/// Restores a point, without a folder.
pub fn to(
    source: &dyn Backend,
    address: &str,
    description: Option<&str>,
    out: &mut Out,
) -> Result<()> {
    let point = source.point(address)?;
    let task = source.task(&point.task)?;
    if (point.lineage, point.offset) == (task.active, task.head) {
        let shown = words::encode(&point.task);
        let message = format!("{} is at this point already: its head", printable(&point.task));
        return Err(Failure::new(message).hint(format!(
            "`{shown}~1` is its last checkpoint, `{shown}@LABEL` a named one, `{shown}@12` an \
             offset; `milepost checkpoints {shown}` lists them"
        )));
    }
    let restored = source.restore(&point, description)?;
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
        words::encode(&task.id),
        lineage.id,
        lineage.head
    ))?;
    for hint in hints {
        out.advice(hint)?;
    }
    Ok(())
}
