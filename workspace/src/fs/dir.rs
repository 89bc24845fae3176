//! Descriptors of directories, and operations below them. Each name is one component and no symlink
//! is followed, so an entry swapped in leads nowhere outside. `platform` has the calls that differ
//! by system.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::platform::{self, device_of, links_of, mode, mode_of};
use super::stamp::{Moment, Stamp};

/// Most bytes of a `.git` that is a file.
const POINTER_MAX: u64 = 8 << 10;

/// Result of a system call.
type Done<T> = Result<T, Errno>;

/// Kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Link,
    Directory,
    /// A device, socket or pipe.
    Special,
}

/// Metadata of a directory entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed {
    pub(crate) kind: Kind,
    pub(crate) device: u64,
    pub(crate) stamp: Stamp,
    /// `true` if the entry has several hard links.
    pub(crate) linked: bool,
}

impl Listed {
    fn of(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Symlink => Kind::Link,
            FileType::Directory => Kind::Directory,
            _ => Kind::Special,
        };
        Self { kind, device: device_of(stat), stamp: stamp_of(stat), linked: links_of(stat) > 1 }
    }

    /// Returns device and inode, which identify a file.
    pub(crate) fn identity(&self) -> (u64, u64) {
        (self.device, self.stamp.ino)
    }
}

pub(super) fn stamp_of(stat: &Stat) -> Stamp {
    let moment = |s, ns| Moment { s, ns: u32::try_from(ns).unwrap_or_default() };
    Stamp {
        ino: stat.st_ino,
        size: u64::try_from(stat.st_size).unwrap_or_default(),
        mode: mode_of(stat),
        mtime: moment(stat.st_mtime, stat.st_mtime_nsec),
        ctime: moment(stat.st_ctime, stat.st_ctime_nsec),
    }
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct Dir(pub(super) OwnedFd);

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a directory by path. Only this path may contain symlinks.
pub(crate) fn at_root(path: &Path) -> Done<Dir> {
    rustix::fs::open(path, DIRECTORY, Mode::empty()).map(Dir)
}

impl Dir {
    /// Opens a directory below.
    pub(crate) fn directory(&self, name: &[u8]) -> Done<Self> {
        rustix::fs::openat(&self.0, OsStr::from_bytes(name), DIRECTORY, Mode::empty()).map(Self)
    }

    /// Opens another descriptor of the directory.
    pub(crate) fn reopen(&self) -> Done<Self> {
        rustix::fs::openat(&self.0, ".", DIRECTORY, Mode::empty()).map(Self)
    }

    /// Opens a file for reading. It may have become a pipe, so the call does not wait for a writer.
    pub(crate) fn file(&self, name: &[u8]) -> Done<File> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.0, OsStr::from_bytes(name), flags, Mode::empty()).map(File::from)
    }

    /// Returns the names, in the order of the file system; at most `limit` and one more.
    pub(crate) fn names(&self, limit: usize) -> Done<Vec<Box<[u8]>>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                names.push(name.into());
                if names.len() > limit {
                    break;
                }
            }
        }
        Ok(names)
    }

    /// Returns the metadata of an entry.
    pub(crate) fn look(&self, name: &[u8]) -> Done<Listed> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let stat = rustix::fs::statat(&self.0, OsStr::from_bytes(name), flags)?;
        Ok(Listed::of(&stat))
    }

    /// Returns the directory's own metadata.
    pub(crate) fn itself(&self) -> Done<Listed> {
        rustix::fs::fstat(&self.0).map(|stat| Listed::of(&stat))
    }

    /// Returns `true` if the directory is a mount point; `None` if the system does not report it.
    pub(crate) fn is_mount(&self) -> Option<bool> {
        platform::is_mount(self.0.as_fd())
    }

    /// Returns the target of a symlink.
    pub(crate) fn target(&self, name: &[u8]) -> Done<Vec<u8>> {
        rustix::fs::readlinkat(&self.0, OsStr::from_bytes(name), Vec::new())
            .map(std::ffi::CString::into_bytes)
    }

    /// Creates a directory that only its owner may enter, and opens it.
    pub(crate) fn make_directory(&self, name: &[u8]) -> Done<Self> {
        rustix::fs::mkdirat(&self.0, OsStr::from_bytes(name), Mode::RWXU)?;
        self.directory(name)
    }

    /// Creates a file; the name must be free.
    pub(crate) fn make_file(&self, name: &[u8]) -> Done<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let own = Mode::RUSR | Mode::WUSR;
        let name = OsStr::from_bytes(name);
        rustix::fs::openat(&self.0, name, flags | OFlags::CLOEXEC, own).map(File::from)
    }

    /// Creates a symlink; the name must be free.
    pub(crate) fn make_link(&self, name: &[u8], target: &[u8]) -> Done<()> {
        rustix::fs::symlinkat(OsStr::from_bytes(target), &self.0, OsStr::from_bytes(name))
    }

    /// Sets the directory's permission bits. Its other mode bits, which captures do not include,
    /// stay: a restore opens and closes folders that it does not change.
    pub(crate) fn set_bits(&self, bits: u16) -> Done<()> {
        let other = self.itself()?.stamp.mode & OTHER_BITS;
        rustix::fs::fchmod(&self.0, mode(u32::from(bits & 0o777) | other))
    }
}

/// Returns the metadata of an open file.
pub(crate) fn look_at(file: &File) -> Done<Listed> {
    rustix::fs::fstat(file).map(|stat| Listed::of(&stat))
}

/// Mode bits that captures do not include: setuid, setgid, sticky.
pub(crate) const OTHER_BITS: u32 = 0o7000;

/// Sets the permission bits of an open file.
pub(crate) fn set_bits(file: BorrowedFd<'_>, bits: u16) -> Done<()> {
    rustix::fs::fchmod(file, mode(u32::from(bits & 0o777)))
}

/// Returns `true` if a folder is a repository without a work tree, by the same test as git.
pub(crate) fn is_bare_repository(dir: &Dir) -> bool {
    let is = |name: &[u8], expected| dir.look(name).is_ok_and(|found| found.kind == expected);
    is(b"objects", Kind::Directory)
        && is(b"refs", Kind::Directory)
        && (is(b"HEAD", Kind::File) || is(b"HEAD", Kind::Link))
}

/// Returns `true` if a folder is another work tree of a repository: its `.git` is a file that names
/// `.git/worktrees/NAME` of the repository. That of a submodule names `.git/modules/NAME`.
pub(crate) fn is_work_tree(dir: &Dir) -> bool {
    let is_file = dir.look(b".git").is_ok_and(|found| found.kind == Kind::File);
    let Some(file) = is_file.then(|| dir.file(b".git").ok()).flatten() else { return false };
    let mut text = Vec::new();
    if file.take(POINTER_MAX).read_to_end(&mut text).is_err() || !text.starts_with(b"gitdir:") {
        return false;
    }
    let mut parts = text.rsplit(|byte| *byte == b'/').skip(1);
    let is_below = |folder: &[u8]| folder.ends_with(b".git");
    parts.next() == Some(b"worktrees") && parts.next().is_some_and(is_below)
}
