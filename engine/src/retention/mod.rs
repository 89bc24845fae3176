//! What is kept, and what goes: `docs/RETENTION.md`.
//!
//! ```text
//! policy.rs   what is to be kept
//! plan.rs     which checkpoints go by it, and what that frees
//! needs.rs    which events the rest needs
//! apply.rs    a plan, done: marks removed, lineages trimmed and dropped
//! remove.rs   checkpoints that go because somebody asks
//! pins.rs     checkpoints that are kept whatever a policy says
//! delete.rs   tasks that are deleted
//! erase.rs    bodies that are erased
//! compact.rs  what went leaves the disk
//! ```

mod apply;
mod captures;
mod compact;
mod delete;
mod erase;
mod needs;
mod pins;
mod plan;
mod policy;
mod remove;

pub use apply::{RetentionReport, TaskRetained};
pub use captures::CapturesPlan;
pub use compact::{CompactionPlan, CompactionReport};
pub use pins::Pin;
pub use plan::{RetentionPlan, TaskPlan};
pub use policy::Retention;
