//! Stamps that the capture of the present recorded, for the restore after it.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use milepost::{Engine, Result};
use milepost_codec::{ChunkId, RestoreBegun, TreePath};
use parking_lot::Mutex;

use super::record::present_of;
use crate::cache::{self, Cache};
use crate::capture;
use crate::chunks::Contents;
use crate::fs::Stamp;
use crate::tree::side_by_side;
use crate::workspace::Workspace;

/// The stamps of one folder, by name.
type InFolder = (Box<[u8]>, HashMap<Box<[u8]>, Stamp>);

/// Stamps of files at the time their contents were read.
pub(super) struct Remembered {
    cache: Option<Arc<Cache>>,
    /// Path of the cache file, and identity of the folder.
    place: Option<(PathBuf, cache::Identity)>,
    /// The last folder used: the next path is usually in it too.
    folder: Mutex<InFolder>,
}

impl Remembered {
    pub(super) fn of(workspace: &Workspace, engine: &Engine, begun: &RestoreBegun) -> Result<Self> {
        let identity = workspace.identity()?;
        let workspaces_dir = capture::workspaces_dir(&engine.store().chunks())?;
        let place = workspaces_dir
            .map(|workspaces_dir| (cache::path_of(&workspaces_dir, identity), identity));
        let read = || {
            let (path, identity) = place.as_ref()?;
            Cache::read(path, *identity).map(Arc::new)
        };
        let kept = workspace.scan_state().zip(present_of(begun));
        let kept = kept.and_then(|(kept, present)| kept.cache(present));
        let cache = kept.or_else(read);
        let mut remembered = Self { cache, place, folder: Mutex::default() };
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

    /// Writes the cache for the capture after the restore: paths that are equal in both trees keep
    /// their stamps.
    pub(super) fn update_cache(
        &self,
        contents: &dyn Contents,
        (present, upcoming): (Tree, Tree),
    ) -> Result<()> {
        let (Some(cache), Some((path, folder))) = (&self.cache, &self.place) else {
            return Ok(());
        };
        if cache.capture() != Some(present.capture) {
            return Ok(());
        }
        let mut other = HashSet::new();
        let trees = [Some(present.tree), Some(upcoming.tree)];
        side_by_side(contents, trees, &mut |path, _| {
            other.insert(path.as_bytes().to_vec());
            Ok(())
        })?;
        // A failed write only costs the next scan one query for each chunk.
        let mut cache = cache.without(&other);
        cache.belongs_to(upcoming.capture);
        let _ = cache.write(path, *folder);
        Ok(())
    }
}

/// A capture, and its tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tree {
    pub(super) capture: ChunkId,
    pub(super) tree: ChunkId,
}
