//! Free bytes of the store's disk, looked at now and then.

use std::time::Duration;

use milepost::Engine;
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a look holds.
const HOLDS: Duration = Duration::from_millis(50);

/// When it was looked last, and what was found.
#[derive(Debug, Default)]
pub(crate) struct Disk(Mutex<Option<(Instant, Option<u64>)>>);

impl Disk {
    /// The free bytes of an engine's disk; nothing where it has none, or they are not known.
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
