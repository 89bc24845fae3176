//! PrepareContext back with the folder: a workspace as it takes part in what a task does, and the
//! handle's methods for it.
//!
//! ```text
//! by_hand      files that were made outside of any run
//! participant  the engine's requests to a workspace: capture, prepare, apply, recover
//! present      stamps and hashes that the capture of the present found
//! record       a restore's record in the log, read again after a crash
//! dry_run      hashes contents without storing them: for a plan
//! ```

mod by_hand;
mod dry_run;
mod participant;
mod present;
mod record;

use std::sync::Arc;

use milepost::{
    Engine, Error, Hash, LineageType, Participant, PendingRestore, Point, Result, Scope, Task,
};
use milepost_codec::{ChunkId, PathBytes, RestoreOutcome};

pub(crate) use self::dry_run::Dry;
use self::participant::WorkspaceParticipant;
pub(crate) use self::record::NAME;
use crate::capture::{self, Storage};
use crate::chunks::Chunks;
use crate::lock::Lock;
use crate::plan::{Choices, ConflictWhy, PathConflict, Plan, Trees, look_at_folder, make};
use crate::workspace::Workspace;

/// What came of a restore that took the folder along.
#[derive(Debug)]
#[non_exhaustive]
pub struct RestoreReport {
    /// The task, and the lineage that it goes on with.
    pub task: Task,
    /// What was done, path by path.
    pub plan: Plan,
    /// What was written to while it was displaced, or put where it was: it was kept, at these
    /// places below the folder.
    pub kept: Vec<PathBytes>,
}

/// What recovery did in a folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// Whether a restore that had not ended was taken back.
    pub taken_back: bool,
    /// Whether a restore was cleared up behind that had ended, with the folder gone back.
    pub finished: bool,
}

impl Workspace {
    /// What going back to a point would do with the folder, and what stands in its way. Nothing of
    /// the folder or the task is changed.
    ///
    /// # Errors
    ///
    /// `NotFound`: the point has no captured workspace. `Unavailable`: the folder or the store
    /// cannot be read. `Corrupt`: the capture cannot be read. `Invalid`: choices contradict each
    /// other.
    pub fn plan(&self, engine: &Engine, to: &Point, choices: &Choices) -> Result<Plan> {
        let chunks = engine.chunk_store();
        let task = engine.task(&to.task)?;
        let known = engine.workspace_at(&task.point(task.head()?.next)?)?;
        let target = participant::target(&chunks, engine.workspace_at(to)?)?;
        let beside = capture::beside(&chunks)?;
        let lock = Lock::take(self.folder(), beside.as_deref(), participant::A_MOMENT);
        let dry = Dry::over(&chunks);
        let known = known.map(|Hash(root)| ChunkId(root));
        let (taken, looked) = capture::store(&Storage {
            folder: self.folder(),
            options: self.options(),
            states: &Arc::default(),
            chunks: &dry,
            beside: beside.as_deref(),
            known,
            before: Some(target.capture.tree),
            moved: choices.moved,
            kept: None,
        })?;
        let made = make(
            &Trees {
                contents: &dry,
                last: taken.last.map(|(_, tree)| tree),
                target: target.capture.tree,
                says: crate::tree::Budget::of(&target.capture),
                present: looked.tree,
                skips: &looked.skips,
                choices,
                elsewhere: self.is_elsewhere(&target.capture),
                by_hand: &by_hand::by_hand(engine, &task, to)?,
            },
            &mut |_, content| {
                let _ = dry.put(&[&content]);
            },
        )?;
        let mut shown = made.shown;
        look_at_folder(&self.opened(&chunks)?, &made.actions, &mut shown)?;
        if let Err(error) = lock {
            let text = error.to_string();
            let conflict = PathConflict::saying(None, ConflictWhy::Locked, text);
            shown.conflicts.push(conflict);
        }
        Ok(shown)
    }

    /// What taking the last restore of a task back would do with the folder, and what stands in its
    /// way. Nothing of the folder or the task is changed.
    ///
    /// # Errors
    ///
    /// As [`Workspace::plan`] and [`Engine::undo_point`]. `Invalid`: the last restore took no files
    /// back, so an undo leaves them.
    pub fn plan_undo(&self, engine: &Engine, task: &str, choices: &Choices) -> Result<Plan> {
        let to = engine.undo_point(task)?;
        let active = engine.task(task)?.lineage().info()?;
        if active.lineage_type != LineageType::Rollback {
            return Err(Error::invalid(format!(
                "the last restore of task `{task}` took no files back: an undo leaves them"
            )));
        }
        self.plan(engine, &to, choices)
    }

    /// Goes back to a point with the folder: state, conversation, tool calls and files together, or
    /// none of them; with [`Scope::Files`] the files only. What is there now is captured and marked
    /// first, so that [`Workspace::undo`] brings it back.
    ///
    /// # Errors
    ///
    /// As [`Engine::restore_with`]. `Conflict`: something stands in the way, or somebody changed a
    /// path meanwhile; the message names the paths, [`Workspace::plan`] tells more. `Unavailable`:
    /// somebody else has the folder, the disk has not enough room, or the system refuses. The
    /// folder is as it was then.
    pub fn restore(
        &self,
        engine: &Engine,
        to: &Point,
        scope: Scope,
        description: Option<&str>,
        choices: &Choices,
    ) -> Result<RestoreReport> {
        self.recover(engine, &to.task, choices)?;
        let participant = Arc::new(WorkspaceParticipant::new(self, choices));
        let with = [Arc::clone(&participant) as Arc<dyn Participant>];
        let task = engine.restore_with(to, scope, description, &with)?;
        Ok(participant.outcome(task))
    }

    /// Takes the last restore of a task back: with the folder, where it went back with it.
    ///
    /// # Errors
    ///
    /// As [`Engine::undo_with`] and [`Workspace::restore`].
    pub fn undo(&self, engine: &Engine, task: &str, choices: &Choices) -> Result<RestoreReport> {
        self.recover(engine, task, choices)?;
        let participant = Arc::new(WorkspaceParticipant::new(self, choices));
        let with = [Arc::clone(&participant) as Arc<dyn Participant>];
        let task = engine.undo_with(task, &with)?;
        Ok(participant.outcome(task))
    }

    /// Takes back a restore of a task that was cut short in this folder, and clears up what one
    /// left that had ended. The folder may have been moved since.
    ///
    /// # Errors
    ///
    /// `Conflict`: somebody changed paths since; all others are as they were before, and choices
    /// for these go on. `Unavailable`: somebody else has the folder, or the system refuses.
    /// `NotFound`: there is no such task.
    pub fn recover(&self, engine: &Engine, task: &str, choices: &Choices) -> Result<Recovery> {
        let participant = Arc::new(WorkspaceParticipant::new(self, choices));
        let mut recovery = Recovery::default();
        for pending in engine.pending_restores()? {
            if pending.task != task {
                continue;
            }
            if record::is_of(&pending.begun, self.folder()) || self.began(&pending)? {
                let with = [Arc::clone(&participant) as Arc<dyn Participant>];
                engine.recover(&pending, &with)?;
                recovery.taken_back = true;
            }
        }
        let left = participant.left_over()?;
        if !left.is_empty() {
            for past in engine.restores_of(task)? {
                // What was given up is left as it is.
                let done = match past.ended.map(|ended| ended.outcome) {
                    Some(RestoreOutcome::Done) => true,
                    Some(RestoreOutcome::Undone) => false,
                    Some(RestoreOutcome::GivenUp) | None => continue,
                };
                if left.contains(&past.begun.restore) {
                    participant.clear(engine, &past.begun)?;
                    recovery.finished |= done;
                }
            }
        }
        Ok(recovery)
    }

    /// Whether a restore was begun in this folder, wherever the folder was then: it is known by its
    /// device and inode.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the folder cannot be looked at. `Corrupt`: what was recorded cannot be read.
    pub fn began(&self, pending: &PendingRestore) -> Result<bool> {
        Ok(record::folder_of(&pending.begun)? == Some(self.identity()?))
    }

    /// The workspace as it takes part in a task: see [`Engine::join`].
    ///
    /// ```
    /// use milepost::{Engine, Mark, Options, Scope};
    /// use milepost_workspace::{Choices, Workspace, WorkspaceOptions};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let (store, folder) = (dir.path().join("store"), dir.path().join("work"));
    /// # std::fs::create_dir(&folder)?;
    /// let engine = Engine::open(store, Options::default())?;
    /// let task = engine.start_task("essay", "ana")?;
    /// let workspace = Workspace::open(&folder, WorkspaceOptions::default())?;
    /// let _joined = engine.join(&task, workspace.participant())?;
    ///
    /// std::fs::write(folder.join("draft.md"), "good")?;
    /// task.checkpoint(Mark::new().label("good"))?; // captures the folder
    /// std::fs::write(folder.join("draft.md"), "worse")?;
    /// task.checkpoint(Mark::new().label("worse"))?;
    ///
    /// let to = engine.point("essay@good")?;
    /// workspace.restore(&engine, &to, Scope::All, None, &Choices::default())?;
    /// assert_eq!(std::fs::read(folder.join("draft.md"))?, b"good");
    /// engine.undo("essay")?;
    /// assert_eq!(std::fs::read(folder.join("draft.md"))?, b"worse");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn participant(&self) -> Arc<dyn Participant> {
        Arc::new(WorkspaceParticipant::new(self, &Choices::default()))
    }
}
