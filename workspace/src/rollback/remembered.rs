//! What the capture of the present learned of the folder's files, for the restore behind it.

use std::collections::HashMap;

use milepost::{Engine, Result};
use milepost_codec::TreePath;
use parking_lot::Mutex;

use crate::cache::{self, Cache};
use crate::capture;
use crate::fs::Stamp;
use crate::workspace::Workspace;

/// The stamps of one folder, by name.
type InFolder = (Box<[u8]>, HashMap<Box<[u8]>, Stamp>);

/// How files looked when their contents were read.
pub(super) struct Remembered {
    cache: Option<Cache>,
    /// The folder that was asked for last: most often the next path is in it too.
    folder: Mutex<InFolder>,
}

impl Remembered {
    pub(super) fn of(workspace: &Workspace, engine: &Engine) -> Result<Self> {
        let identity = workspace.identity()?;
        let beside = capture::beside(&engine.chunk_store())?;
        let cache =
            beside.and_then(|beside| Cache::read(&cache::path_of(&beside, identity), identity));
        let mut remembered = Self {
            cache,
            folder: Mutex::default(),
        };
        *remembered.folder.get_mut() = remembered.folder(b"");
        Ok(remembered)
    }

    fn folder(&self, path: &[u8]) -> InFolder {
        let stamps = self.cache.as_ref().map(|cache| cache.stamps(path));
        (path.into(), stamps.unwrap_or_default())
    }

    pub(super) fn stamp(&self, path: &TreePath) -> Option<Stamp> {
        let parent = path.parent();
        let parent = parent.as_ref().map_or(b"".as_slice(), TreePath::as_bytes);
        let mut folder = self.folder.lock();
        if *folder.0 != *parent {
            *folder = self.folder(parent);
        }
        folder.1.get(path.name().as_bytes()).copied()
    }
}
