//! Calls that only Linux has.

// tidy: two of them

use std::path::Path;

use rustix::fs::statfs;

use super::Disk;

/// Magic numbers of file systems (linux/magic.h).
const TMPFS: i64 = 0x0102_1994;
const ELSEWHERE: [(i64, &str); 4] =
    [(0x6969, "NFS"), (0xff53_4d42, "CIFS"), (0xfe53_4d42, "SMB"), (0x6573_5546, "FUSE")];

/// Returns what a folder is on; `None` if it cannot be looked at.
pub fn disk(folder: &Path) -> Option<Disk> {
    let found = statfs(folder).ok()?;
    #[allow(clippy::unnecessary_cast, reason = "its type is another one on other machines")]
    let kind = found.f_type as i64;
    let elsewhere = ELSEWHERE.iter().find(|(number, _)| *number == kind);
    Some(match elsewhere {
        Some((_, name)) => Disk::Elsewhere(name),
        None if kind == TMPFS => Disk::Memory("tmpfs"),
        None => Disk::Local,
    })
}

/// Returns a mask of the signals that this process ignores.
pub fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    mask.unwrap_or(0)
}
