//! Changes of a restore to a directory: moves that never overwrite, removals, syncs, and checks for
//! plans.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Access, AtFlags};
use rustix::io::Errno;

use super::dir::Dir;
use super::platform;

impl Dir {
    /// Exchanges two names atomically. `ENOSYS`: the system cannot.
    pub(crate) fn exchange(&self, name: &[u8], to: &Self, to_name: &[u8]) -> Result<(), Errno> {
        let (name, to_name) = (OsStr::from_bytes(name), OsStr::from_bytes(to_name));
        platform::exchange((&self.0, name), (&to.0, to_name))
    }

    /// Moves an entry to a name that must be free. `ENOSYS`: the system cannot.
    pub(crate) fn move_to(&self, name: &[u8], to: &Self, to_name: &[u8]) -> Result<(), Errno> {
        let (name, to_name) = (OsStr::from_bytes(name), OsStr::from_bytes(to_name));
        platform::move_to((&self.0, name), (&to.0, to_name))
    }

    /// Moves an entry on file systems without `NOREPLACE`. Only for directories: they replace at
    /// most an empty directory, while other entries would overwrite a file.
    pub(crate) fn move_onto(&self, name: &[u8], to: &Self, to_name: &[u8]) -> Result<(), Errno> {
        let (name, to_name) = (OsStr::from_bytes(name), OsStr::from_bytes(to_name));
        rustix::fs::renameat(&self.0, name, &to.0, to_name)
    }

    /// Adds a hard link under a name that must be free. A symlink is not followed.
    pub(crate) fn link(&self, name: &[u8], to: &Self, to_name: &[u8]) -> Result<(), Errno> {
        let (name, to_name) = (OsStr::from_bytes(name), OsStr::from_bytes(to_name));
        rustix::fs::linkat(&self.0, name, &to.0, to_name, AtFlags::empty())
    }

    /// Removes an entry that is not a directory.
    pub(crate) fn remove(&self, name: &[u8]) -> Result<(), Errno> {
        rustix::fs::unlinkat(&self.0, OsStr::from_bytes(name), AtFlags::empty())
    }

    /// Removes an empty directory.
    pub(crate) fn remove_directory(&self, name: &[u8]) -> Result<(), Errno> {
        rustix::fs::unlinkat(&self.0, OsStr::from_bytes(name), AtFlags::REMOVEDIR)
    }

    /// Syncs the directory's names and mode bits to the disk.
    pub(crate) fn sync(&self) -> Result<(), Errno> {
        platform::sync_directory(&self.0)
    }

    /// Syncs the whole file system to the disk, if [`platform::SYNCS_FILE_SYSTEMS`].
    pub(crate) fn sync_file_system(&self) -> Result<(), Errno> {
        platform::sync_file_system(&self.0)
    }

    /// Returns the bytes available on its file system.
    pub(crate) fn free(&self) -> Result<u64, Errno> {
        let found = rustix::fs::fstatvfs(&self.0)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// Returns the number of hard links of an entry.
    pub(crate) fn links(&self, name: &[u8]) -> Result<u64, Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let stat = rustix::fs::statat(&self.0, OsStr::from_bytes(name), flags)?;
        Ok(platform::links_of(&stat))
    }

    /// Returns `true` if names may be created and removed in the directory.
    pub(crate) fn may_change(&self) -> bool {
        let access = Access::WRITE_OK | Access::EXEC_OK;
        rustix::fs::accessat(&self.0, ".", access, AtFlags::EACCESS).is_ok()
    }

    /// Returns `true` if the process's effective user owns the directory, and may change its mode
    /// bits.
    pub(crate) fn is_own(&self) -> bool {
        rustix::fs::fstat(&self.0)
            .is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw())
    }
}
