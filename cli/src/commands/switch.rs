//! `switch`: another lineage of a task becomes the active one.

use milepost::Address;
use milepost_api::calls::Switch;
use milepost_api::{RestoredForm, SwitchRequest, TaskForm};

use super::command::{CliCommand, Examples, Needs, Run};
use super::left_files::Left;
use super::restore;
use crate::backend::Backend;
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, printable, shell_word, words};

/// Switch a task to another of its lineages. Files stay as they are.
#[derive(Debug, clap::Args)]
pub struct SwitchArgs {
    /// The lineage: `TASK/LINEAGE`, as `milepost lineages TASK` shows them.
    #[arg(value_name = "TASK/LINEAGE")]
    pub address: String,
}

impl CliCommand for SwitchArgs {
    const EXAMPLES: Examples =
        &[("switch run/1", "continue on another lineage; `milepost undo run` returns")];
    const RUN: Run<Self> = Run::OnStore(Needs::WRITES, run);
}

fn run(source: &dyn Backend, args: &SwitchArgs, out: &mut Out) -> Result<()> {
    // Inside an id these are percent-encoded.
    let is_point = args.address.contains(['@', '~']);
    let address = args.address.parse::<Address>();
    let address = address.map_err(|error| {
        Failure::from(error).code_of(USAGE).hint("a lineage is named TASK/LINEAGE, as in `run/1`")
    })?;
    let (id, lineage) = match address {
        Address::Task { task, lineage: Some(lineage), .. } if !is_point => (task, lineage),
        Address::Task { task, .. } if !is_point => {
            let name = words::encode(&task);
            return Err(not_one(&args.address).hint(format!(
                "`milepost lineages {name}` shows the lineages, `milepost switch {name}/LINEAGE` \
                 switches to one"
            )));
        }
        _ => {
            let shown = shell_word(&args.address);
            return Err(not_one(&args.address).hint(format!(
                "`milepost restore {shown}` continues from a point, in a new lineage"
            )));
        }
    };
    let name = words::encode(&id);
    let had = source.task(&name)?;
    let restored = source
        .change(&had.id, Switch::new(&had.id, SwitchRequest { lineage: lineage.0 }))
        .map_err(|failure| {
            failure.hint(format!("`milepost lineages {name}` shows the lineages"))
        })?;
    if had.active == restored.lineage.id {
        let note = format!("lineage {lineage} is the active one already: nothing is changed");
        let hint = format!("`milepost lineages {name}` shows the other lineages");
        return restore::print(&restored, &note, None, &hint, out);
    }
    went(source, &had, &restored, &format!("switched to lineage {lineage}"), out)
}

/// Prints the lineage that a task continues on, and what it left.
pub fn went(
    source: &dyn Backend,
    had: &TaskForm,
    restored: &RestoredForm,
    note: &str,
    out: &mut Out,
) -> Result<()> {
    let name = words::encode(&had.id);
    let left = Left::of(source, had, restored, format!("{name}/{}", restored.lineage.id));
    let hint =
        format!("lineage {} stays as it is: `milepost undo {name}` returns to it", left.lineage);
    restore::print(restored, note, Some(&left), &hint, out)
}

fn not_one(address: &str) -> Failure {
    Failure::new(format!("{} is not TASK/LINEAGE", printable(address))).code_of(USAGE)
}
