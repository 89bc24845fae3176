//! Writes to a store after damage: an append, a round of the applier, and reads after that.

use std::fs;
use std::path::Path;

use milepost::Engine;

use super::cases::Case;
use super::judge::{Outcome, Verdict, text_of};
use super::stores::options;
use crate::{bodies, folder};

/// Returns `true` for a file that appends and the applier write to.
pub(super) fn is_written_to(case: &Case) -> bool {
    matches!(case.kind(), "segment" | "sled db" | "block file")
}

/// The store as another process finds it: a sled that a failed write has left behind in this one
/// keeps its lock.
pub(super) fn elsewhere(dir: &Path) {
    let beside = dir.with_extension("elsewhere");
    folder::copy(dir, &beside).unwrap();
    fs::remove_dir_all(dir).unwrap();
    fs::rename(&beside, dir).unwrap();
}

/// Checks that a store that answers as before takes appends as before: at once, or after a reopen
/// if a write met the damage. Returns the fault.
pub(super) fn goes_on(dir: &Path, loud: bool) -> Option<Verdict> {
    let tasks = ["essay", "tuning"];
    let write = |engine: &Engine| {
        for task in tasks {
            engine.task(task)?.append(bodies::text_message(1))?;
        }
        engine.store().drain()
    };
    let mut done = Ok(());
    for _ in 0..2 {
        done = Engine::open(dir, options()).and_then(|engine| {
            write(&engine)?;
            engine.close()
        });
        let Err(error) = &done else { break };
        if loud {
            println!("append and drain: {}", text_of(error));
        }
        elsewhere(dir);
    }
    let read = done.and_then(|()| {
        let engine = Engine::open(dir, options())?;
        for task in tasks {
            let task = engine.task(task)?;
            let last = task.head()?.next - 1;
            let event = task.read(last..)?.next().transpose()?;
            let body = event.and_then(|event| event.body);
            if body != Some(bodies::text_message(1).into()) {
                return Ok(Some(Verdict::new(
                    Outcome::SilentLoss,
                    format!("what was appended after the damage is not there: {body:?}"),
                )));
            }
        }
        Ok(None)
    });
    read.unwrap_or_else(|error| {
        let reason = format!("appends after the damage: {}", text_of(&error));
        Some(Verdict::new(Outcome::BrokenPromise, reason))
    })
}
