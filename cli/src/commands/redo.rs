//! `redo`: takes the last undo of a task back.

// tidy: one command

use milepost::ErrorKind;
use milepost_api::calls::Redo;

use super::command::{CliCommand, Examples, Needs, Run};
use super::switch;
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{Out, words};

/// Take the last undo of a task back. Files stay as they are.
#[derive(Debug, clap::Args)]
pub struct RedoArgs {
    /// The task's id.
    pub task: String,
}

impl CliCommand for RedoArgs {
    const EXAMPLES: Examples = &[("redo run", "take the last undo back")];
    const RUN: Run<Self> = Run::OnStore(Needs::WRITES, run);
}

fn run(source: &dyn Backend, args: &RedoArgs, out: &mut Out) -> Result<()> {
    let had = source.task(&args.task)?;
    let name = words::encode(&had.id);
    let redone =
        source.change(&had.id, Redo::new(&had.id)).map_err(|failure| match failure.kind() {
            Some(ErrorKind::Invalid | ErrorKind::NotFound) => failure.hint(format!(
                "`milepost lineages {name}` shows the lineages, `milepost switch {name}/LINEAGE` \
             switches to one"
            )),
            Some(ErrorKind::Conflict) => {
                failure.hint(format!("`milepost lineages {name}` shows the lineages"))
            }
            _ => failure,
        })?;
    switch::went(source, &had, &redone, "the last undo is taken back", out)
}
