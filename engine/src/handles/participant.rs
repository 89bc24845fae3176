//! What takes part in a checkpoint or a restore beside the log: the workspace, or an embedder's own
//! resources.

use milepost_codec::{Body, Hash, RestorePart, Result, Scope};

use crate::handles::engine::Engine;
use crate::handles::task::Task;
use crate::history::pending::PendingRestore;
use crate::history::point::Point;

/// Brings back what is outside of the log, with it.
///
/// A restore goes so: each participant captures the present; each prepares what it will do, without
/// doing it; that is recorded; each applies it; one commit ends it and activates the lineage; each
/// clears up. Where one fails, or the process dies before that commit, what was done is taken back.
pub trait Participant: Send + Sync {
    /// Its name: recorded, and never changed.
    fn name(&self) -> &str;

    /// Captures the present. Gives the events that say so, whose chunks are stored and synced; none
    /// where the log says it already.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from it: the restore ends there.
    fn capture(&self, at: &CaptureContext<'_>) -> Result<Vec<Body>>;

    /// Plans the restore without changing anything. The plan's chunks are stored and synced.
    ///
    /// # Errors
    ///
    /// `Conflict` with what stands in the way, and whatever else keeps it from it.
    fn prepare(&self, going: &PrepareContext<'_>) -> Result<RestorePart>;

    /// Releases what [`Participant::capture`] and [`Participant::prepare`] hold, where a restore
    /// ends before it begins: because this participant refused, or another one.
    fn release(&self, engine: &Engine, task: &Task) {
        let _ = (engine, task);
    }

    /// Applies the plan. Returns events for the restored lineage that describe the present.
    ///
    /// # Errors
    ///
    /// Any that stops it; [`Participant::abort`] undoes what was done until then.
    fn apply(&self, engine: &Engine, pending: &PendingRestore) -> Result<Vec<Body>>;

    /// Undoes a restore that began and did not end, wherever it stopped. It may be called
    /// repeatedly.
    ///
    /// # Errors
    ///
    /// `Conflict` where somebody changed what it would undo: it stops there, and the restore stays
    /// pending. Any other error that stops it.
    fn abort(&self, engine: &Engine, pending: &PendingRestore) -> Result<()>;

    /// Removes what a committed restore no longer needs. It may be called repeatedly.
    ///
    /// # Errors
    ///
    /// Any that stops it: the restore itself is done.
    fn finish(&self, engine: &Engine, pending: &PendingRestore) -> Result<()>;
}

/// What a participant captures.
#[derive(Debug)]
#[non_exhaustive]
pub struct CaptureContext<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// The task, and the lineage it goes on with.
    pub task: &'a Task,
    /// The point that will be gone back to: the present is captured to be gone back to from there.
    pub before: Option<&'a Point>,
}

impl CaptureContext<'_> {
    /// The root of the workspace that the head of the task names. It is looked up for this: whoever
    /// remembers it need not ask.
    ///
    /// # Errors
    ///
    /// As [`Engine::run_state`].
    pub fn known(&self) -> Result<Option<Hash>> {
        let head = self.task.point(self.task.head()?.next)?;
        self.engine.workspace_at(&head)
    }
}

/// Where a restore goes.
#[derive(Debug)]
#[non_exhaustive]
pub struct PrepareContext<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// The task, and the lineage it went on with.
    pub task: &'a Task,
    /// The point gone back to.
    pub to: &'a Point,
    /// How much goes back.
    pub scope: Scope,
    /// The root of the workspace that the head named before the present was captured.
    pub known: Option<Hash>,
    /// The root that the head names now.
    pub present: Option<Hash>,
    /// The root that the point names.
    pub target: Option<Hash>,
}
