//! Context of one restore: its folder, and access to paths in it.

use std::collections::BTreeSet;
use std::sync::Arc;

use milepost::{Error, ErrorKind, Result};
use milepost_codec::{Action, ActionKind, RestoreId, RestoreIntent, TreePath};

use super::syscalls::{Call, Syscalls};
use crate::chunks::Contents;
use crate::error;
use crate::fs::{Dir, Errno, Stamp};

/// A restore under way.
pub(crate) struct Restore<'a> {
    pub(crate) plan: &'a RestoreIntent,
    pub(crate) contents: &'a dyn Contents,
    pub(crate) folder: &'a Folder,
    pub(crate) id: RestoreId,
    /// Settled stamps of the present's capture: a file with an equal stamp need not be read. None
    /// after a crash.
    pub(crate) stamps: &'a (dyn Fn(&TreePath) -> Option<Stamp> + Sync),
    /// Hook called before each call that changes something. Only tests return errors.
    pub(crate) calls: &'a (dyn Fn(Call) -> Result<(), Errno> + Sync),
}

impl<'a> Restore<'a> {
    pub(super) fn syscalls(&self) -> Syscalls<'a> {
        Syscalls::new(self.calls)
    }

    /// Checks invariants of a plan, which a forged one may violate.
    pub(super) fn check(&self) -> Result<()> {
        for (n, action) in self.plan.actions.iter().enumerate() {
            let of_a_file = action.before.as_ref().is_some_and(|item| !item.kind.is_directory());
            let mode_of_a_file = action.kind == ActionKind::Mode && of_a_file;
            if action.slot as usize != n || mode_of_a_file {
                let found = format!("{} of `{}`", action.kind.name(), action.path);
                return Err(Error::corrupt("restore plan", "an action of its own slot", found));
            }
        }
        Ok(())
    }

    /// Returns the folders that may be opened, since an action sets their mode bits in the end.
    pub(super) fn opened(&self) -> BTreeSet<&'a TreePath> {
        let closed =
            |action: &&Action| matches!(action.kind, ActionKind::Mode | ActionKind::MakeRoom);
        let actions = self.plan.actions.iter().filter(closed);
        actions.map(|action| &action.path).collect()
    }
}

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
    pub(super) fn admit(&self, dir: &Dir) -> Result<(), Errno> {
        let found = dir.itself()?;
        let outside = found.device != self.device || dir.is_mount() == Some(true);
        match outside || self.store == Some(found.identity()) {
            true => Err(Errno::XDEV),
            false => Ok(()),
        }
    }
}

/// Opens directories of paths. Consecutive paths share their open ancestors.
pub(crate) struct Way<'a> {
    folder: &'a Folder,
    open: Vec<(Box<[u8]>, Arc<Dir>)>,
}

impl<'a> Way<'a> {
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

/// Returns `true` if a path cannot be reached: a component is missing or not a directory.
pub(super) fn no_way(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

/// Returns the error for a path that another process changed during the restore.
pub(super) fn changed(path: &TreePath) -> Error {
    let message =
        format!("`{path}` was changed while it was restored: look at it, and restore again");
    Error::new(ErrorKind::Conflict, message)
}
