//! The capture that a restore goes to, and the folder that it changes.

use std::os::unix::ffi::OsStrExt;

use milepost::{Engine, Error, Hash, Point, Result, Task};
use milepost_codec::{Capture, ChunkId, Skip};

use super::authors;
use crate::chunks::{Chunks, Contents};
use crate::error;
use crate::fs::{Folder, at_root};
use crate::plan::{Authors, Choices, Then};
use crate::tree;
use crate::workspace::Workspace;

/// The capture to restore.
pub(super) struct Target {
    pub(super) root: ChunkId,
    pub(super) capture: Capture,
}

/// Returns the capture to restore.
pub(super) fn target(chunks: &dyn Chunks, root: Option<Hash>) -> Result<Target> {
    let Some(Hash(root)) = root else {
        return Err(Error::not_found(
            "the point has no captured workspace: restore the state only, which leaves the files",
        ));
    };
    let root = ChunkId(root);
    let capture = tree::capture(chunks, &root)?;
    Ok(Target { root, capture })
}

impl Workspace {
    /// Returns `true` if a capture belongs to another folder.
    pub(super) fn is_elsewhere(&self, capture: &Capture) -> bool {
        capture.folder.as_bytes() != self.folder().as_os_str().as_bytes()
    }

    /// Returns the authors of the changes since a point, if the choices leave changes of others.
    pub(super) fn authors(
        &self,
        engine: &Engine,
        contents: &dyn Contents,
        of: (&Task, &Point),
        target: &Target,
        choices: &Choices,
        present: ChunkId,
    ) -> Result<Option<Authors>> {
        if !choices.leave_others {
            return Ok(None);
        }
        let folder = self.folder().as_os_str().as_bytes();
        let present =
            authors::Present { tree: present, folder: Some(folder).filter(|_| !choices.moved) };
        authors::authors(engine, contents, of, &target.capture, &present).map(Some)
    }

    /// Returns the snapshot of a restore, with the time up to which its point has events.
    pub(super) fn then<'a>(
        &self,
        task: &Task,
        to: &Point,
        capture: &'a Capture,
        choices: &Choices,
    ) -> Result<Then<'a>> {
        // Times of another folder's files are not evidence.
        if self.is_elsewhere(capture) && !choices.moved {
            return Ok(Then { capture, us: None });
        }
        let last = to.offset.saturating_sub(1)..to.offset;
        let events = task.lineage_named(to.lineage).and_then(|lineage| lineage.read(last));
        let event = events.and_then(|mut events| events.next().transpose());
        match event {
            Ok(event) => Ok(Then { capture, us: event.map(|event| event.header.time_us) }),
            Err(error) if error::is_lost(&error) => Ok(Then { capture, us: None }),
            Err(error) => Err(error),
        }
    }

    /// Opens the folder for changes.
    pub(super) fn opened(&self, chunks: &dyn Chunks) -> Result<Folder> {
        let folder = self.folder();
        let open = |e: crate::fs::Errno| error::io("open", folder, &e.into());
        let store = match chunks.folder() {
            Some(dir) => {
                let found = at_root(dir).and_then(|dir| dir.itself());
                Some(found.map_err(open)?.identity())
            }
            None => None,
        };
        Folder::new(at_root(folder).map_err(open)?, store)
    }

    pub(super) fn identity(&self) -> Result<(u64, u64)> {
        let found = at_root(self.folder()).and_then(|dir| dir.itself());
        let found = found.map_err(|e| error::io("look at", self.folder(), &e.into()))?;
        Ok(found.identity())
    }
}

/// Returns the paths that a capture left out. Lost ones count as none.
pub(super) fn skips_of(contents: &dyn Contents, root: Option<ChunkId>) -> Result<Vec<Skip>> {
    let Some(root) = root else { return Ok(Vec::new()) };
    let read = tree::capture(contents, &root).and_then(|capture| tree::skips(contents, &capture));
    match read {
        Err(error) if error::is_lost(&error) => Ok(Vec::new()),
        read => read,
    }
}
