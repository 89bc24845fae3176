//! `redo`: takes the last undo of a task back.

// tidy: one command

use milepost::ErrorKind;
use milepost_api::calls::Redo;

use super::switch;
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{Out, words};

pub fn run(source: &dyn Backend, task: &str, out: &mut Out) -> Result<()> {
    let had = source.task(task)?;
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
