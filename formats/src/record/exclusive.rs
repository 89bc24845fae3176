//! One import at a time into each task. An import finds the recorded part and appends the rest; two
//! at once would both append it.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use milepost::Engine;

use crate::error::Result;

/// A task in the store of a folder. All stores in memory count as one.
type Target = (Option<PathBuf>, String);

/// The tasks that imports of this process write to. No other process writes to their stores.
static TARGETS: Mutex<Option<HashSet<Target>>> = Mutex::new(None);
static RELEASED: Condvar = Condvar::new();

/// Interval between two checks of a caller that may be gone.
const LOOK: Duration = Duration::from_millis(50);

/// The right to import into a task, until it is dropped.
pub(super) struct Exclusive(Target);

impl Exclusive {
    /// Waits until no other import writes to a task.
    pub(super) fn wait(engine: &Engine, task: &str) -> Result<Self> {
        let folder = engine.store().chunks().folder().map(PathBuf::from);
        let target = (folder, task.to_owned());
        let mut targets = lock();
        while !targets.get_or_insert_default().insert(target.clone()) {
            engine.cancel().check()?;
            let waited = RELEASED.wait_timeout(targets, LOOK);
            targets = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(Self(target))
    }
}

/// A set of names stays whole if a thread panics.
fn lock() -> MutexGuard<'static, Option<HashSet<Target>>> {
    TARGETS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        lock().get_or_insert_default().remove(&self.0);
        RELEASED.notify_all();
    }
}
