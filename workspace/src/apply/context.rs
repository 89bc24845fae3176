//! Context of one restore.

use std::collections::BTreeSet;

use milepost::{Error, ErrorKind, Result};
use milepost_codec::{Action, ActionKind, RestoreId, RestoreIntent, TreePath};

use super::syscalls::{Call, Syscalls};
use crate::chunks::Contents;
use crate::fs::{Errno, Folder, Stamp};

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

/// Returns `true` if a path cannot be reached: a component is missing or not a directory.
pub(super) fn is_unreachable(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

/// Returns the error for a path that another process changed during the restore.
pub(super) fn changed(path: &TreePath) -> Error {
    let message =
        format!("`{path}` was changed while it was restored: look at it, and restore again");
    Error::new(ErrorKind::Conflict, message)
}
