//! Limits of the machine: open files, some of which are reserved for the store, and the free space
//! of the store's disk.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use milepost::Engine;
use parking_lot::Mutex;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::time::Instant;
use tracing::{error, info};

/// The maximum of the raised soft limit.
const MOST: u64 = 1 << 16;

/// Files reserved for the store: packs, segments, folders being synced, workspaces.
const FOR_STORE: u64 = 256;

/// Lifetime of a sample of the free space.
const HOLDS: Duration = Duration::from_millis(50);

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

/// The disk of a store.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    /// The time of the last sample, and its result.
    sample: Mutex<Option<(Instant, Option<u64>)>>,
    is_full: AtomicBool,
}

impl Disk {
    /// Returns `true` if less than a reserve is free. The log has one line when that begins, and
    /// one when it ends.
    pub(crate) fn is_full(&self, engine: &Engine, reserve: u64) -> bool {
        let free = self.free(engine);
        let is_full = free.is_some_and(|free| free < reserve);
        if self.is_full.swap(is_full, Ordering::Relaxed) != is_full {
            match is_full {
                true => error!(
                    target: "milepost::http", free, reserve,
                    "the store's disk is full: requests that add to it are refused"
                ),
                false => info!(target: "milepost::http", free, reserve, "the disk has room again"),
            }
        }
        is_full
    }

    /// Returns the free bytes of the store's disk; `None` for a store in memory or if unknown.
    pub(crate) fn free(&self, engine: &Engine) -> Option<u64> {
        let mut looked = self.sample.lock();
        match *looked {
            Some((at, free)) if at.elapsed() < HOLDS => free,
            _ => {
                let free = free(engine);
                *looked = Some((Instant::now(), free));
                free
            }
        }
    }
}

fn free(engine: &Engine) -> Option<u64> {
    let store = engine.store().chunks();
    let found = rustix::fs::statvfs(store.folder()?).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
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
