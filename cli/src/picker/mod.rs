//! The picker: a full-screen list of checkpoints to restore. docs/COMMAND_LINE.md describes its
//! screen and keys.
//!
//! ```text
//! list      the loaded checkpoints, by task
//! filter    matching of the typed text
//! rows      the rows of the list: selection and scrolling
//! model     the effect of a key, and the next request to the store
//! details   details of a task and of a checkpoint
//! preview   the effect of a restore
//! load      requests to the store, while no key waits
//! layout    the parts of the screen
//! draw      the model as a screen
//! screen    the loop: keys, requests, draws
//! ```
//!
//! Only `screen` uses the terminal (`crate::terminal`), and only `load`, `details` and
//! `preview` read the store.

mod details;
mod draw;
mod filter;
mod layout;
mod list;
mod load;
mod model;
mod preview;
mod rows;
mod screen;
#[cfg(test)]
mod testing;

use crate::backend::Backend;
use crate::error::Result;
use crate::output::Out;
pub use details::{NEAR, step};
use list::List;
pub use model::End;
use model::Model;

/// Lets the user choose among the checkpoints of a task, or of the store. Returns `None` if there
/// are none.
pub fn pick(source: &dyn Backend, task: Option<&str>, yes: bool, out: &Out) -> Result<Option<End>> {
    let list = task.map_or_else(List::of_store, List::of_task);
    let mut model = Model::new(list, yes, source.engine().is_some());
    // A list that cannot be read fails before the terminal is set up.
    if let Some(job) = model.next_job() {
        load::run(source, job, &mut model)?;
    }
    if model.list.is_empty() {
        return Ok(None);
    }
    screen::show(source, model, out.colors()).map(Some)
}
