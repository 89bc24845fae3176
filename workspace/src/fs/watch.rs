//! Reports of the kernel about changed folders. The kernel queues them until they are read, so no
//! thread is needed.

use std::collections::{BTreeSet, HashMap};
use std::os::fd::AsFd;

use parking_lot::Mutex;

use super::dir::Dir;
use super::platform::{Report, ReportKind, Reports};

/// Changes since the folders are watched.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Happened {
    /// Folders with changes, and those moved or removed, at the paths under which they were
    /// watched.
    pub(crate) changed: BTreeSet<Box<[u8]>>,
    /// `true` if changes may be missing.
    pub(crate) lost: bool,
}

/// A set of watched folders.
#[derive(Debug)]
pub(crate) struct Watch {
    reports: Reports,
    /// Paths by the numbers of their folders. A number is used once.
    paths: Mutex<HashMap<i32, Box<[u8]>>>,
    /// Earlier paths of folders that were watched again elsewhere.
    moved: Mutex<Vec<Box<[u8]>>>,
    /// `true` if a folder could not be watched.
    lost: std::sync::atomic::AtomicBool,
}

impl Watch {
    /// Starts without any folder. Returns `None` if the system does not report all changes of the
    /// file system, or has no room.
    pub(crate) fn begin(root: &Dir) -> Option<Self> {
        Reports::open(root.0.as_fd()).map(|reports| Self {
            reports,
            paths: Mutex::default(),
            moved: Mutex::default(),
            lost: false.into(),
        })
    }

    /// Watches a folder at a path.
    pub(crate) fn add(&self, dir: &Dir, path: &[u8]) {
        // After a failure, the user's remaining watches are left to other programs.
        if !self.is_complete() {
            return;
        }
        match self.reports.add(dir.0.as_fd()) {
            Ok(number) => {
                let before = self.paths.lock().insert(number, path.into());
                // The folder was seen at two paths: the earlier one is reported as changed.
                if let Some(before) = before.filter(|before| **before != *path) {
                    self.moved.lock().push(before);
                }
            }
            Err(_) => self.lost.store(true, std::sync::atomic::Ordering::Relaxed),
        }
    }

    /// Returns `true` if no folder failed to be watched.
    pub(crate) fn is_complete(&self) -> bool {
        !self.lost.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Returns the number of watched folders.
    pub(crate) fn folders(&self) -> usize {
        self.paths.lock().len()
    }

    /// Returns the changes since the last call. A change to a name that `reaches` beyond its folder
    /// sets `lost`.
    pub(crate) fn happened(&self, reaches: fn(&[u8]) -> bool) -> Happened {
        let mut happened = Happened { lost: !self.is_complete(), ..Happened::default() };
        happened.changed.extend(self.moved.lock().drain(..));
        let mut paths = self.paths.lock();
        let is_whole = self.reports.read(&mut |report: &Report<'_>| {
            if report.kind == ReportKind::Ended {
                paths.remove(&report.number);
                return;
            }
            let Some(path) = paths.get(&report.number) else {
                // No number: the queue overflowed.
                happened.lost = true;
                return;
            };
            happened.lost |= report.kind == ReportKind::Unmounted
                || path.is_empty() && report.kind == ReportKind::Moved;
            match report.name {
                Some(name) => happened.lost |= reaches(name),
                // The folder above records the folder's own permissions.
                None => {
                    happened.changed.insert(above(path).into());
                }
            }
            if !happened.changed.contains(path) {
                happened.changed.insert(path.clone());
            }
        });
        happened.lost |= !is_whole;
        happened
    }
}

fn above(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    path.get(..end).unwrap_or_default()
}

#[cfg(all(test, target_os = "linux", not(milepost_portable)))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::fs::at_root;

    fn no(_: &[u8]) -> bool {
        false
    }

    fn paths(of: &[&str]) -> BTreeSet<Box<[u8]>> {
        of.iter().map(|path| path.as_bytes().into()).collect()
    }

    #[test]
    fn each_thing_that_changes_a_folder_is_told_with_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/old"), "x").unwrap();
        let watch = Watch::begin(&at_root(root).unwrap()).unwrap();
        for path in ["", "a", "a/b"] {
            watch.add(&at_root(&root.join(path)).unwrap(), path.as_bytes());
        }
        assert_eq!((watch.folders(), watch.happened(no)), (3, Happened::default()));
        let expect_changes = |changed: &[&str]| {
            let expected = Happened { changed: paths(changed), lost: false };
            assert_eq!(watch.happened(no), expected);
            assert_eq!(watch.happened(no), Happened::default());
        };
        let file = root.join("a/b/old");
        fs::write(&file, "y").unwrap();
        expect_changes(&["a/b"]);
        fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        expect_changes(&["a/b"]);
        fs::rename(&file, root.join("a/new")).unwrap();
        expect_changes(&["a", "a/b"]);
        // For a hard link, only the folder with the used name is reported.
        fs::hard_link(root.join("a/new"), root.join("linked")).unwrap();
        expect_changes(&[""]);
        fs::write(root.join("linked"), "z").unwrap();
        expect_changes(&[""]);
        fs::remove_file(root.join("linked")).unwrap();
        expect_changes(&[""]);
        std::os::unix::fs::symlink("a", root.join("link")).unwrap();
        expect_changes(&[""]);
        fs::create_dir(root.join("a/c")).unwrap();
        expect_changes(&["a"]);
        fs::set_permissions(root.join("a/b"), PermissionsExt::from_mode(0o700)).unwrap();
        expect_changes(&["a", "a/b"]);
        fs::rename(root.join("a/b"), root.join("b")).unwrap();
        expect_changes(&["", "a", "a/b"]);
        fs::read(root.join("a/new")).unwrap();
        fs::read_dir(root).unwrap().count();
        expect_changes(&[]);
        fs::write(root.join("a/rules"), "").unwrap();
        assert!(watch.happened(|name| name == b"rules").lost);
        fs::remove_dir(root.join("b")).unwrap();
        expect_changes(&["", "a", "a/b"]);
        assert_eq!(watch.folders(), 2);
    }

    #[test]
    fn more_than_the_kernel_keeps_and_a_root_that_moves_are_told_as_lost() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir(&root).unwrap();
        let begin = || {
            let watch = Watch::begin(&at_root(&root).unwrap()).unwrap();
            watch.add(&at_root(&root).unwrap(), b"");
            watch
        };
        let watch = begin();
        let kept = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        let kept: usize = kept.trim().parse().unwrap();
        for n in 0..kept.min(100_000) {
            let name = root.join(if n % 2 == 0 { "a" } else { "b" });
            fs::write(&name, "").unwrap();
        }
        let overflows = kept < 100_000;
        assert_eq!(watch.happened(no).lost, overflows);
        assert!(!watch.happened(no).lost, "it is told once");
        let watch = begin();
        fs::rename(&root, dir.path().join("other")).unwrap();
        assert!(watch.happened(no).lost);
        fs::rename(dir.path().join("other"), &root).unwrap();
        let watch = begin();
        fs::remove_dir_all(&root).unwrap();
        assert!(watch.happened(no).lost);
    }

    #[test]
    fn what_cannot_be_watched_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let opened = at_root(dir.path()).unwrap();
        let watch = Watch::begin(&opened).unwrap();
        assert!(watch.is_complete());
        let gone = dir.path().join("gone");
        fs::write(&gone, "").unwrap();
        // A file instead of a folder is refused, as for lack of room.
        let file = Dir(fs::File::open(&gone).unwrap().into());
        watch.add(&file, b"gone");
        assert!(!watch.is_complete() && watch.happened(no).lost);
        assert!(Watch::begin(&at_root("/proc".as_ref()).unwrap()).is_none());
    }
}
