//! The limit of open files, and the files reserved for the store.

use std::os::fd::AsRawFd;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The maximum of the raised soft limit.
const MOST: u64 = 1 << 16;

/// Files reserved for the store: packs, segments, folders being synced, workspaces.
const FOR_STORE: u64 = 256;

/// Raises the soft limit of open files to the hard limit, at most 65,536, and returns the resulting
/// limit. If that fails, connections stay below the old limit.
pub fn raise_open_files() -> u64 {
    let now = getrlimit(Resource::Nofile);
    let Some(soft) = now.current else {
        return u64::MAX;
    };
    let wanted = now.maximum.unwrap_or(MOST).min(MOST);
    if wanted <= soft {
        return soft;
    }
    let raised = Rlimit { current: Some(wanted), maximum: now.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => wanted,
        Err(_) => soft,
    }
}

/// Returns true if a connection leaves enough files for the store. The kernel assigns the lowest
/// free descriptor, so the connection's descriptor approximates the number of open files.
pub(crate) fn has_room(connection: &impl AsRawFd) -> bool {
    let number = u64::try_from(connection.as_raw_fd()).unwrap_or(0);
    let soft = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    fits(number, soft)
}

fn fits(number: u64, soft: u64) -> bool {
    number < soft - FOR_STORE.min(soft / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_of_files_is_kept_for_the_store_whatever_the_limit() {
        for (number, soft, room) in [
            (767, 1024, true),
            (768, 1024, false),
            (31, 64, true),
            (32, 64, false),
            (1_000_000, u64::MAX, true),
            (0, 0, false),
        ] {
            assert_eq!(fits(number, soft), room, "{number} of {soft}");
        }
    }
}
