//! Commands that work on an existing store, opened by this process or by another one.

use milepost::{Engine, Options};

use super::command::Needs;
use crate::backend::{Attempt, Backend, Local, asking_again};
use crate::error::{Failure, Result};
use crate::output::{Out, note};
use crate::store_locator::{Opened, StoreArgs, attach, in_other};

/// The work of a command on a store.
pub type Work<'a> = &'a dyn Fn(&dyn Backend, &mut Out) -> Result<()>;

/// Opens the store and does the work on it.
pub fn run(store: &StoreArgs, needs: Needs, work: Work<'_>, out: &mut Out) -> Result<()> {
    if let Some(other) = store.other_here().filter(|_| needs.lists) {
        note(&in_other(&other));
    }
    let done = asking_again(|| attempt(store, needs, work, out));
    done.map_err(|failure| store.or_in_other(failure))
}

fn attempt(store: &StoreArgs, needs: Needs, work: Work<'_>, out: &mut Out) -> Result<Attempt<()>> {
    let changes = !needs.only_reads && !needs.follows;
    let before = out.printed();
    let found = match (needs.creates)(store) {
        true => Opened::Local(store.open_or_create_with_hooks(Options::default())?),
        false => store.find(needs.hooks, needs.only_reads, needs.glances)?,
    };
    let engine = match found {
        Opened::Local(engine) => engine,
        Opened::Remote(_) if changes && store.is_in_its_hook() => {
            let text = "a hook cannot change the store that it is called for";
            return Err(Failure::new(text).hint("a hook may read it, and change other stores"));
        }
        Opened::Remote(there) if needs.store => {
            match needs.only_reads.then(|| store.read_only(&there)).flatten() {
                Some(engine) => engine,
                None => return Err(held(&there, "this", there.place())),
            }
        }
        Opened::Remote(there) => {
            let done = work(&there, out);
            // Partly printed output is not printed again; a question is asked again.
            return Ok(match changes || out.printed() == before {
                true => there.asked(done),
                false => Attempt::Done(done),
            });
        }
    };
    let attached = needs.attached || needs.hooks && store.has_hooks();
    let attached = attached.then(|| attach(&engine)).flatten();
    let done = work(&Local::new(&engine), out);
    drop(attached);
    // The command is done or failed by now. A failed close only slows the next open.
    let closed = engine.close();
    done?;
    closed?;
    Ok(Attempt::Done(Ok(())))
}

/// Notes the store of this project's sessions of coding agents, if a command that recorded used
/// another one.
pub fn or_elsewhere(store: &StoreArgs, done: Result<()>) -> Result<()> {
    if let Some(other) = store.other_here() {
        note(&in_other(&other));
    }
    done
}

/// Returns the engine, for an operation that needs the store itself.
pub fn needed<'a>(source: &'a dyn Backend, what: &str) -> Result<&'a Engine> {
    source.engine().ok_or_else(|| match source.has_folders() {
        true => held(source, what, "another program"),
        false => held(source, what, "the service"),
    })
}

/// Returns the failure of an operation that needs a store that another program, or a service at an
/// address, has open. `who` names it.
fn held(there: &dyn Backend, what: &str, who: &str) -> Failure {
    match there.has_folders() {
        true => {
            Failure::new(format!("{what} needs the store itself, and another program has it open"))
                .hint(format!("{who} has it: ask again when that has ended"))
        }
        false => Failure::new(format!("{what} needs the store itself: a service cannot do it"))
            .hint(format!("run it on the machine of {who}, on its store")),
    }
}
