//! Reports of the kernel about changed folders, by `inotify`. The kernel queues them until they are
//! read.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::fs::platform::{Report, ReportKind};

/// All events that change the result of a scan.
const WATCHED_EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// File systems whose changes the kernel reports completely, by their numbers in `statfs(2)`: ext2
/// to ext4, XFS, Btrfs, F2FS, ZFS, bcachefs, tmpfs, overlayfs.
const TRUSTED: [u64; 8] = [
    0xEF53,
    0x5846_5342,
    0x9123_683E,
    0xF2F5_2010,
    0x2FC1_2FC1,
    0xCA45_1A4E,
    0x0102_1994,
    0x794C_7630,
];

/// Size of the event buffer in bytes.
const READ_AT_ONCE: usize = 16 << 10;

/// A queue of reports.
#[derive(Debug)]
pub(in crate::fs) struct Reports {
    inotify: OwnedFd,
}

impl Reports {
    /// Starts without any folder. Returns `None` if the kernel does not report all changes of the
    /// file system, or has no room.
    pub(in crate::fs) fn open(root: BorrowedFd<'_>) -> Option<Self> {
        let kind = rustix::fs::fstatfs(root).ok()?.f_type;
        // Width and sign of the number depend on the machine.
        let kind = u64::from(kind as u32);
        if !TRUSTED.contains(&kind) {
            return None;
        }
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        Some(Self { inotify })
    }

    /// Watches a folder, and returns the number of its reports. A number is used once.
    pub(in crate::fs) fn add(&self, dir: BorrowedFd<'_>) -> Result<i32, Errno> {
        // Watch the descriptor, since the path may lead elsewhere by now.
        let itself = format!("/proc/self/fd/{}", dir.as_raw_fd());
        inotify::add_watch(&self.inotify, itself, WATCHED_EVENTS)
    }

    /// Calls a function with each report since the last call. Returns `false` if some may be lost.
    pub(in crate::fs) fn read(&self, report: &mut dyn FnMut(&Report<'_>)) -> bool {
        let mut buffer = vec![MaybeUninit::uninit(); READ_AT_ONCE];
        let mut events = Reader::new(&self.inotify, &mut buffer);
        loop {
            let event = match events.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return true,
                Err(_) => return false,
            };
            let flags = event.events();
            let kind = if flags.contains(ReadFlags::IGNORED) {
                ReportKind::Ended
            } else if flags.contains(ReadFlags::UNMOUNT) {
                ReportKind::Unmounted
            } else if flags.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF) {
                ReportKind::Moved
            } else {
                ReportKind::Changed
            };
            let name = event.file_name().map(std::ffi::CStr::to_bytes);
            report(&Report { number: event.wd(), kind, name });
        }
    }
}
