//! Execution of a plan's actions. After each move, the displaced entry is compared with the
//! present's capture. If another process wrote in between, the move is undone at once.

use std::collections::BTreeSet;

use milepost::{Error, ErrorKind, Result};
use milepost_codec::{Action, ActionKind, Item, TreePath};

use super::Restore;
use super::compare::Find;
use super::context::{changed, is_unreachable};
use super::stage::{ONE_BY_ONE, stage};
use super::staging::{Place, Staging, open_up, slot};
use super::syscalls::{Syscalls, syncs_each};
use crate::error;
use crate::fs::{Dir, Errno, PathWalker};
use crate::plan::OPEN;

/// Runs a restore from staging to the sync after the last move. `done` is the number of actions,
/// from the first on, that may be in effect.
pub(super) fn forward(restore: &Restore<'_>, done: &mut usize) -> Result<()> {
    let syscalls = restore.syscalls();
    let root = restore.folder.root();
    let (mut staging, part) = Staging::begin(restore, &syscalls)?;
    stage(restore, &syscalls, &part)?;
    staging.written(&syscalls)?;
    // From here on, staged content survives a power cut.
    let synced = syscalls.sync(&staging.own).and_then(|()| syscalls.sync(root));
    synced.map_err(|e| error::below("sync", b"staging", e))?;
    let mut executor = Executor::new(restore, &syscalls);
    for action in &restore.plan.actions {
        executor.in_effect = false;
        let outcome = executor.act(&staging, action);
        *done += usize::from(executor.in_effect);
        outcome?;
    }
    executor.sync(&staging)
}

/// Moves entries, and tracks the directories to sync.
pub(super) struct Executor<'a> {
    restore: &'a Restore<'a>,
    pub(super) syscalls: &'a Syscalls<'a>,
    pub(super) find: Find<'a>,
    pub(super) walker: PathWalker<'a>,
    opened: BTreeSet<&'a TreePath>,
    changed_dirs: BTreeSet<Option<TreePath>>,
    /// `true` if the last action may be partly in effect.
    in_effect: bool,
}

impl<'a> Executor<'a> {
    pub(super) fn new(restore: &'a Restore<'a>, syscalls: &'a Syscalls<'a>) -> Self {
        let find = Find { contents: restore.contents, stamps: restore.stamps };
        Self {
            restore,
            syscalls,
            find,
            walker: PathWalker::new(restore.folder),
            opened: restore.opened(),
            changed_dirs: BTreeSet::new(),
            in_effect: false,
        }
    }

    pub(super) fn act(&mut self, staging: &Staging, action: &Action) -> Result<()> {
        let path = &action.path;
        let failed = |e| failed(path, e);
        let parent = self.walker.parent(path).map_err(failed)?;
        let (name, slot) = (path.name(), slot(action.slot));
        let here = (&*parent, name.as_bytes());
        let place = |place| match staging.place(place) {
            Some(dir) => Ok((dir, slot.as_slice())),
            None => Err(error::below("open", place.name(), Errno::NOENT)),
        };
        match (action.kind, &action.before, &action.after) {
            (ActionKind::Create, _, Some(after)) => {
                self.open_parent(path, &parent).map_err(failed)?;
                let put = self.syscalls.put(place(Place::New)?, here);
                self.in_effect = put != Err(Errno::EXIST);
                put.map_err(failed)?;
                self.settle(path, here, after).map_err(failed)
            }
            (ActionKind::Replace, Some(before), Some(after)) => {
                self.open_parent(path, &parent).map_err(failed)?;
                self.replace(action, here, place(Place::New)?, place(Place::Old)?, before)?;
                self.settle(path, here, after).map_err(failed)
            }
            (ActionKind::Remove, Some(before), _) => {
                self.open_parent(path, &parent).map_err(failed)?;
                self.set_aside(path, here, place(Place::Old)?, before)
            }
            (ActionKind::MakeRoom, Some(before), _) => {
                let bits = bits_of(here).map_err(failed)?;
                if bits != before.mode && bits != before.mode | OPEN {
                    return Err(changed(path));
                }
                self.open_parent(path, &parent).map_err(failed)?;
                let removed = self.syscalls.remove_directory(here.0, here.1);
                self.in_effect = removed.is_ok();
                removed.map_err(failed)
            }
            (ActionKind::Mode, Some(before), Some(after)) => {
                let bits = bits_of(here).map_err(failed)?;
                if bits != before.mode && bits != before.mode | OPEN {
                    return Err(changed(path));
                }
                self.in_effect = true;
                self.settle(path, here, after).map_err(failed)
            }
            _ => Err(Error::corrupt("restore plan", "before and after", path)),
        }
    }

    fn replace(
        &mut self,
        action: &Action,
        here: (&Dir, &[u8]),
        new: (&Dir, &[u8]),
        old: (&Dir, &[u8]),
        before: &Item,
    ) -> Result<()> {
        let path = &action.path;
        let failed = |e| failed(path, e);
        open_up(self.syscalls, here).map_err(failed)?;
        match self.syscalls.exchange(here, new) {
            Ok(true) => self.in_effect = true,
            Ok(false) => {
                self.set_aside(path, here, old, before)?;
                return self.syscalls.put(new, here).map_err(failed);
            }
            Err(e) => {
                self.record_unmoved(path, here, before, e);
                return Err(failed(e));
            }
        }
        if self.find.is_displaced(new, path, before)? {
            return Ok(());
        }
        self.syscalls.exchange(here, new).map_err(failed)?;
        self.record_unmoved(path, here, before, Errno::NOENT);
        Err(changed(path))
    }

    /// Moves an entry to its place in staging.
    fn set_aside(
        &mut self,
        path: &TreePath,
        here: (&Dir, &[u8]),
        old: (&Dir, &[u8]),
        before: &Item,
    ) -> Result<()> {
        let failed = |e| failed(path, e);
        open_up(self.syscalls, here).map_err(failed)?;
        if let Err(e) = self.syscalls.put(here, old) {
            self.record_unmoved(path, here, before, e);
            return Err(failed(e));
        }
        self.in_effect = true;
        if self.find.is_displaced(old, path, before)? {
            return Ok(());
        }
        self.syscalls.put(old, here).map_err(failed)?;
        self.record_unmoved(path, here, before, Errno::NOENT);
        Err(changed(path))
    }

    /// Handles an entry that was not moved, or moved back at once: the path is as the other process
    /// left it. A folder opened for the move gets its bits back; if that fails, the undo sets them.
    fn record_unmoved(
        &mut self,
        path: &TreePath,
        here: (&Dir, &[u8]),
        before: &Item,
        error: Errno,
    ) {
        let opened = before.kind.is_directory() && bits_of(here) == Ok(before.mode | OPEN);
        let closed = !opened || self.settle(path, here, before).is_ok();
        self.in_effect = !closed || !(is_unreachable(error) || error == Errno::EXIST);
    }

    /// Opens a directory that is closed to changes and that the plan closes again. Marks it for the
    /// sync.
    pub(super) fn open_parent(&mut self, path: &TreePath, parent: &Dir) -> Result<(), Errno> {
        let at = path.parent();
        if at.as_ref().is_some_and(|at| self.opened.contains(at)) {
            let bits = parent.itself()?.stamp.bits();
            if bits & 0o300 != 0o300 {
                self.syscalls.bits(parent, bits | OPEN)?;
            }
        }
        self.changed_dirs.insert(at);
        Ok(())
    }

    /// Sets the mode bits of a folder, and marks it for the sync. Other entries have theirs.
    pub(super) fn settle(
        &mut self,
        path: &TreePath,
        here: (&Dir, &[u8]),
        item: &Item,
    ) -> Result<(), Errno> {
        if !item.kind.is_directory() {
            return Ok(());
        }
        let dir = here.0.directory(here.1)?;
        if dir.itself()?.stamp.bits() != item.mode {
            self.changed_dirs.insert(Some(path.clone()));
            self.syscalls.bits(&dir, item.mode)?;
        }
        Ok(())
    }

    /// Syncs all moves to the disk.
    fn sync(&mut self, staging: &Staging) -> Result<()> {
        let root = self.restore.folder.root();
        let changed_dirs = std::mem::take(&mut self.changed_dirs);
        let done = match changed_dirs.len() {
            0 => Ok(()),
            n if syncs_each(n <= ONE_BY_ONE) => {
                self.sync_each(&changed_dirs, Some(staging), is_unreachable)
            }
            _ => self.syscalls.sync_file_system(root),
        };
        done.map_err(|e| error::below("sync", b"", e))
    }

    /// Syncs all folders that a restore, its undo, or an undo that was killed can have changed.
    pub(super) fn sync_possible(&mut self, staging: Option<&Staging>) -> Result<(), Errno> {
        let actions = || self.restore.plan.actions.iter();
        let mut dirs: BTreeSet<_> = actions().map(|action| action.path.parent()).collect();
        dirs.extend(actions().map(|action| Some(action.path.clone())));
        dirs.insert(None);
        // Open folders may have been moved away.
        self.walker = PathWalker::new(self.restore.folder);
        // Nothing was changed in a folder that the restore does not enter. One that another process
        // closed has nothing of the undo but its mode bits.
        let passes = |e| is_unreachable(e) || matches!(e, Errno::XDEV | Errno::ACCESS);
        self.sync_each(&dirs, staging, passes)
    }

    /// Syncs directories. `passes` decides on errors of opening one.
    fn sync_each(
        &mut self,
        dirs: &BTreeSet<Option<TreePath>>,
        staging: Option<&Staging>,
        passes: fn(Errno) -> bool,
    ) -> Result<(), Errno> {
        if let Some(staging) = staging {
            let places = Place::ALL.into_iter();
            for dir in places.filter_map(|place| staging.place(place)) {
                self.syscalls.sync(dir)?;
            }
            self.syscalls.sync(&staging.own)?;
        }
        for path in dirs {
            let dir = match path {
                Some(path) => self.walker.folder(path),
                None => {
                    self.syscalls.sync(self.restore.folder.root())?;
                    continue;
                }
            };
            match dir {
                Ok(dir) => self.syscalls.sync(&dir)?,
                // The directory was removed; its parent is synced for that.
                Err(e) if passes(e) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// Returns the mode bits of a directory. `ENOTDIR`: it is not one.
pub(super) fn bits_of((dir, name): (&Dir, &[u8])) -> Result<u16, Errno> {
    dir.directory(name)?.itself().map(|found| found.stamp.bits())
}

/// Converts the error of a move. Errors that a change by another process can cause are conflicts.
fn failed(path: &TreePath, error: Errno) -> Error {
    match error {
        e if is_unreachable(e) => changed(path),
        Errno::EXIST | Errno::NOTEMPTY | Errno::ISDIR => changed(path),
        Errno::XDEV => Error::new(
            ErrorKind::Unavailable,
            format!(
                "`{path}` is on another file system, in the store, or in a layer that does not let \
                 folders be moved: it is left alone"
            ),
        ),
        e => error::below("move", path.as_bytes(), e),
    }
}
