//! Work that waits before a rewind: documents in the spool, lines of the session file, a capture.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use milepost::clock::{Clock as _, SystemClock};
use milepost_agents::documents::GOING_BACK;
use milepost_agents::{Agent, HookCall, Spool};
use milepost_api::{CaptureRequest, HookRequest, ImportPath, ImportRequest, JobRequest};
use milepost_workspace::PathBytes;
use serde_json::json;

use super::history::History;
use crate::backend::Backend;
use crate::commands::agent;
use crate::defaults::current_user;
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
    // Times do not tell: a mark may be later than a line that is not recorded yet.
    let Ok(there) = path.metadata() else { return false };
    if history.file_read == Some(there.len()) {
        return false;
    }
    let asked = ImportRequest {
        paths: vec![ImportPath { path, name: None }],
        runs_only: true,
        format: Some(agent.name().to_owned()),
        default_user: Some(current_user()),
        ..ImportRequest::default()
    };
    // A file that cannot be recorded has what its hooks told.
    source.job(&JobRequest::Import(asked), JobBar::new(false)).is_ok()
}

/// Has the recorder of sessions end the calls that did not return, with a capture after each, so
/// that what they changed is theirs: no hook tells of one that the user interrupted.
pub(super) fn calls(source: &dyn Backend, project: &Path, task: &str, history: &History) {
    let Some(facts) = history.facts.as_ref().filter(|_| !history.open.is_empty()) else { return };
    let document = json!({
        "hook_event_name": GOING_BACK,
        "session_id": facts.session,
        "transcript_path": facts.file,
        "cwd": project,
    });
    let call = HookCall {
        agent: facts.agent.clone(),
        time_us: SystemClock.now_us(),
        payload: document.to_string().into_bytes(),
        is_cut: false,
    };
    let asked = call.with(project, |name| std::env::var_os(name));
    // It may be gone, and this process is no agent's.
    let bytes = PathBytes::from(project.as_os_str().as_bytes());
    let asked = HookRequest { project: bytes, parents: Vec::new(), ..asked };
    let is_taken = match source.engine() {
        Some(engine) => agent::recorded(engine, project, asked),
        None => agent::told(&asked, LIMIT),
    };
    if !is_taken {
        folder(source, task, project);
    }
}

/// Captures the folder: files that a call made are in no capture, and a rewind does not remove such
/// files.
fn folder(source: &dyn Backend, task: &str, folder: &Path) {
    let asked = CaptureRequest {
        folder: folder.to_owned(),
        task: Some(task.to_owned()),
        ..CaptureRequest::default()
    };
    // Without it the plan says which files were never captured.
    let _ = source.job(&JobRequest::Capture(asked), JobBar::new(false));
}
