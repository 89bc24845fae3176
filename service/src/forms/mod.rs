//! Conversions between the engine's types and the forms of the API.
//!
//! ```text
//! answers      tasks, events, checkpoints, points, reports
//! summaries    summaries of tasks
//! files        captured files
//! restores     restores, plans of files
//! retention    cleanups
//! attachments  attached data
//! requests     requests to arguments of the engine
//! ```

// tidy: names the parts

mod answers;
mod attachments;
mod files;
mod requests;
mod restores;
mod retention;
mod summaries;

pub use answers::{
    appended, blamed, change, changes, checkpoint, disk, event, event_at, lineage, page, pin,
    place, point, repair, store, task, task_stats, total, verification,
};
pub use attachments::{attachment, to_attachment};
pub use files::{file, file_changes, workspace_state};
pub use requests::{choices, guidance, mark, mark_at, policy};
pub use restores::{files_plan, plan_of_files, restored, with_files};
pub use retention::{done_cleanup, planned_cleanup};
pub use summaries::{summary, usage};
