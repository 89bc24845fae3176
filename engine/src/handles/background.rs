//! The snapshotter: makes snapshots that are due, behind everybody's back. What it fails at is
//! tried again when the next is due: a snapshot is a cache.

use std::sync::Arc;

use milepost_store::metrics::Meters;
use milepost_store::sync::channel::Receiver;

use crate::commit::committer::BackgroundJob;
use crate::history::catalog::Catalog;
use crate::history::state::DynReducer;

/// With so many errands waiting it does not give way to the applier any more.
const HURRY: usize = 128;

/// Runs until it is told to stop.
pub(crate) fn run(
    catalog: &Catalog,
    reducers: &[Arc<dyn DynReducer>],
    errands: &Receiver<BackgroundJob>,
    meters: &Meters,
) {
    while let Ok(BackgroundJob::Snapshot(due)) = errands.recv() {
        if errands.len() < HURRY {
            catalog.log().settle();
        }
        for reducer in reducers {
            // A failure is no reason to stop: states are then folded from further back.
            let made = reducer.snapshot(catalog, due.log, due.at, due.bytes);
            meters.snapshots.add(u64::from(made.unwrap_or(false)));
        }
    }
}
