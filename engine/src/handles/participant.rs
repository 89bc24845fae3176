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
/// doing it; that is recorded; each applies it; one commit ends it and activates the lineage; each clears
/// up. Where one fails, or the process dies before that commit, what was done is taken back.
pub trait Participant: Send + Sync {
    /// Its name: recorded, and never changed.
    fn name(&self) -> &str;

    /// Captures the present. Gives the events that say so, whose chunks are stored and synced; none
    /// where the log says it already.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from it: the restore ends there.
    fn capture(&self, at: &Capturing<'_>) -> Result<Vec<Body>>;

    /// What it will do, without doing it. Its chunks are stored and synced.
    ///
    /// # Errors
    ///
    /// `Conflict` with what stands in the way, and whatever else keeps it from it.
    fn prepare(&self, going: &Going<'_>) -> Result<RestorePart>;

    /// Told where a restore ended before it began: since something stood in the way of this one or of
    /// another.
    fn let_go(&self, engine: &Engine, task: &Task) {
        let _ = (engine, task);
    }

    /// Does it. Gives the events that the lineage gets which the task goes on with: what there is now.
    ///
    /// # Errors
    ///
    /// Whatever kept it from it; what it did until then is taken back by [`Participant::recover`].
    fn apply(&self, engine: &Engine, pending: &PendingRestore) -> Result<Vec<Body>>;

    /// Takes back what was begun, or clears up behind it. May be called again and again.
    ///
    /// # Errors
    ///
    /// `Conflict` where somebody changed what it would take back: it stops there, and the restore stays
    /// pending; whatever else keeps it from it.
    fn recover(&self, engine: &Engine, pending: &PendingRestore, stand: Stand) -> Result<()>;
}

/// How a restore stands that is recovered from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stand {
    /// It has not ended: it is taken back.
    Open,
    /// It was done: what is left over is cleared up.
    Done,
}

/// What a participant captures.
#[derive(Debug)]
#[non_exhaustive]
pub struct Capturing<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// The task, and the lineage it goes on with.
    pub task: &'a Task,
    /// The point that will be gone back to: the present is captured to be gone back to from there.
    pub before: Option<&'a Point>,
}

impl Capturing<'_> {
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
pub struct Going<'a> {
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
