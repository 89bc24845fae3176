//! Location of a store: owner, disk and free space.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::statvfs;

use super::check::Check;
use crate::output::size;
use crate::platform::{self, Disk};

/// Free bytes below which the check warns.
const FREE_LEAST: u64 = 1 << 30;

pub fn checks(folder: &Path) -> Vec<Check> {
    vec![owner(folder), disk(folder), room(folder)]
}

fn owner(folder: &Path) -> Check {
    let shown = folder.display();
    match std::fs::metadata(folder) {
        Err(error) => Check::failed(
            "folder",
            format!("{shown} cannot be looked at: {error}"),
            "see whose it is: `ls -ld` says so",
        ),
        Ok(metadata) if metadata.mode() & 0o077 != 0 => Check::look(
            "folder",
            format!("{shown}, mode {:04o}", metadata.mode() & 0o7777),
            format!("others of this machine may read it: `chmod go= {shown}` keeps them out"),
        ),
        Ok(metadata) => {
            Check::fine("folder", format!("{shown}, mode {:04o}", metadata.mode() & 0o7777))
        }
    }
}

fn disk(folder: &Path) -> Check {
    match platform::disk(folder) {
        None => Check::look("disk", "what disk it is on is not known", "look at it with `df`"),
        // This is so on each machine of such a system, and no reason to look.
        Some(Disk::Unknown) => Check::fine("disk", "this system does not say what disk it is on"),
        Some(Disk::Memory(name)) => Check::look(
            "disk",
            format!("it is in memory ({name})"),
            "all of it is gone when the machine stops: a store that should last is on a disk",
        ),
        Some(Disk::Elsewhere(name)) => Check::look(
            "disk",
            format!("it is on {name}"),
            "what is synced there is as safe as the other side keeps it, and locks may not hold: a \
             local disk is better",
        ),
        Some(Disk::Local) => Check::fine("disk", "it is on a local file system"),
    }
}

fn room(folder: &Path) -> Check {
    let Ok(found) = statvfs(folder) else {
        return Check::look("room", "how much is free is not known", "look at it with `df`");
    };
    room_of(found.f_bavail.saturating_mul(found.f_frsize))
}

fn room_of(free: u64) -> Check {
    let said = format!("{} free on its disk", size(free));
    match free < FREE_LEAST {
        true => Check::look(
            "room",
            said,
            "`milepost cleanup --dry-run` says what can go; where the disk is full, appends are \
             refused and nothing is lost",
        ),
        false => Check::fine("room", said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_with_little_room_is_named_with_what_makes_room() {
        let hint = "`milepost cleanup --dry-run` says what can go; where the disk is full, appends \
                    are refused and nothing is lost";
        assert_eq!(room_of(FREE_LEAST - 1).advice.as_deref(), Some(hint));
        assert_eq!(room_of(FREE_LEAST).advice, None);
    }
}
