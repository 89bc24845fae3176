//! The workspace as a participant of a task.

// tidy: one trait implementation

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use milepost::events::WorkspaceCaptured;
use milepost::hooks::WorkspaceState;
use milepost::restore::{CaptureContext, PendingRestore, PrepareContext};
use milepost::{Body, Engine, Error, ErrorKind, Hash, Participant, Result, Task};
use milepost_codec::{
    Capture, ChunkId, ChunkList, Node, PathBytes, RestoreBegun, RestoreId, RestorePart, Skip,
    TreePath,
};
use parking_lot::Mutex;

use super::RestoreReport;
use super::by_hand::by_hand;
use super::calls_since::look_at_calls;
use super::present::{Remembered, Tree};
use super::record::Record;
use super::target::{Target, skips_of, target};
use crate::apply::{self, Failed, KeptEntry, Recovered, Restore};
use crate::capture::{self, NAME, Storage, Stored};
use crate::chunks::Chunks;
use crate::error;
use crate::fs::{Stamp, at_root};
use crate::lock::{Lock, Use};
use crate::plan::{Choices, PathConflict, Plan, Trees};
use crate::plan::{look_at_folder, look_at_left_out, make};
use crate::tree::{self, Budget};
use crate::workspace::Workspace;

/// Maximum number of paths that an error names.
const PATHS_MAX: usize = 10;

/// Lock timeout of a restore, which otherwise does not wait but reports the holder. A process that
/// is just being started holds its parent's locks for a moment.
pub(super) const SHORT_WAIT: Duration = Duration::from_millis(300);

/// A workspace that takes part in a task, with the user's choices for paths.
pub(super) struct WorkspaceParticipant {
    workspace: Workspace,
    choices: Choices,
    in_progress: Mutex<PreparedRestore>,
}

/// State of a restore under way.
#[derive(Default)]
struct PreparedRestore {
    lock: Option<Lock>,
    present: Option<Present>,
    preview: Plan,
    kept: Vec<KeptEntry>,
    /// The reason why the restore is undone.
    failed: Option<String>,
}

/// Tree of the folder's present content, and the skips of its scan.
type Present = (ChunkId, Vec<Skip>);

impl WorkspaceParticipant {
    pub(super) fn new(workspace: &Workspace, choices: &Choices) -> Self {
        Self {
            workspace: workspace.clone(),
            choices: choices.clone(),
            in_progress: Mutex::default(),
        }
    }

    pub(super) fn outcome(&self, task: Task) -> RestoreReport {
        let mut in_progress = self.in_progress.lock();
        let kept = std::mem::take(&mut in_progress.kept);
        let kept: Vec<PathBytes> = kept.into_iter().map(|kept| kept.kept).collect();
        let plan = std::mem::take(&mut in_progress.preview);
        RestoreReport { task, plan: Plan { kept: kept.clone(), done: true, ..plan }, kept }
    }

    /// Returns the folder that the last capture must name; `None` if the folder was moved.
    fn place(&self) -> Option<&Path> {
        Some(self.workspace.folder()).filter(|_| !self.choices.moved)
    }

    /// Returns the last capture of this folder.
    fn known(&self, engine: &Engine, task: &Task, known: Option<Hash>) -> Result<Option<Hash>> {
        match self.choices.moved {
            true => Ok(known),
            false => self.workspace.last_here(engine, task, known),
        }
    }

    /// Captures the folder; with `before`, as the present of a restore to that tree.
    fn store(&self, at: &CaptureContext<'_>, before: Option<ChunkId>) -> Result<Stored> {
        let as_chunk = |Hash(root): Hash| ChunkId(root);
        let known = self.known(at.engine, at.task, at.known()?)?.map(as_chunk);
        let named = at.named()?.map(as_chunk);
        let chunks = at.engine.store().chunks();
        let workspaces_dir = capture::workspaces_dir(&chunks)?;
        Stored::durable(&Storage {
            folder: self.workspace.folder(),
            options: self.workspace.options(),
            states: self.workspace.states(),
            chunks: &chunks,
            workspaces_dir: workspaces_dir.as_deref(),
            known,
            named,
            before,
            moved: self.choices.moved,
            kept: self.workspace.scan_state(),
            cancel: at.engine.cancel(),
        })
    }

    fn plan(&self, going: &PrepareContext<'_>) -> Result<(Record, Plan)> {
        let chunks = going.engine.store().chunks();
        let target = target(&chunks, going.target)?;
        let as_chunk = |Hash(root): Hash| ChunkId(root);
        let known = self.known(going.engine, going.task, going.known)?.map(as_chunk);
        let last = match known {
            Some(root) => capture::last(&chunks, &root, self.place())?,
            None => None,
        };
        let (present, skips) = self.in_progress.lock().present.take().ok_or_else(|| {
            Error::invalid("a restore of a workspace is prepared without its present")
        })?;
        let of = (going.task, going.to);
        let authors =
            self.workspace.authors(going.engine, &chunks, of, &target, &self.choices, present)?;
        let by_hand = match &authors {
            Some(_) => BTreeSet::new(),
            None => {
                let workspace = (!self.choices.moved).then_some(&self.workspace);
                by_hand(workspace, going.engine, going.task, going.to)?
            }
        };
        let last_skips = skips_of(&chunks, last.map(|(root, _)| root))?;
        let target_skips = skips_of(&chunks, Some(target.root))?;
        let mut failed = Ok(());
        let planned = make(
            &Trees {
                contents: &chunks,
                last: last.map(|(_, tree)| tree),
                target: target.capture.tree,
                says: Budget::of(&target.capture),
                present,
                skips: &skips,
                last_skips: &last_skips,
                target_skips: &target_skips,
                choices: &self.choices,
                elsewhere: self.workspace.is_elsewhere(&target.capture),
                by_hand: &by_hand,
                authors: authors.as_ref(),
            },
            &mut |_, content| {
                if failed.is_ok() {
                    failed = chunks.put(&[&content]).map(|_| ());
                }
            },
        )?;
        failed?;
        let mut preview = planned.preview;
        let folder = self.workspace.opened(&chunks)?;
        look_at_folder(&folder, &planned.actions, &mut preview)?;
        let then = self.workspace.then(going.task, going.to, &target.capture, &self.choices)?;
        look_at_left_out(folder.root(), &chunks, &then, &skips, &mut preview)?;
        look_at_calls(going.engine, going.task, going.to, &mut preview)?;
        let upcoming = self.upcoming(&chunks, planned.tree, &target, &skips)?;
        let mut needed: Vec<ChunkId> = known.into_iter().collect();
        needed.extend(going.present.map(as_chunk));
        let record = Record {
            plan: planned.actions,
            folder: self.workspace.identity()?,
            upcoming,
            target: target.root,
            needed,
        };
        Ok((record, preview))
    }

    /// Returns the capture of the folder after the restore: the target, if that has the same tree
    /// and left out the same paths.
    fn upcoming(
        &self,
        chunks: &dyn Chunks,
        tree: ChunkId,
        target: &Target,
        skips: &[Skip],
    ) -> Result<ChunkId> {
        let left_out = capture::store_skips(skips, chunks)?;
        let capture = &target.capture;
        let same = tree == capture.tree
            && left_out == capture.skips
            && !self.workspace.is_elsewhere(capture);
        match same {
            true => Ok(target.root),
            false => self.upcoming_capture(chunks, tree, capture, (skips.len() as u64, left_out)),
        }
    }

    /// Stores the capture of the tree after the restore: kept files and restored ones. If the
    /// target is a present, the new capture is one too: files that only a present saved are the
    /// user's own and were never recorded. A restore leaves the paths alone that the present left
    /// out.
    fn upcoming_capture(
        &self,
        chunks: &dyn Chunks,
        tree: ChunkId,
        target: &Capture,
        (skipped, skips): (u64, ChunkList),
    ) -> Result<ChunkId> {
        let counts = tree::count(chunks, &tree)?;
        let capture = Capture {
            present: target.present,
            over: target.over,
            folder: PathBytes::from(self.workspace.folder().as_os_str().as_bytes()),
            tree,
            files: counts.files,
            directories: counts.directories,
            links: counts.links,
            bytes: counts.bytes,
            skipped,
            skips,
        };
        let ids = chunks.put(&[&Node::Capture(capture).encode()])?;
        let id = ids.first().copied();
        id.ok_or_else(|| Error::corrupt("the store's answer", "the id of a capture", "none"))
    }

    /// Runs `work` on a recorded restore. `stamps`: known stamps of the folder, if no other scan
    /// ran since its capture.
    fn with_restore<T>(
        &self,
        engine: &Engine,
        begun: &RestoreBegun,
        stamps: &(dyn Fn(&TreePath) -> Option<Stamp> + Sync),
        work: impl FnOnce(&Restore<'_>, &Record) -> Result<T>,
    ) -> Result<T> {
        let chunks = engine.store().chunks();
        let record = Record::read(&chunks, begun)?;
        let identity = self.workspace.identity()?;
        if identity != record.folder {
            let folder = self.workspace.folder().display();
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("{folder} is another folder than the one that the restore was begun in"),
            ));
        }
        let folder = self.workspace.opened(&chunks)?;
        let restore = Restore {
            plan: &record.plan,
            contents: &chunks,
            folder: &folder,
            id: begun.restore,
            stamps,
            calls: &|_| Ok(()),
        };
        work(&restore, &record)
    }

    fn recover(
        &self,
        engine: &Engine,
        begun: &RestoreBegun,
        work: impl FnOnce(&Restore<'_>) -> Result<Recovered>,
    ) -> Result<()> {
        // A scan since then may have seen the folder half restored: its stamps are not used.
        let recovered = self.with_restore(engine, begun, &|_| None, |restore, _| work(restore));
        match recovered? {
            Recovered::Complete(kept) => {
                self.in_progress.lock().kept = kept;
                Ok(())
            }
            Recovered::Stopped(conflicts) => Err(conflict_error(&conflicts)),
        }
    }

    /// Returns the restores whose staging folders exist.
    pub(super) fn leftover_ids(&self) -> Result<Vec<RestoreId>> {
        let folder = self.workspace.folder();
        let names = at_root(folder).and_then(|root| root.names(usize::MAX));
        let names = names.map_err(|e| error::io("read", folder, &e.into()))?;
        let ids = names.iter().filter_map(|name| apply::restore_of(name));
        Ok(ids.collect())
    }

    /// Removes the leftovers of a restore that ended.
    pub(super) fn clear(&self, engine: &Engine, begun: &RestoreBegun) -> Result<()> {
        self.lock_folder(engine, self.workspace.options().wait, Use::Restore)?;
        let done = self.recover(engine, begun, apply::finish);
        self.in_progress.lock().lock = None;
        done
    }

    /// Releases the folder and reports the end.
    fn end(&self, engine: &Engine, task: &str, error: Option<&Error>) {
        self.in_progress.lock().lock = None;
        // Without an operation under way in this handle, there is nothing to report.
        let _ = self.workspace.ends(engine, task, error);
    }

    fn check_lock(&self) -> Result<()> {
        self.in_progress.lock().lock.as_ref().map_or(Ok(()), Lock::check)
    }

    fn lock_folder(&self, engine: &Engine, wait: Duration, purpose: Use) -> Result<()> {
        let mut in_progress = self.in_progress.lock();
        if in_progress.lock.is_none() {
            let workspaces_dir = capture::workspaces_dir(&engine.store().chunks())?;
            in_progress.lock = Some(Lock::take(
                self.workspace.folder(),
                workspaces_dir.as_deref(),
                wait,
                purpose,
            )?);
        }
        Ok(())
    }
}

impl Participant for WorkspaceParticipant {
    fn name(&self) -> &str {
        NAME
    }

    fn capture(&self, at: &CaptureContext<'_>) -> Result<Vec<Body>> {
        let (engine, task) = (at.engine, at.task.id());
        let Some(to) = at.before else {
            self.lock_folder(at.engine, self.workspace.options().wait, Use::Capture)?;
            let begins = WorkspaceState::Creating;
            self.workspace.go(engine, task, begins, None)?;
            let done = self.store(at, None);
            let done = done.and_then(|stored| self.check_lock().map(|()| stored));
            self.end(engine, task, done.as_ref().err());
            return done.map(|stored| bodies(stored.event));
        };
        let chunks = at.engine.store().chunks();
        let target = target(&chunks, at.engine.captures().at(to)?)?;
        let begins = WorkspaceState::Restoring;
        self.workspace.go(engine, task, begins, None)?;
        self.in_progress.lock().failed = None;
        self.lock_folder(at.engine, SHORT_WAIT, Use::Restore)?;
        let stored = self.store(at, Some(target.capture.tree))?;
        self.in_progress.lock().present = Some((stored.tree, stored.skips));
        Ok(bodies(stored.event))
    }

    fn prepare(&self, going: &PrepareContext<'_>) -> Result<RestorePart> {
        let (record, preview) = self.plan(going)?;
        if !preview.conflicts.is_empty() {
            return Err(conflict_error(&preview.conflicts));
        }
        let chunks = going.engine.store().chunks();
        let part = record.store(&chunks, self.workspace.folder())?;
        chunks.sync()?;
        self.in_progress.lock().preview = preview;
        Ok(part)
    }

    fn release(&self, engine: &Engine, task: &Task, error: &Error) {
        self.end(engine, task.id(), Some(error));
    }

    fn apply(&self, engine: &Engine, pending: &PendingRestore) -> Result<Vec<Body>> {
        let done = self.apply_plan(engine, pending);
        self.in_progress.lock().failed = done.as_ref().err().map(ToString::to_string);
        done
    }

    fn abort(&self, engine: &Engine, pending: &PendingRestore) -> Result<()> {
        self.lock_folder(engine, self.workspace.options().wait, Use::Restore)?;
        let undo = |restore: &Restore<'_>| apply::abort(restore, &self.choices);
        let aborted = self.recover(engine, &pending.begun, undo);
        let failed = self.in_progress.lock().failed.take();
        let failed = failed.unwrap_or_else(|| "the restore failed, and was undone".to_owned());
        let failed = Error::new(ErrorKind::Unavailable, failed);
        self.end(engine, &pending.task, Some(aborted.as_ref().err().unwrap_or(&failed)));
        aborted
    }

    fn finish(&self, engine: &Engine, pending: &PendingRestore) -> Result<()> {
        self.lock_folder(engine, self.workspace.options().wait, Use::Restore)?;
        let finished = self.recover(engine, &pending.begun, apply::finish);
        self.end(engine, &pending.task, finished.as_ref().err());
        finished
    }
}

impl WorkspaceParticipant {
    /// Carries out the recorded plan. Returns the event of the capture that the folder has then.
    fn apply_plan(&self, engine: &Engine, pending: &PendingRestore) -> Result<Vec<Body>> {
        let remembered = Remembered::of(&self.workspace, engine, &pending.begun)?;
        let stamps = |path: &TreePath| remembered.stamp(path);
        let done = self.with_restore(engine, &pending.begun, &stamps, |restore, record| {
            let chunks = engine.store().chunks();
            let capture = tree::capture(&chunks, &record.upcoming)?;
            let root = record.present()?;
            let present = tree::capture(&chunks, &root)?;
            apply::apply(restore, present.tree, capture.tree).map_err(why)?;
            let of = |capture, tree| Tree { capture, tree };
            let trees = (of(root, present.tree), of(record.upcoming, capture.tree));
            // Best effort: the cache only saves queries of the store.
            let _ = remembered.update_cache(&chunks, trees);
            Ok((record.upcoming, record.target, capture))
        })?;
        let (upcoming, target, capture) = done;
        // The lineage that the undo activates already ends with this capture.
        if pending.begun.undoes.is_some() && upcoming == target {
            return Ok(Vec::new());
        }
        let captured = WorkspaceCaptured {
            root: Hash(upcoming.0),
            files: capture.files,
            bytes: capture.bytes,
            skipped: capture.skipped,
        };
        Ok(vec![captured.into()])
    }
}

fn bodies(event: Option<WorkspaceCaptured>) -> Vec<Body> {
    event.into_iter().map(Body::from).collect()
}

/// Returns the error of a failed restore, with the reason if it could not be undone.
fn why(failed: Failed) -> Error {
    match failed.recovered {
        Ok(Recovered::Complete(_)) => failed.error,
        Ok(Recovered::Stopped(conflicts)) => failed.error.at(conflict_error(&conflicts)),
        Err(left) => failed.error.at(left),
    }
}

/// Converts conflicts to an error.
fn conflict_error(conflicts: &[PathConflict]) -> Error {
    let preview = conflicts.iter().take(PATHS_MAX);
    let preview = preview.map(|conflict| match &conflict.path {
        Some(path) => format!("`{path}`: {}", conflict.text),
        None => conflict.text.clone(),
    });
    let mut text: Vec<String> = preview.collect();
    if conflicts.len() > PATHS_MAX {
        text.push(format!("and {} more", conflicts.len() - PATHS_MAX));
    }
    Error::new(ErrorKind::Conflict, format!("the restore conflicts: {}", text.join("; ")))
}
