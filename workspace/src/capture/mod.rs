//! One capture, from the lock to the event.

mod store;

use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use milepost::{Append, CheckpointId, Engine, Hash, Mark, Offset, Result, Task};
use milepost_codec::ChunkId;

pub(crate) use self::store::{Storage, Stored, last, store};
use crate::chunks::Chunks;
use crate::error;
use crate::lock::Lock;
use crate::rollback::NAME;
use crate::workspace::Workspace;

/// The folder in the store where there is something about workspaces.
const BESIDE: &str = "workspace";

/// What came of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaptureReport {
    /// The id of the capture.
    pub root: Hash,
    /// The offset of the event that names it; none where the lineage named it already.
    pub appended: Option<Offset>,
    /// The checkpoint, where one was asked for.
    pub checkpoint: Option<CheckpointId>,
    /// Files in it.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Files that had to be read: the others are as they were when they were read last.
    pub read: u64,
    /// Contents that were given to the store: chunks of files, and nodes. It may have had some of
    /// them.
    pub stored: u64,
    /// Whether all of the folder was looked at: else only where something had happened since the
    /// last look, see [`WorkspaceOptions::watch`](crate::WorkspaceOptions::watch).
    pub whole: bool,
    /// What was left out.
    pub skips: u64,
}

/// Captures a folder into an engine's store, for a task.
pub(crate) fn take(
    workspace: &Workspace,
    engine: &Engine,
    task: &Task,
    mark: Option<Mark>,
) -> Result<CaptureReport> {
    let chunks = engine.chunk_store();
    let beside = beside(&chunks)?;
    let (folder, options) = (workspace.folder(), workspace.options());
    let _lock = Lock::take(folder, beside.as_deref(), options.wait)?;
    // What is stored from here on stays until the event names it.
    let _hold = chunks.hold();
    let head = task.point(task.head()?.next)?;
    let known = engine.workspace_at(&head)?.map(|Hash(root)| ChunkId(root));
    let stored = Stored::durable(&Storage {
        known,
        kept: workspace.kept(),
        ..Storage::of(folder, options, workspace.states(), &chunks, beside.as_deref())
    })?;
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
    // Where it has joined the task, it would be asked for the same.
    let mark = mark.map(|mark| mark.captured(NAME));
    match (stored.event, mark) {
        (None, None) => {}
        (None, Some(mark)) => report.checkpoint = Some(task.checkpoint(mark)?.id),
        (Some(event), mark) => {
            let append = Append::from(event);
            let appended = task.append(match mark {
                Some(mark) => append.mark(mark),
                None => append,
            })?;
            report.appended = Some(appended.first);
            report.checkpoint = appended.checkpoint;
        }
    }
    Ok(report)
}

/// The folder in the store for what concerns workspaces; none where nothing can be written.
pub(crate) fn beside(chunks: &dyn Chunks) -> Result<Option<PathBuf>> {
    let Some(store) = chunks.folder().filter(|_| chunks.is_writable()) else {
        return Ok(None);
    };
    let dir = store.join(BESIDE);
    match std::fs::DirBuilder::new().mode(0o700).create(&dir) {
        Ok(()) => Ok(Some(dir)),
        Err(_) if std::fs::symlink_metadata(&dir).is_ok_and(|is| is.is_dir()) => Ok(Some(dir)),
        Err(e) => Err(error::io("create", &dir, &e)),
    }
}
