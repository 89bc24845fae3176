//! Progress of work in a folder, which its workspace counts.

// tidy: one function
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use milepost_api::{Big, JobProgress};
use milepost_workspace::Workspace;

use crate::jobs::Told;

/// Interval between reports.
const STEP: Duration = Duration::from_millis(100);

/// Does work in a workspace, and reports the files that it has scanned.
pub(crate) fn watched<T>(
    workspace: &Workspace,
    step: &str,
    told: Told<'_>,
    work: impl FnOnce() -> T,
) -> T {
    let (working, worked) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = worked.recv_timeout(STEP) {
                let status = workspace.status();
                told.progress(JobProgress {
                    step: step.to_owned(),
                    done: Big(status.files),
                    total: None,
                    bytes: Some(Big(status.bytes)),
                });
            }
        });
        // The reports end when this is dropped, however the work ends.
        let _working = working;
        work()
    })
}
