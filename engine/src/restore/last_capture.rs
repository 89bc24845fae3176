//! The last capture of a task's folder, also where the active lineage changed without the files.

use milepost_codec::{
    Body, ChunkId, FilesKept, Hash, LineageId, Node, NodeKind, Result, Seq, TaskNo,
    WorkspaceCaptured,
};

use crate::commit::committer::is_overtaken;
use crate::handles::engine::Engine;
use crate::handles::hooks::{WorkspaceChange, WorkspaceState};
use crate::handles::lineage::Lineage;
use crate::handles::task::Task;
use crate::history::point::Point;

/// The folder of a task before an activation that leaves the files as they are.
pub(super) struct FolderState {
    /// The last capture, and the lineage that names it, if the point to activate names another.
    kept: Option<(Hash, LineageId)>,
    /// The commit up to which that was read. A later capture or activation may change it.
    pub(super) seen: Seq,
}

impl FolderState {
    /// Returns the event that follows the activation `epoch` of a lineage at this point.
    pub(super) fn after_activation(&self, epoch: u64, at: &Point) -> Option<FilesKept> {
        let kept = |(root, lineage)| FilesKept { epoch, root, lineage, from: at.offset };
        self.kept.map(kept)
    }
}

impl Engine {
    /// Returns the root of the last capture of a task's folder: see [`Captures::last`].
    pub(crate) fn last_capture(&self, task: &Task) -> Result<Option<Hash>> {
        if self.inner.catalog.active(task.no())?.1.lineage != task.lineage().id() {
            return self.workspace_at(&task.point(task.head()?.next)?);
        }
        Ok(self.folder_capture(task.no())?.map(|(root, _)| root))
    }

    /// Returns the root of the last capture of a task's folder, and the lineage that names it.
    fn folder_capture(&self, no: TaskNo) -> Result<Option<(Hash, LineageId)>> {
        let catalog = &self.inner.catalog;
        let (active, kept) = catalog.files_kept(no)?;
        if let Some(kept) = kept {
            return Ok(Some((kept.root, kept.lineage)));
        }
        let lineage = Lineage::new(self, no, active, None)?;
        let named = self.workspace_at(&lineage.point(lineage.head()?.next)?)?;
        Ok(named.map(|root| (root, active)))
    }

    /// Runs an activation that leaves the files as they are, with the state of the folder. Runs it
    /// again if a capture or another activation was committed in between.
    pub(super) fn with_folder_state<T>(
        &self,
        to: &Point,
        activate: impl Fn(&FolderState) -> Result<T>,
    ) -> Result<T> {
        loop {
            let seen = self.inner.catalog.log().seq();
            let last = self.folder_capture(to.no)?;
            let kept = match last {
                Some((root, _)) if self.workspace_at(to)? != Some(root) => last,
                _ => None,
            };
            match activate(&FolderState { kept, seen }) {
                Err(error) if is_overtaken(&error) => {}
                done => return done,
            }
        }
    }

    /// Returns the capture event of a state-only restore. The files stay, so it names the last
    /// capture.
    pub(super) fn carried(&self, folder: &FolderState) -> Result<Vec<Body>> {
        let Some((root, _)) = folder.kept else {
            return Ok(Vec::new());
        };
        let Some(content) = self.inner.catalog.log().get_chunk(&ChunkId(root.0))? else {
            // It is lost. No event may name missing content.
            return Ok(Vec::new());
        };
        // The counts are informational. If they cannot be read they are 0, and the root is still
        // valid.
        let (files, bytes, skipped) = match Node::decode_as(&content, NodeKind::Capture) {
            Ok(Node::Capture(capture)) => (capture.files, capture.bytes, capture.skipped),
            _ => (0, 0, 0),
        };
        let captured = WorkspaceCaptured { root, files, bytes, skipped };
        Ok(vec![captured.into()])
    }
}

/// Captures of folders: see [`Engine::captures`].
#[derive(Debug, Clone, Copy)]
pub struct Captures<'a> {
    engine: &'a Engine,
}

impl Engine {
    /// Returns the operations on captures of folders.
    pub fn captures(&self) -> Captures<'_> {
        Captures { engine: self }
    }
}

impl Captures<'_> {
    /// Returns the root of the workspace at a point: that of the last capture before it.
    ///
    /// # Errors
    ///
    /// As [`View::run_state`](crate::View::run_state).
    pub fn at(&self, point: &Point) -> Result<Option<Hash>> {
        self.engine.workspace_at(point)
    }

    /// Returns the root of the last capture of a task's folder. Usually that is the last one before
    /// the head. A [switch](crate::View::switch), a redo, and an undo of the state leave the files
    /// as they are: until the next capture, the last one is that of the lineage before. For a
    /// handle on another lineage than the active one, it is the last one before the head of that.
    ///
    /// # Errors
    ///
    /// As [`View::run_state`](crate::View::run_state).
    pub fn last(&self, task: &Task) -> Result<Option<Hash>> {
        self.engine.last_capture(task)
    }

    /// Returns the activations that left the files of the folder as they were, in order: each
    /// [switch](crate::View::switch), redo and undo of the state after which the activated lineage
    /// names another capture than the folder's last one.
    ///
    /// # Errors
    ///
    /// `NotFound`: the task was deleted. `Unavailable`: the store is closed.
    pub fn kept(&self, task: &Task) -> Result<Vec<(LineageId, FilesKept)>> {
        self.engine.inner.catalog.all_files_kept(task.no())
    }

    /// Returns the lineage whose head names the last capture of a task's folder. It is another one
    /// than the active lineage after a [switch](crate::View::switch), a redo or an undo of the
    /// state, until the next capture.
    ///
    /// # Errors
    ///
    /// `NotFound`: the task was deleted. `Unavailable`: the store is closed.
    pub fn lineage(&self, task: &Task) -> Result<LineageId> {
        let (active, kept) = self.engine.inner.catalog.files_kept(task.no())?;
        Ok(kept.map_or(active, |kept| kept.lineage))
    }

    /// Returns the last change of the workspace of the task with this id: a capture or restore that
    /// began or ended. `None` if there was none since this process opened the store.
    ///
    /// ```
    /// use milepost::{Engine, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// engine.start_task("essay", "ana")?;
    /// assert_eq!(engine.captures().last_change("essay"), None);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    pub fn last_change(&self, task: &str) -> Option<WorkspaceChange> {
        self.engine.inner.workspaces.of(task)
    }

    /// Reports a change of a workspace to all hooks, and counts captures. For programs that manage
    /// a workspace, such as the crate `milepost-workspace`.
    pub fn report(&self, change: &WorkspaceChange) {
        let ended = (change.before, change.state);
        if ended == (WorkspaceState::Creating, WorkspaceState::Idle) {
            let meters = &self.engine.inner.meters;
            meters.captures.add(1);
            meters.capture_files.add(change.files);
            meters.capture_files_read.add(change.read);
            meters.capture_us.record(change.took_us);
        }
        let change = WorkspaceChange { time_us: self.engine.inner.now_us(), ..change.clone() };
        // A task that was deleted in between has no folder; another one may have its id.
        if self.engine.task(&change.task).is_ok() {
            self.engine.inner.workspaces.keep(change.clone());
        }
        let hooks = &self.engine.inner.options.hooks;
        hooks.tell("a workspace", |hook| hook.on_workspace(&change));
    }
}
