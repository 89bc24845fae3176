//! Retention: removal of checkpoints and events, described in `docs/RETENTION.md`.
//!
//! ```text
//! policy        the checkpoints to keep
//! plan          the checkpoints that a policy removes, and the bytes that this frees
//! reachability  the events that the kept checkpoints need
//! apply         executes a plan: unmarks checkpoints, trims and drops lineages
//! unmark        removes single checkpoints
//! attached      attached data, when checkpoints or events are removed
//! pins          checkpoints that no policy removes
//! delete        deletes tasks
//! erase         erases bodies
//! erase_steps   removes checkpoints together with the content of their steps
//! compact       removes withdrawn content from the disk
//! ```

mod apply;
mod attached;
mod captures;
mod compact;
mod delete;
mod erase;
mod erase_steps;
mod pins;
mod plan;
mod policy;
mod reachability;
mod unmark;
mod view;

pub use apply::{RetentionReport, TaskRetained};
pub use captures::CapturesPlan;
pub use compact::{CompactionPlan, CompactionReport};
pub use erase_steps::Unmarked;
pub use pins::Pin;
pub use plan::{RetentionPlan, TaskPlan};
pub use policy::Policy;

pub use milepost_store::CompactionStep;

use crate::handles::engine::Engine;

/// Removal of content, and pins: see [`Engine::retention`].
#[derive(Debug, Clone, Copy)]
pub struct Retention<'a> {
    engine: &'a Engine,
}

impl Engine {
    /// Returns the operations that remove checkpoints, events and tasks, by a policy or on request,
    /// and those that pin checkpoints to protect them from policies.
    pub fn retention(&self) -> Retention<'_> {
        Retention { engine: self }
    }
}
