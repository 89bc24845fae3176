//! The picker: checkpoints on the whole screen, one of which is gone back to. docs/COMMANDS.md says
//! what it shows and what its keys do.
//!
//! ```text
//! list      checkpoints by task, as far as they are loaded
//! filter    which of them are meant by what was typed
//! rows      which rows that makes, which is chosen, which are on the screen
//! model     what a key does, and what should be asked of the store next
//! look      what is said of a task and of a checkpoint
//! preview   what a restore would do
//! kept      what was looked up, as much as may be kept
//! load      asks the store, while no key waits
//! layout    where what stands on the screen
//! draw      the model as a screen
//! keys      keys of a terminal, as the model's
//! screen    the terminal, taken and given back
//! ```
//!
//! Only `keys` and `screen` know that there is a terminal, and only `load`, `look` and `preview`
//! ask the store.

mod cache;
mod details;
mod draw;
mod filter;
mod keys;
mod layout;
mod list;
mod load;
mod model;
mod preview;
mod rows;
#[cfg(test)]
mod samples;
mod screen;

use std::io::{self, IsTerminal};

use crate::backend::Backend;
use crate::error::Result;
use crate::output::Out;
use list::List;
pub use model::End;
use model::Model;

/// Whether there is somebody who can choose: a terminal on both sides that can be drawn on.
pub fn is_possible(out: &Out) -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !out.json && !dumb && out.is_terminal() && io::stdin().is_terminal()
}

/// Has somebody choose among the checkpoints of a task, or of the store. Nothing where there are
/// none.
pub fn pick(source: &dyn Backend, task: Option<&str>, yes: bool, out: &Out) -> Result<Option<End>> {
    let list = task.map_or_else(List::of_store, List::of_task);
    let mut model = Model::new(list, yes, source.engine().is_some());
    // What cannot be read is said before the screen is taken.
    if let Some(job) = model.next_job() {
        load::run(source, job, &mut model)?;
    }
    if model.list.is_empty() {
        return Ok(None);
    }
    screen::show(source, model, out.colors()).map(Some)
}
