//! Participants in a checkpoint or a restore: the workspace, or an embedder's own resources.

use milepost_codec::{Body, Error, Hash, RestorePart, Result, Scope};

use crate::handles::engine::Engine;
use crate::handles::task::Task;
use crate::history::pending::PendingRestore;
use crate::history::point::Point;

/// Captures and restores resources outside the log, together with it.
///
/// Steps of a restore: each participant captures its present state; each prepares its changes
/// without making them; the plans are recorded; each applies its plan; one commit ends the restore
/// and activates the lineage; each removes what is no longer needed. If one fails, or the process
/// dies before that commit, the changes are undone.
pub trait Participant: Send + Sync {
    /// Returns the name, which is recorded and never changes.
    fn name(&self) -> &str;

    /// Captures the present state. Returns the events that record it, with their chunks stored and
    /// synced; none if the log has the state already.
    ///
    /// # Errors
    ///
    /// Any that prevents the capture: the restore ends there.
    fn capture(&self, at: &CaptureContext<'_>) -> Result<Vec<Body>>;

    /// Plans the restore without changing anything. The plan's chunks are stored and synced.
    ///
    /// # Errors
    ///
    /// `Conflict`: changes block the restore; the error lists them. Any other that prevents it.
    fn prepare(&self, going: &PrepareContext<'_>) -> Result<RestorePart>;

    /// Releases the resources held since [`Participant::capture`] and [`Participant::prepare`] if a
    /// restore ends before it begins, because of this participant or another one. `error` is the
    /// reason.
    fn release(&self, engine: &Engine, task: &Task, error: &Error) {
        let _ = (engine, task, error);
    }

    /// Applies the plan. Returns events for the restored lineage that describe the present.
    ///
    /// # Errors
    ///
    /// Any that stops it: [`Participant::abort`] undoes the changes made so far.
    fn apply(&self, engine: &Engine, pending: &PendingRestore) -> Result<Vec<Body>>;

    /// Undoes a restore that began and did not end, at any step. It may be called repeatedly.
    ///
    /// # Errors
    ///
    /// `Conflict`: another program changed a resource to undo. The undo stops there, and the
    /// restore stays pending. Any other that stops it.
    fn abort(&self, engine: &Engine, pending: &PendingRestore) -> Result<()>;

    /// Removes what a committed restore no longer needs. It may be called repeatedly.
    ///
    /// # Errors
    ///
    /// Any that stops it. The restore itself is complete.
    fn finish(&self, engine: &Engine, pending: &PendingRestore) -> Result<()>;
}

/// Context of a capture.
#[derive(Debug)]
#[non_exhaustive]
pub struct CaptureContext<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// The task, on its active lineage.
    pub task: &'a Task,
    /// The target of the restore that this capture precedes, if there is one.
    pub before: Option<&'a Point>,
}

impl CaptureContext<'_> {
    /// Returns the root of the last capture of the folder: see
    /// [`Captures::last`](crate::restore::Captures::last). What changed since is found by comparing
    /// with it. This reads the state; a participant that remembers the root need not call it.
    ///
    /// # Errors
    ///
    /// As [`View::run_state`](crate::View::run_state).
    pub fn known(&self) -> Result<Option<Hash>> {
        self.engine.last_capture(self.task)
    }

    /// Returns the root that the lineage names at its head. It is another one than the last capture
    /// after a switch, a redo or an undo of the state. A capture is recorded unless both are equal
    /// to it.
    ///
    /// # Errors
    ///
    /// As [`View::run_state`](crate::View::run_state).
    pub fn named(&self) -> Result<Option<Hash>> {
        let head = self.task.point(self.task.head()?.next)?;
        self.engine.workspace_at(&head)
    }
}

/// Context of a restore.
#[derive(Debug)]
#[non_exhaustive]
pub struct PrepareContext<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// The task, on the lineage that was active before the restore.
    pub task: &'a Task,
    /// The target point.
    pub to: &'a Point,
    /// The scope.
    pub scope: Scope,
    /// The root of the last capture of the folder before that of the present state.
    pub known: Option<Hash>,
    /// The root at the head now.
    pub present: Option<Hash>,
    /// The root at the target point.
    pub target: Option<Hash>,
}
