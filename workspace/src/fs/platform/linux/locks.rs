//! Holders of locks, as the kernel lists them.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use milepost_codec::printable;

/// Returns name and number of a process that holds the lock of a folder, if it is known.
pub(crate) fn lock_holder(folder: &Path) -> Option<String> {
    holders(folder).first().copied().map(describe_process)
}

/// Returns `true` if the lock of a folder is known to be held by processes of other users than this
/// one only.
pub(crate) fn is_locked_by_others(folder: &Path, me: u32) -> bool {
    let holders = holders(folder);
    !holders.is_empty() && holders.iter().all(|pid| is_of_other(*pid, me))
}

/// Returns the processes that hold the lock of a folder.
fn holders(folder: &Path) -> Vec<u32> {
    let locks = std::fs::read_to_string("/proc/locks");
    match (locks, std::fs::metadata(folder)) {
        (Ok(locks), Ok(meta)) => holders_in(&locks, meta.dev(), meta.ino()),
        _ => Vec::new(),
    }
}

/// Returns the name and number of a process.
fn describe_process(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    match name.trim() {
        "" => format!("process {pid}"),
        name => format!("{} (process {pid})", printable(name.as_bytes())),
    }
}

/// Returns `true` if a process belongs to another user than this one, or does not exist. The kernel
/// names the process that took a lock; a missing process left it to a child, and may have belonged
/// to any user.
fn is_of_other(pid: u32, me: u32) -> bool {
    std::fs::metadata(format!("/proc/{pid}")).map_or(true, |about| about.uid() != me)
}

/// Finds the holders in lines like `1: FLOCK ADVISORY WRITE 4242 fd:01:131074 0 EOF`. The device
/// can differ from the one in a stamp (btrfs): it decides only if a line has it.
fn holders_in(locks: &str, dev: u64, ino: u64) -> Vec<u32> {
    let (major, minor) = (rustix::fs::major(dev), rustix::fs::minor(dev));
    let found = locks.lines().filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let kind = fields.next()?;
        let pid = fields.nth(2)?;
        let mut place = fields.next()?.split(':');
        let mut hex = || u32::from_str_radix(place.next()?, 16).ok();
        let device = (hex()?, hex()?);
        (kind == "FLOCK" && place.next()?.parse() == Ok(ino)).then_some(())?;
        Some((device == (major, minor), pid.parse().ok()?))
    });
    let found: Vec<(bool, u32)> = found.collect();
    let any_here = found.iter().any(|(is_here, _)| *is_here);
    found.into_iter().filter(|(is_here, _)| *is_here || !any_here).map(|(_, pid)| pid).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holders_are_told_by_inode_and_by_device_where_a_line_has_it() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 fd:01:99 0 EOF\n\
                     2: FLOCK  ADVISORY  READ 4242 fd:01:99 0 EOF\n\
                     2: FLOCK  ADVISORY  READ 4243 fd:01:99 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 9 00:2a:99 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 5 fd:01:99 0 EOF\nno line";
        let dev = |major, minor| rustix::fs::makedev(major, minor);
        assert_eq!(holders_in(locks, dev(0xfd, 1), 99), [4242, 4243]);
        assert_eq!(holders_in(locks, dev(0, 0x2a), 99), [9]);
        assert_eq!(holders_in(locks, dev(7, 7), 99), [4242, 4243, 9]);
        assert!(holders_in(locks, dev(0xfd, 1), 98).is_empty());
    }

    #[test]
    fn a_process_that_is_not_there_counts_as_another_users() {
        let me = rustix::process::geteuid().as_raw();
        assert!(!is_of_other(std::process::id(), me));
        assert!(is_of_other(std::process::id(), me + 1));
        // No process has the highest number.
        assert!(is_of_other(u32::MAX, me));
    }
}
