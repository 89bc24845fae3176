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

pub use apply::{RetentionReport, TaskRetained};
pub use captures::CapturesPlan;
pub use compact::{CompactionPlan, CompactionReport};
pub use erase_steps::Unmarked;
pub use pins::Pin;
pub use plan::{RetentionPlan, TaskPlan};
pub use policy::Policy;

pub use milepost_store::CompactionStep;

use std::ops::Deref;

use crate::handles::engine::Engine;
use crate::handles::view::View;

/// Pins, and removal of content on request, for the tasks of a view: see [`View::retention`].
#[derive(Debug, Clone, Copy)]
pub struct ViewRetention<'a> {
    view: &'a View,
}

/// Retention of a whole store: see [`Engine::retention`]. It dereferences to that of single
/// checkpoints, events and tasks.
#[derive(Debug, Clone, Copy)]
pub struct Retention<'a> {
    of_view: ViewRetention<'a>,
    engine: &'a Engine,
}

impl<'a> Deref for Retention<'a> {
    type Target = ViewRetention<'a>;

    fn deref(&self) -> &ViewRetention<'a> {
        &self.of_view
    }
}

impl View {
    /// Returns the operations that remove checkpoints, events and tasks on request, and those that
    /// pin checkpoints to protect them from policies.
    pub fn retention(&self) -> ViewRetention<'_> {
        ViewRetention { view: self }
    }
}

impl Engine {
    /// Returns the operations that remove content by a policy or a user's tasks, compact the store,
    /// and those of [`View::retention`].
    pub fn retention(&self) -> Retention<'_> {
        Retention { of_view: View::retention(self), engine: self }
    }
}
