//! What a restore does to a directory: moves that never overwrite, removals, syncs, and the
//! questions that a plan asks before.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Access, AtFlags, RenameFlags};
use rustix::io::Errno;

use super::dir::Dir;

impl Dir {
    /// Exchanges what two names stand for: there is no moment without either.
    pub(crate) fn exchange(&self, name: &[u8], to: &Self, to_name: &[u8]) -> Result<(), Errno> {
        self.rename(name, to, to_name, RenameFlags::EXCHANGE)
    }

    /// Moves what a name stands for to a name that is free.
    pub(crate) fn move_to(&self, name: &[u8], to: &Self, to_name: &[u8]) -> Result<(), Errno> {
        self.rename(name, to, to_name, RenameFlags::NOREPLACE)
    }

    /// The same where the file system can only move onto: what is there by then and is no directory
    /// would be overwritten, so this is for directories, which move onto an empty one at most.
    pub(crate) fn move_onto(&self, name: &[u8], to: &Self, to_name: &[u8]) -> Result<(), Errno> {
        self.rename(name, to, to_name, RenameFlags::empty())
    }

    fn rename(
        &self,
        name: &[u8],
        to: &Self,
        to_name: &[u8],
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        let (name, to_name) = (OsStr::from_bytes(name), OsStr::from_bytes(to_name));
        rustix::fs::renameat_with(&self.0, name, &to.0, to_name, flags)
    }

    /// Gives what a name stands for another name, which has to be free. A link is not followed.
    pub(crate) fn link(&self, name: &[u8], to: &Self, to_name: &[u8]) -> Result<(), Errno> {
        let (name, to_name) = (OsStr::from_bytes(name), OsStr::from_bytes(to_name));
        rustix::fs::linkat(&self.0, name, &to.0, to_name, AtFlags::empty())
    }

    /// Removes a name that is no directory's.
    pub(crate) fn remove(&self, name: &[u8]) -> Result<(), Errno> {
        rustix::fs::unlinkat(&self.0, OsStr::from_bytes(name), AtFlags::empty())
    }

    /// Removes a directory that is empty.
    pub(crate) fn remove_directory(&self, name: &[u8]) -> Result<(), Errno> {
        rustix::fs::unlinkat(&self.0, OsStr::from_bytes(name), AtFlags::REMOVEDIR)
    }

    /// Writes the names in it, and its bits, to the disk.
    pub(crate) fn sync(&self) -> Result<(), Errno> {
        rustix::fs::fsync(&self.0)
    }

    /// Writes all that its file system has not written yet to the disk.
    pub(crate) fn sync_file_system(&self) -> Result<(), Errno> {
        rustix::fs::syncfs(&self.0)
    }

    /// Bytes that can still be written to its file system.
    pub(crate) fn free(&self) -> Result<u64, Errno> {
        let found = rustix::fs::fstatvfs(&self.0)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// How many names what a name stands for has.
    pub(crate) fn links(&self, name: &[u8]) -> Result<u64, Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::statat(&self.0, OsStr::from_bytes(name), flags).map(|stat| stat.st_nlink)
    }

    /// Whether names may be made and removed in it.
    pub(crate) fn may_change(&self) -> bool {
        let access = Access::WRITE_OK | Access::EXEC_OK;
        rustix::fs::accessat(&self.0, ".", access, AtFlags::EACCESS).is_ok()
    }

    /// Whether its bits may be changed: it belongs to whom this process acts for.
    pub(crate) fn is_own(&self) -> bool {
        rustix::fs::fstat(&self.0)
            .is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw())
    }
}
