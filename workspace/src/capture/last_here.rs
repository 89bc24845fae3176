//! The last capture of a folder, where a task captured or restored another one since.

use std::os::unix::ffi::OsStrExt;

use milepost::{Body, Engine, Hash, Lineage, Offset, Result, Task};
use milepost_codec::ChunkId;

use crate::error::is_lost;
use crate::tree;
use crate::workspace::Workspace;

/// Number of events that are read at once, from the last one back.
const WINDOW: u64 = 1024;

impl Workspace {
    /// Returns the last capture of this folder. `last` is the task's last capture, which may belong
    /// to another folder: then an earlier one decides. Returns `last` if no capture belongs to this
    /// folder.
    pub(crate) fn last_here(
        &self,
        engine: &Engine,
        task: &Task,
        last: Option<Hash>,
    ) -> Result<Option<Hash>> {
        let Some(root) = last else { return Ok(None) };
        if self.is_here(engine, root)? {
            return Ok(last);
        }
        let lineage = task.lineage_named(engine.captures().lineage(task)?)?;
        let begin = lineage.info()?.begin;
        let mut end = lineage.head()?.next;
        while end > begin {
            let from = end.saturating_sub(WINDOW).max(begin);
            let captured = captured(&lineage, from, end);
            for root in captured?.into_iter().rev() {
                if self.is_here(engine, root)? {
                    return Ok(Some(root));
                }
            }
            end = from;
        }
        Ok(last)
    }

    /// Returns `true` if a capture belongs to another folder.
    pub(crate) fn is_of_another(&self, engine: &Engine, Hash(root): Hash) -> Result<bool> {
        match tree::capture(&engine.store().chunks(), &ChunkId(root)) {
            Ok(capture) => Ok(capture.folder.as_bytes() != self.folder().as_os_str().as_bytes()),
            Err(error) if is_lost(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns `true` if a capture is of this folder. A lost one is of no folder.
    fn is_here(&self, engine: &Engine, Hash(root): Hash) -> Result<bool> {
        match tree::capture(&engine.store().chunks(), &ChunkId(root)) {
            Ok(capture) => Ok(capture.folder.as_bytes() == self.folder().as_os_str().as_bytes()),
            Err(error) if is_lost(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Returns the captures between two offsets of a lineage.
fn captured(lineage: &Lineage, from: Offset, end: Offset) -> Result<Vec<Hash>> {
    let mut roots = Vec::new();
    for event in lineage.read(from..end)? {
        if let Some(Body::WorkspaceCaptured(captured)) = event?.body {
            roots.push(captured.root);
        }
    }
    Ok(roots)
}
