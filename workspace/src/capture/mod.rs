//! One capture, from the lock to the event.

mod last_here;
mod store;

use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use milepost::events::WorkspaceCaptured;
use milepost::hooks::WorkspaceState;
use milepost::{Append, CheckpointId, Engine, Hash, Mark, Offset, Result, Task};
use milepost_codec::ChunkId;

pub(crate) use self::store::{Storage, Stored, last, store, store_skips};
use crate::chunks::Chunks;
use crate::error;
use crate::lock::{Lock, Use};
use crate::workspace::Workspace;

/// Name under which workspaces participate in tasks.
pub(crate) const NAME: &str = "workspace";

/// Name of the store's folder for workspaces.
const STORE_SUBDIR: &str = "workspace";

/// Result of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaptureReport {
    /// Id of the capture.
    pub root: Hash,
    /// Offset of the event; `None` if the lineage names the capture already.
    pub appended: Option<Offset>,
    /// The checkpoint, if one was requested.
    pub checkpoint: Option<CheckpointId>,
    /// Number of files in the capture.
    pub files: u64,
    /// Total size of the files in bytes.
    pub bytes: u64,
    /// Number of files read; the others are unchanged since the last read.
    pub read: u64,
    /// Number of contents given to the store: chunks of files, and nodes. The store may have had
    /// some of them.
    pub stored: u64,
    /// `true` if the whole folder was scanned; otherwise only changes since the last scan, see
    /// [`WorkspaceOptions::watch`](crate::WorkspaceOptions::watch).
    pub whole: bool,
    /// Number of paths left out.
    pub skips: u64,
}

/// Purpose of a capture.
#[derive(Clone, Copy, Default)]
struct Purpose<'a> {
    /// True before and after a call: the event is appended even if nothing changed.
    is_for_call: bool,
    key: Option<&'a str>,
    actor: Option<&'a str>,
}

impl Workspace {
    /// Captures the folder: stores its contents and appends an event, with a checkpoint in the same
    /// commit if `mark` is given. If the folder equals its last capture, and the lineage names that
    /// one, only the checkpoint is appended.
    ///
    /// Each file is read at some moment during the call.
    /// [`Snapshot::skips`](crate::Snapshot::skips) lists the paths left out.
    ///
    /// # Errors
    ///
    /// `Unavailable`: another process holds the folder's lock, the folder or the store cannot be
    /// read or written, or the store is closed. `Invalid`: the folder is inside the store, or a
    /// hook refuses the checkpoint. `Conflict`: the active lineage changed since the handle was
    /// taken. `Poisoned`: an earlier write to the store failed. On error, nothing is appended.
    pub fn capture(
        &self,
        engine: &Engine,
        task: &Task,
        mark: Option<Mark>,
    ) -> Result<CaptureReport> {
        self.take(engine, task, mark, Purpose::default())
    }

    /// Captures the folder for an actor, which the event names. Like [`Workspace::capture`] in all
    /// else.
    ///
    /// # Errors
    ///
    /// As [`Workspace::capture`].
    pub fn capture_by(&self, actor: &str, engine: &Engine, task: &Task) -> Result<CaptureReport> {
        self.take(engine, task, None, Purpose { actor: Some(actor), ..Purpose::default() })
    }

    /// Captures the folder before or after a call of a tool. Like [`Workspace::capture`], and
    /// appends the event even if nothing changed: so the log shows which changes were made during
    /// the call, and which outside of any. The event has the actor and the correlation id of the
    /// mark, and is appended under the key if there is one.
    ///
    /// # Errors
    ///
    /// As [`Workspace::capture`].
    pub fn capture_for_call(
        &self,
        engine: &Engine,
        task: &Task,
        mark: Mark,
        key: Option<&str>,
    ) -> Result<CaptureReport> {
        self.take(engine, task, Some(mark), Purpose { is_for_call: true, key, actor: None })
    }

    fn take(
        &self,
        engine: &Engine,
        task: &Task,
        mark: Option<Mark>,
        purpose: Purpose<'_>,
    ) -> Result<CaptureReport> {
        engine.store().check_writable()?;
        let _busy = self.busy();
        self.go(engine, task.id(), WorkspaceState::Creating, None)?;
        let done = take(self, engine, task, mark, purpose);
        self.ends(engine, task.id(), done.as_ref().err())?;
        done
    }
}

/// Captures a folder into an engine's store, for a task.
fn take(
    workspace: &Workspace,
    engine: &Engine,
    task: &Task,
    mark: Option<Mark>,
    purpose: Purpose<'_>,
) -> Result<CaptureReport> {
    let chunks = engine.store().chunks();
    let workspaces_dir = workspaces_dir(&chunks)?;
    let (folder, options) = (workspace.folder(), workspace.options());
    let lock = Lock::take(folder, workspaces_dir.as_deref(), options.wait, Use::Capture)?;
    // From here on, stored contents stay until the event names them.
    let _hold = chunks.hold();
    let head = task.point(task.head()?.next)?;
    let as_chunk = |Hash(root): Hash| ChunkId(root);
    let known = workspace.last_here(engine, task, engine.captures().last(task)?)?;
    let stored = Stored::durable(&Storage {
        known: known.map(as_chunk),
        named: engine.captures().at(&head)?.map(as_chunk),
        kept: workspace.scan_state(),
        cancel: engine.cancel(),
        ..Storage::of(folder, options, workspace.states(), &chunks, workspaces_dir.as_deref())
    })?;
    lock.check()?;
    let mut report = CaptureReport {
        root: Hash(stored.root.0),
        appended: None,
        checkpoint: None,
        files: stored.files,
        bytes: stored.bytes,
        read: stored.read,
        stored: stored.stored,
        whole: stored.whole,
        skips: stored.skips.len() as u64,
    };
    // A workspace that joined the task would capture a second time.
    let mark = mark.map(|mark| mark.captured(NAME));
    let event = stored.event.or_else(|| {
        purpose.is_for_call.then_some(WorkspaceCaptured {
            root: report.root,
            files: report.files,
            bytes: report.bytes,
            skipped: report.skips,
        })
    });
    match (event, mark) {
        (None, None) => {}
        (None, Some(mark)) => report.checkpoint = Some(task.checkpoint(mark)?.id),
        (Some(event), mark) => {
            let mut append = Append::from(event);
            if let Some(key) = purpose.key {
                append = append.key(key);
            }
            if let Some(actor) = purpose.actor {
                append = append.actor(actor);
            }
            let appended = task.append(match mark {
                Some(mark) => append.or_context(mark.context()).mark(mark),
                None => append,
            })?;
            report.appended = Some(appended.first);
            report.checkpoint = appended.checkpoint;
        }
    }
    Ok(report)
}

/// Returns the store's folder for workspaces; `None` if the store is read-only or has no folder.
pub(crate) fn workspaces_dir(chunks: &dyn Chunks) -> Result<Option<PathBuf>> {
    let Some(store) = chunks.folder().filter(|_| chunks.is_writable()) else {
        return Ok(None);
    };
    let dir = store.join(STORE_SUBDIR);
    match std::fs::DirBuilder::new().mode(0o700).create(&dir) {
        Ok(()) => Ok(Some(dir)),
        Err(_) if std::fs::symlink_metadata(&dir).is_ok_and(|is| is.is_dir()) => Ok(Some(dir)),
        Err(e) => Err(error::io("create", &dir, &e)),
    }
}
