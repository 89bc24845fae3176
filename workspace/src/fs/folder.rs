//! The folder of a workspace, and access to paths in it.

use std::sync::Arc;

use milepost::Result;
use milepost_codec::TreePath;

use super::{Dir, Errno};
use crate::error;

/// Descriptor of a workspace's folder.
#[derive(Debug)]
pub(crate) struct Folder {
    root: Arc<Dir>,
    device: u64,
    /// Device and inode of the store's folder, which is never entered.
    store: Option<(u64, u64)>,
}

impl Folder {
    pub(crate) fn new(root: Dir, store: Option<(u64, u64)>) -> Result<Self> {
        let found = root.itself().map_err(|e| error::below("look at", b"", e))?;
        Ok(Self { root: Arc::new(root), device: found.device, store })
    }

    pub(crate) fn root(&self) -> &Dir {
        &self.root
    }

    /// Checks that a directory below the root may be entered. `EXDEV`: it is the store's, or on
    /// another file system or mount.
    pub(crate) fn admit(&self, dir: &Dir) -> Result<(), Errno> {
        let found = dir.itself()?;
        let outside = found.device != self.device || dir.is_mount() == Some(true);
        match outside || self.store == Some(found.identity()) {
            true => Err(Errno::XDEV),
            false => Ok(()),
        }
    }
}

/// Opens directories of paths. Consecutive paths share their open ancestors.
pub(crate) struct PathWalker<'a> {
    folder: &'a Folder,
    open: Vec<(Box<[u8]>, Arc<Dir>)>,
}

impl<'a> PathWalker<'a> {
    pub(crate) fn new(folder: &'a Folder) -> Self {
        let open = Vec::new();
        Self { folder, open }
    }

    /// Opens the directory that contains a path. Each name is opened below the last without
    /// following symlinks. `ENOENT`, `ENOTDIR`, `ELOOP` or `EXDEV`: the directory cannot be
    /// reached.
    pub(crate) fn parent(&mut self, path: &TreePath) -> Result<Arc<Dir>, Errno> {
        let mut names: Vec<_> = path.names().collect();
        names.pop();
        self.open(&names)
    }

    /// Opens the directory at a path.
    pub(crate) fn folder(&mut self, path: &TreePath) -> Result<Arc<Dir>, Errno> {
        self.open(&path.names().collect::<Vec<_>>())
    }

    fn open(&mut self, names: &[&[u8]]) -> Result<Arc<Dir>, Errno> {
        let shared = self.open.iter().zip(names);
        let shared = shared.take_while(|((open, _), name)| **open == ***name).count();
        self.open.truncate(shared);
        for name in names.get(shared..).unwrap_or_default() {
            let last = self.open.last().map_or(&self.folder.root, |(_, dir)| dir);
            let dir = last.directory(name)?;
            self.folder.admit(&dir)?;
            self.open.push(((*name).into(), Arc::new(dir)));
        }
        let last = self.open.last().map_or(&self.folder.root, |(_, dir)| dir);
        Ok(Arc::clone(last))
    }
}
