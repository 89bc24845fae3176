//! Work that waits before a rewind: documents in the spool, lines of the session file, a capture.

use std::path::Path;
use std::time::{Duration, Instant, UNIX_EPOCH};

use milepost_agents::{Agent, Spool};
use milepost_api::{CaptureAsked, ImportAsked, ImportPath, JobAsked};

use super::history::History;
use crate::backend::Backend;
use crate::backend::hints::current_user;
use crate::commands::agent;
use crate::output::{JobBar, count, note};

/// Longest wait for a daemon that takes in what waits.
const LIMIT: Duration = Duration::from_secs(5);

/// The wait between two looks.
const STEP: Duration = Duration::from_millis(20);

/// Has the daemon of a project take in what waits in the spool.
#[allow(clippy::disallowed_methods, reason = "the wait for another process, not a recorded time")]
pub(super) fn spool(project: &Path) {
    let Some(spool) = Spool::of(&agent::environment()) else { return };
    let waiting = || spool.waiting(project).map_or(0, |waiting| waiting.len());
    let end = Instant::now() + LIMIT;
    if waiting() > 0 && agent::start_daemon(project) {
        while waiting() > 0 && Instant::now() < end {
            std::thread::sleep(STEP);
        }
    }
    let left = waiting() as u64;
    if left > 0 {
        let documents = count(left, "document");
        note(&format!("{documents} of hooks wait in {}", spool.folder().display()));
    }
}

/// Records the lines of the session file that no hook told of yet, such as those of a prompt that
/// was interrupted. Returns `true` if there may be some.
pub(super) fn file(source: &dyn Backend, history: &History) -> bool {
    let Some(facts) = &history.facts else { return false };
    let Some((agent, path)) = Agent::of_name(&facts.agent).zip(facts.file.clone()) else {
        return false;
    };
    if !agent.is_session_file(&path, &agent::environment()) {
        return false;
    }
    let changed = path.metadata().and_then(|there| there.modified());
    let changed_us = changed.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    if changed_us.is_none_or(|changed| changed.as_micros() <= u128::from(history.last_us)) {
        return false;
    }
    let asked = ImportAsked {
        paths: vec![ImportPath { path, name: None }],
        runs_only: true,
        format: Some(agent.name().to_owned()),
        default_user: Some(current_user()),
        ..ImportAsked::default()
    };
    // A file that cannot be recorded has what its hooks told.
    source.job(&JobAsked::Import(asked), JobBar::new(false)).is_ok()
}

/// Captures the folder if a call did not return, as one that was killed with the daemon: files that
/// it made are in no capture, and a rewind does not remove such files.
pub(super) fn folder(source: &dyn Backend, task: &str, history: &History, folder: &Path) {
    if history.open.is_empty() {
        return;
    }
    let asked = CaptureAsked {
        folder: folder.to_owned(),
        task: Some(task.to_owned()),
        ..CaptureAsked::default()
    };
    // Without it the plan says which files were never captured.
    let _ = source.job(&JobAsked::Capture(asked), JobBar::new(false));
}
