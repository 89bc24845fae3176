//! Operations that the service and a program with the store open share: the engine's calls, with
//! answers as forms. Authorization, limits and transport are the caller's.
//!
//! ```text
//! tasks        tasks and their lineages
//! checkpoints  checkpoints, and data attached to them
//! pins         pinned checkpoints
//! points       points
//! readings     lineages as a person reads them
//! restores     restores, and the folders that they may go to
//! stats        numbers of the store
//! ```

mod checkpoints;
mod pins;
mod points;
mod readings;
mod restores;
mod stats;
mod tasks;

use milepost::integrity::Anchor;
use milepost::query::Condition;
use milepost::state::{ChangeLimits, diff_states_up_to};
use milepost::{Engine, Error, Point, Result};
use milepost_api::{Big, BisectedForm, BranchAsked, LineageForm, RestoredForm, VerifyForm};

pub use readings::{ROWS, TURNS, ordered};

use crate::forms;
use crate::view::View;

/// Default page size of tasks and checkpoints.
pub const PAGE: usize = 20;

/// Maximum page size of tasks and checkpoints.
pub const PAGE_MAX: usize = 100;

/// Checks a page size. `None` is the default.
///
/// # Errors
///
/// `Invalid`: the size is zero or more than `most`.
pub fn page_size(given: Option<usize>, default: usize, most: usize) -> Result<usize> {
    match given.unwrap_or(default) {
        size if (1..=most).contains(&size) => Ok(size),
        size => Err(Error::invalid(format!("limit is 1 to {most}, not {size}"))),
    }
}

/// Opens a lineage at a point, and leaves the active one as it is unless it is to be activated.
///
/// # Errors
///
/// As [`View::branch_by`](milepost::View::branch_by).
pub fn branch(view: &View<'_>, point: &Point, asked: &BranchAsked) -> Result<LineageForm> {
    let description = asked.description.as_deref();
    let lineage = view.branch_by(point, description, asked.activate, &view.conditions())?;
    Ok(forms::lineage(lineage.info()?))
}

/// Restores the state of a point.
///
/// # Errors
///
/// As [`View::restore`](milepost::View::restore).
pub fn restore(view: &View<'_>, to: &Point, description: Option<&str>) -> Result<RestoredForm> {
    let restore = view.restore(to).conditions(view.conditions());
    let restored = match description {
        Some(description) => restore.description(description).run(),
        None => restore.run(),
    };
    forms::restored(&restored?)
}

/// Verifies the store, or one task. With `states`, also folds every lineage from its beginning. An
/// anchor is compared with the whole store. With `acknowledge`, the repairs in the answer are
/// acknowledged, and the next one has them no more.
///
/// # Errors
///
/// `NotFound`: there is no such task. Damage is no error, but in the answer.
pub fn verify(
    engine: &Engine,
    task: Option<&str>,
    states: bool,
    anchor: Option<&Anchor>,
    acknowledge: bool,
    told: &mut dyn FnMut(u64, u64),
) -> Result<VerifyForm> {
    let integrity = engine.integrity();
    let mut report = integrity.verify(task, told)?;
    if let Some(anchor) = anchor {
        report.faults.extend(integrity.verify_anchor(anchor)?);
    }
    if states {
        report.faults.extend(integrity.verify_states(task)?);
    }
    if task.is_none() {
        integrity.note_verified(&report);
    }
    if acknowledge && !report.repairs.is_empty() {
        integrity.acknowledge_repairs()?;
        let all = integrity.repairs()?;
        let before = all.len().saturating_sub(report.repairs.len());
        report.repairs = all.into_iter().skip(before).collect();
    }
    Ok(forms::verification(report))
}

/// Maximum number and size of the changes that a found event shows.
const CHANGES: ChangeLimits = ChangeLimits { changes: 100, bytes: 1 << 20 };

/// Searches a point's history for the first event after which a condition holds.
///
/// # Errors
///
/// `Invalid`: the condition holds nowhere up to the point, or at the good one already. Others as
/// [`Query::bisect`](milepost::query::Query::bisect).
pub fn bisect(
    view: &milepost::View,
    good: Option<&Point>,
    bad: &Point,
    condition: &Condition,
) -> Result<BisectedForm> {
    let search = view.bisect(good, bad, condition)?;
    let found = search.found().ok_or_else(|| Error::invalid("no event was found"))?;
    let (event, hash) = view.event(&found)?;
    let (before, after) = (view.run_state(&found)?, view.run_state(&search.bad())?);
    let changes = diff_states_up_to(&before, &after, view.chunks().as_ref(), CHANGES)?;
    Ok(BisectedForm {
        found: found.to_string(),
        step: after.step.as_ref().map(|step| Big(step.number)),
        event: forms::event_at(found, event, hash),
        changes: forms::changes(changes),
        until: search.until().map(|until| until.to_string()),
        states: Big(search.looked()),
    })
}
