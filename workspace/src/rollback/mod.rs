//! Restores of a task together with its folder: the workspace as a participant, and the handle's
//! methods.
//!
//! ```text
//! authors      whose the changes since a point are
//! by_hand      files that were made outside of any run
//! calls_since  folders that captures do not have, and captures that came late
//! participant  the engine's requests to a workspace: capture, prepare, apply, abort, finish
//! present      stamps that the capture of the present recorded
//! record       a restore's record in the log, read again after a crash
//! target       the capture that a restore goes to
//! dry_run      hashes contents without storing them: for a plan
//! ```

mod authors;
mod by_hand;
mod calls_since;
mod dry_run;
mod participant;
mod present;
mod record;
mod target;

use std::collections::BTreeSet;
use std::sync::Arc;

use milepost::restore::PendingRestore;
use milepost::{Engine, Error, Hash, Participant, Point, Result, Scope, Task};
use milepost_codec::{ChunkId, PathBytes, RestoreOutcome};

use self::calls_since::look_at_calls;
pub(crate) use self::dry_run::Dry;
use self::participant::WorkspaceParticipant;
use crate::capture::{self, Storage};
use crate::chunks::{Chunks, Contents};
use crate::lock::{Lock, Use};
use crate::plan::{Choices, ConflictWhy, PathConflict, Plan, Trees};
use crate::plan::{look_at_folder, look_at_left_out, make};
use crate::scan::ScanResult;
use crate::tree;
use crate::workspace::Workspace;

/// Result of a restore that included the folder.
#[derive(Debug)]
#[non_exhaustive]
pub struct RestoreReport {
    /// The task, with its new active lineage.
    pub task: Task,
    /// Actions, path by path, with all that stays, and the files that were kept.
    pub plan: Plan,
    /// Paths below the folder where files were kept that another process wrote to while they were
    /// displaced or put in place: also in the plan.
    pub kept: Vec<PathBytes>,
}

/// Result of a recovery in a folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// `true` if an unfinished restore was undone.
    pub undone: bool,
    /// `true` if leftovers of a completed restore were removed.
    pub finished: bool,
}

impl Workspace {
    /// Plans a restore of the folder to a point, with its conflicts. Changes neither the folder nor
    /// the task. If a restore of the task was interrupted in the folder, the plan is for the time
    /// after its recovery.
    ///
    /// # Errors
    ///
    /// `NotFound`: the point has no captured workspace. `Unavailable`: the folder or the store
    /// cannot be read. `Corrupt`: the capture cannot be read. `Invalid`: choices contradict each
    /// other.
    pub fn plan(&self, engine: &Engine, to: &Point, choices: &Choices) -> Result<Plan> {
        let chunks = engine.store().chunks();
        let task = engine.task(&to.task)?;
        let known = engine.captures().last(&task)?;
        let known = if choices.moved { known } else { self.last_here(engine, &task, known)? };
        let target = target::target(&chunks, engine.captures().at(to)?)?;
        let workspaces_dir = capture::workspaces_dir(&chunks)?;
        let lock = Lock::take(
            self.folder(),
            workspaces_dir.as_deref(),
            participant::SHORT_WAIT,
            Use::Restore,
        );
        let dry = Dry::over(&chunks);
        let known = known.map(|Hash(root)| ChunkId(root));
        let (taken, mut looked) = capture::store(&Storage {
            folder: self.folder(),
            options: self.options(),
            states: &Arc::default(),
            chunks: &dry,
            workspaces_dir: workspaces_dir.as_deref(),
            known,
            // Nothing is recorded.
            named: known,
            before: Some(target.capture.tree),
            moved: choices.moved,
            kept: None,
            cancel: engine.cancel(),
        })?;
        self.look_behind_interrupted(engine, task.id(), &dry, &mut looked)?;
        let authors = self.authors(engine, &dry, (&task, to), &target, choices, looked.tree)?;
        let by_hand = match &authors {
            Some(_) => BTreeSet::new(),
            None => by_hand::by_hand((!choices.moved).then_some(self), engine, &task, to)?,
        };
        let last_skips = target::skips_of(&dry, taken.last.map(|(root, _)| root))?;
        let target_skips = target::skips_of(&dry, Some(target.root))?;
        let planned = make(
            &Trees {
                contents: &dry,
                last: taken.last.map(|(_, tree)| tree),
                target: target.capture.tree,
                says: tree::Budget::of(&target.capture),
                present: looked.tree,
                skips: &looked.skips,
                last_skips: &last_skips,
                target_skips: &target_skips,
                choices,
                elsewhere: self.is_elsewhere(&target.capture),
                by_hand: &by_hand,
                authors: authors.as_ref(),
            },
            &mut |_, content| {
                let _ = dry.put(&[&content]);
            },
        )?;
        let mut preview = planned.preview;
        // The restore creates a missing folder first.
        if !self.is_gone() {
            let folder = self.opened(&chunks)?;
            look_at_folder(&folder, &planned.actions, &mut preview)?;
            let then = self.then(&task, to, &target.capture, choices)?;
            look_at_left_out(folder.root(), &dry, &then, &looked.skips, &mut preview)?;
        }
        look_at_calls(engine, &task, to, &mut preview)?;
        if let Err(error) = lock {
            let text = error.to_string();
            let conflict = PathConflict::saying(None, ConflictWhy::Locked, text);
            preview.conflicts.push(conflict);
        }
        Ok(preview)
    }

    /// Replaces a scan of the folder by the capture from before an interrupted restore of the task.
    /// A restore undoes that one first.
    fn look_behind_interrupted(
        &self,
        engine: &Engine,
        task: &str,
        contents: &dyn Contents,
        looked: &mut ScanResult,
    ) -> Result<()> {
        for pending in engine.restores().pending()? {
            if pending.task == task
                && !self.is_gone()
                && self.began(&pending)?
                && let Some(root) = record::present_of(&pending.begun)
            {
                let present = tree::capture(contents, &root)?;
                (looked.tree, looked.skips) = (present.tree, tree::skips(contents, &present)?);
            }
        }
        Ok(())
    }

    /// Plans the undo of a task's last restore, with its conflicts. Changes neither the folder nor
    /// the task.
    ///
    /// # Errors
    ///
    /// As [`Workspace::plan`] and [`Restore::target`](milepost::Restore::target). `Invalid`: the
    /// last restore left the files alone, so an undo does too; or the choices leave the changes of
    /// others.
    pub fn plan_undo(&self, engine: &Engine, task: &str, choices: &Choices) -> Result<Plan> {
        check_undo(choices)?;
        let undo = engine.undo(task);
        let to = undo.target()?;
        if !undo.restores_files()? {
            return Err(Error::invalid(format!(
                "the last restore of task `{task}` took no files back: an undo leaves them"
            )));
        }
        self.plan(engine, &to, choices)
    }

    /// Restores a point with the folder: state, conversation, tool calls and files together, or
    /// none of them; with [`Scope::Files`] only the files. The present content is captured and
    /// marked first, so that [`Workspace::undo`] brings it back.
    ///
    /// # Errors
    ///
    /// As [`Restore::run`](milepost::Restore::run). `Conflict`: a path is in the way, or another
    /// process changed one during the restore; the message names the paths, [`Workspace::plan`]
    /// gives details.
    /// `Unavailable`: another process holds the folder, the disk has not enough room, or the system
    /// refuses. On error, the folder is as it was before.
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
        let mut restore = engine.restore(to).with(Arc::clone(&participant) as _).scope(scope);
        if let Some(description) = description {
            restore = restore.description(description);
        }
        let task = restore.run()?;
        Ok(participant.outcome(task))
    }

    /// Undoes the last restore of a task, with the folder if the restore included it.
    ///
    /// # Errors
    ///
    /// As [`Restore::run`](milepost::Restore::run) and [`Workspace::restore`]. `Invalid`: the
    /// choices leave the changes of others.
    pub fn undo(&self, engine: &Engine, task: &str, choices: &Choices) -> Result<RestoreReport> {
        check_undo(choices)?;
        self.recover(engine, task, choices)?;
        let participant = Arc::new(WorkspaceParticipant::new(self, choices));
        let task = engine.undo(task).with(Arc::clone(&participant) as _).run()?;
        Ok(participant.outcome(task))
    }

    /// Undoes an interrupted restore of a task in this folder, and removes leftovers of ended ones.
    /// The folder may have been moved since.
    ///
    /// # Errors
    ///
    /// `Conflict`: another process changed paths since; all other paths are as before the restore,
    /// and choices for these let the recovery continue. `Unavailable`: another process holds the
    /// folder, or the system refuses. `NotFound`: there is no such task.
    pub fn recover(&self, engine: &Engine, task: &str, choices: &Choices) -> Result<Recovery> {
        let participant = Arc::new(WorkspaceParticipant::new(self, choices));
        let mut recovery = Recovery::default();
        for pending in engine.restores().pending()? {
            if pending.task != task {
                continue;
            }
            if record::is_of(&pending.begun, self.folder()) || self.began(&pending)? {
                let with = [Arc::clone(&participant) as Arc<dyn Participant>];
                engine.restores().recover(&pending, &with)?;
                recovery.undone = true;
            }
        }
        let leftover = participant.leftover_ids()?;
        if !leftover.is_empty() {
            for past in engine.restores().of_task(task)? {
                // Leftovers of an abandoned restore stay.
                let done = match past.ended.map(|ended| ended.outcome) {
                    Some(RestoreOutcome::Done) => true,
                    Some(RestoreOutcome::Undone) => false,
                    Some(RestoreOutcome::GivenUp) | None => continue,
                };
                if leftover.contains(&past.begun.restore) {
                    participant.clear(engine, &past.begun)?;
                    recovery.finished |= done;
                }
            }
        }
        Ok(recovery)
    }

    /// Returns `true` if a restore began in this folder. The folder is identified by device and
    /// inode, so it may have been moved.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the folder cannot be examined. `Corrupt`: the record cannot be read.
    pub fn began(&self, pending: &PendingRestore) -> Result<bool> {
        Ok(record::folder_of(&pending.begun)? == Some(self.identity()?))
    }

    /// Returns the workspace as a participant of tasks: see
    /// [`Restores::join`](milepost::restore::Restores::join).
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
    /// let _joined = engine.restores().join(&task, workspace.participant())?;
    ///
    /// std::fs::write(folder.join("draft.md"), "good")?;
    /// task.checkpoint(Mark::new().label("good"))?; // captures the folder
    /// std::fs::write(folder.join("draft.md"), "worse")?;
    /// task.checkpoint(Mark::new().label("worse"))?;
    ///
    /// let to = engine.point("essay@good")?;
    /// workspace.restore(&engine, &to, Scope::All, None, &Choices::default())?;
    /// assert_eq!(std::fs::read(folder.join("draft.md"))?, b"good");
    /// engine.undo("essay").run()?;
    /// assert_eq!(std::fs::read(folder.join("draft.md"))?, b"worse");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn participant(&self) -> Arc<dyn Participant> {
        Arc::new(WorkspaceParticipant::new(self, &Choices::default()))
    }
}

/// Fails for choices that are for restores only: an undo reverts a whole restore.
fn check_undo(choices: &Choices) -> Result<()> {
    match choices.leave_others {
        false => Ok(()),
        true => Err(Error::invalid(
            "an undo takes back the whole restore: `leave_others` is for restores",
        )),
    }
}
