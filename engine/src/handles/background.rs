//! The snapshotter, a background thread that makes due snapshots. A failed snapshot is made again
//! when the next one is due, since it is a cache.

use std::sync::Arc;

use milepost_store::metrics::Meters;
use milepost_store::sync::channel::Receiver;

use crate::commit::committer::BackgroundJob;
use crate::history::catalog::Catalog;
use crate::history::state::DynReducer;

/// Number of queued jobs above which the thread no longer waits for the applier.
const HURRY: usize = 128;

/// Runs until the channel ends or has a job other than a snapshot.
pub(crate) fn run(
    catalog: &Catalog,
    reducers: &[Arc<dyn DynReducer>],
    jobs: &Receiver<BackgroundJob>,
    meters: &Meters,
) {
    while let Ok(BackgroundJob::Snapshot(due)) = jobs.recv() {
        if jobs.len() < HURRY {
            catalog.log().settle();
        }
        for reducer in reducers {
            // A failure is ignored: states are then folded from an earlier snapshot.
            let made = reducer.snapshot(catalog, due.log, due.at, due.bytes);
            meters.snapshots.add(u64::from(made.unwrap_or(false)));
        }
    }
}
