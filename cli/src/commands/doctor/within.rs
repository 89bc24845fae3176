//! Content of a store.

use std::path::Path;

use milepost::{Engine, ErrorKind};
use milepost_api::StoreForm;
use rustix::fs::statvfs;

use super::check::Check;
use crate::backend::{Backend, Local};
use crate::error::{Failure, Result};
use crate::output::{count, size, words};
use crate::store_locator::Opened;

/// Number of unapplied commits above which the check warns. Opening reads them again.
const LAG: u64 = 100_000;

pub fn checks(found: &Opened, folder: &Path) -> Result<Vec<Check>> {
    let (opened, stats) = match found {
        Opened::Local(engine) => (
            vec![lock("no other process had it open".into()), opened(engine)],
            (&Local::new(engine) as &dyn Backend).stats()?,
        ),
        Opened::Remote(there) => (
            vec![lock(format!("it is open: {} has it", there.place()))],
            (there as &dyn Backend).stats()?,
        ),
    };
    let mut checks = opened;
    checks.push(sizes(&stats));
    checks.push(applied(&stats));
    if let Opened::Local(engine) = found {
        checks.push(pending(engine)?);
        checks.push(compaction(engine, folder)?);
    }
    Ok(checks)
}

/// Checks a store that another process has open, as far as reading allows.
pub fn contents(engine: &Engine) -> Result<Check> {
    Ok(sizes(&(&Local::new(engine) as &dyn Backend).stats()?))
}

fn lock(said: String) -> Check {
    Check::fine("lock", said)
}

fn opened(engine: &Engine) -> Check {
    let report = engine.store().report();
    match report.findings.as_slice() {
        [] => Check::fine(
            "opening",
            format!("{} came back from the journal", count(report.recovered, "commit")),
        ),
        [first, ..] => Check::look(
            "opening",
            format!(
                "{}, the first: {}: {} ({})",
                count(report.findings.len() as u64, "finding"),
                first.place,
                first.message,
                first.outcome
            ),
            "`milepost verify` says whether anything is missing",
        ),
    }
}

fn sizes(stats: &StoreForm) -> Check {
    let said = format!(
        "{}, {}, {} in {} on disk (journal {}, archive {}, sled {}, packs {})",
        count(stats.tasks.0, "task"),
        count(stats.checkpoints.0, "checkpoint"),
        count(stats.events.0, "event"),
        size(stats.disk.total.0),
        size(stats.disk.journal.0),
        size(stats.disk.archive.0),
        size(stats.disk.sled.0),
        size(stats.disk.packs.0),
    );
    Check::fine("sizes", said)
}

fn applied(stats: &StoreForm) -> Check {
    let lag = stats.seq.0.saturating_sub(stats.applied.0);
    let wait = if lag == 1 { "waits" } else { "wait" };
    let said = format!("{} {wait} to be applied", count(lag, "commit"));
    match lag > LAG {
        true => Check::look(
            "applier",
            said,
            "appends are faster than they are applied: opening after a crash takes longer; it \
             passes when they pause",
        ),
        false => Check::fine("applier", said),
    }
}

fn pending(engine: &Engine) -> Result<Check> {
    let pending = engine.restores().pending()?;
    Ok(match pending.first() {
        None => Check::fine("restores", "none is interrupted"),
        Some(first) => Check::failed(
            "restores",
            format!(
                "{} interrupted, of `{}` first",
                count(pending.len() as u64, "restore"),
                first.task
            ),
            format!("`milepost recover {}` takes it back", words::encode(&first.task)),
        ),
    })
}

fn compaction(engine: &Engine, folder: &Path) -> Result<Check> {
    let needs = engine.retention().plan_compaction()?.needs;
    let free = statvfs(folder).map(|found| found.f_bavail.saturating_mul(found.f_frsize));
    Ok(compaction_of(needs, free.ok()))
}

fn compaction_of(needs: u64, free: Option<u64>) -> Check {
    let said = format!("needs at most {} of free space", size(needs));
    match free {
        Some(free) if free < needs => Check::look(
            "compaction",
            format!("{said}, which is not there"),
            "make room before the next `milepost compact`, or take it to a larger disk",
        ),
        _ => Check::fine("compaction", said),
    }
}

/// Returns the check for a store that cannot be opened.
pub fn closed(failure: Failure) -> Check {
    let said = format!("it cannot be opened: {failure}");
    match failure.kind() {
        Some(ErrorKind::Unavailable) => Check::look(
            "lock",
            said,
            "look again when that program has ended; `milepost_server::attach` in it lets commands \
             through",
        ),
        Some(ErrorKind::Corrupt) => Check::failed(
            "opening",
            said,
            "`milepost repair --dry-run` says what can be mended and what is lost",
        ),
        Some(ErrorKind::Unsupported) => {
            Check::failed("opening", said, "update milepost: a newer one wrote this")
        }
        _ => Check::failed("opening", said, "see what it says"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compaction_without_room_is_named_before_it_is_done() {
        let hint = "make room before the next `milepost compact`, or take it to a larger disk";
        assert_eq!(compaction_of(7, Some(6)).advice.as_deref(), Some(hint));
        assert_eq!(compaction_of(7, Some(7)).advice, None);
        assert_eq!(compaction_of(7, None).advice, None);
    }
}
