//! Free space of the store's disk, sampled at intervals.

use std::time::Duration;

use milepost::Engine;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Lifetime of a sample.
const HOLDS: Duration = Duration::from_millis(50);

/// The time of the last sample, and its result.
#[derive(Debug, Default)]
pub(crate) struct Disk(Mutex<Option<(Instant, Option<u64>)>>);

impl Disk {
    /// Returns the free bytes of the store's disk; `None` for a store in memory or if unknown.
    pub(crate) fn free(&self, engine: &Engine) -> Option<u64> {
        let mut looked = self.0.lock();
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
    let store = engine.chunk_store();
    let found = rustix::fs::statvfs(store.folder()?).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}
