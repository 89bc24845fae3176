//! Work on an engine that takes long or changes folders, with the words of the command: captures,
//! restores with a folder, recoveries, compactions, imports.
//!
//! [`run`] does a [`JobRequest`] and returns a [`JobResult`]: the service runs it for its clients,
//! and the command for its user. Nothing here prints. A [`JobFailure`] has the engine's error and a
//! [`Remedy`](milepost_api::Remedy), which the caller words with the names of its own options.
//!
//! A job reports its progress and notes to `told`, from any thread, and ends early if
//! the [flag](milepost::calls::Cancel) of the engine is set. A restore that has begun to change
//! files ends whole.
//!
//! # Modules of the source
//!
//! ```text
//! tool       calls of tools, with captures before and after
//! capture    captures (left_out: what the default list left out)
//! restore    restores and undos of folders
//! recover    interrupted restores (of all tasks)
//! progress   progress of work in a folder
//! folder     the folder of a job
//! recovery   the interrupted restore of a task, undone before other work
//! own        trust in a store
//! compact    compactions
//! import/    imports of runs, folders and exports
//! failure    failures and their remedies
//! told       listeners
//! ```
//!
//! A module imports only modules below it.
//!
//! # Example
//!
//! ```
//! use milepost::{Engine, Options};
//! use milepost_api::{CaptureRequest, JobRequest, JobResult};
//!
//! let dir = tempfile::tempdir().unwrap();
//! std::fs::write(dir.path().join("essay.md"), "It was a dark night.")?;
//! let engine = Engine::in_memory(Options::default())?;
//! let asked = JobRequest::Capture(CaptureRequest {
//!     folder: dir.path().into(),
//!     task: Some("essay".into()),
//!     ..CaptureRequest::default()
//! });
//! let done = milepost_service::jobs::run(&engine, &asked, "ana", &|_| {});
//! let done = done.map_err(|failed| failed.error)?;
//! let JobResult::Capture(captured) = done else { unreachable!() };
//! assert!(captured.is_new);
//! assert_eq!(captured.files.0, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod capture;
mod compact;
mod failure;
mod folder;
pub mod import;
mod left_out;
mod own;
mod progress;
mod recover;
mod recovery;
mod restore;
mod told;
mod tool;

use milepost::Engine;
use milepost_api::{JobRequest, JobResult};

pub use failure::{JobFailure, Result, recovered_text};
pub use folder::place;
pub use own::{is_own, is_trusted};
pub use recovery::{Recovered, begun_in, recover};
pub(crate) use restore::{FolderRestore, took_no_files};
pub use told::{Listener, Told};

/// Runs a job to its end. `user` owns the tasks that it starts, unless it names another user.
///
/// # Errors
///
/// Errors of the work, each with its remedy if it has one. A conflict of files has the plan as its
/// result.
pub fn run(engine: &Engine, asked: &JobRequest, user: &str, told: Told<'_>) -> Result<JobResult> {
    match asked {
        JobRequest::Capture(asked) => {
            capture::run(engine, asked, user, told).map(JobResult::Capture)
        }
        JobRequest::Restore(asked) => restore::run(engine, asked, told),
        JobRequest::Undo(asked) => restore::undo(engine, asked, told),
        JobRequest::Recover(asked) => recover::run(engine, asked),
        JobRequest::Import(asked) => import::run(engine, asked, user, told).map(JobResult::Import),
        JobRequest::ToolCall(asked) => {
            tool::call(engine, asked, user, told).map(JobResult::ToolCall)
        }
        JobRequest::ToolReturn(asked) => {
            tool::returned(engine, asked, told).map(JobResult::ToolReturn)
        }
        JobRequest::Compact(asked) => compact::run(engine, *asked, told).map(JobResult::Compact),
    }
}
