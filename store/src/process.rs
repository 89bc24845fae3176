//! The process that opened a store.
//!
//! A forked child has copies of all handles, but not their threads, and locks in any state. It
//! shares the store's lock and files. So every handle refuses to work in the child, and dropping
//! one changes nothing.

use std::sync::atomic::{AtomicU32, Ordering};

use milepost_codec::{Error, ErrorKind, Result};

/// The process that opened a store.
#[derive(Debug)]
pub struct Owner(AtomicU32);

impl Default for Owner {
    fn default() -> Self {
        Self(AtomicU32::new(std::process::id()))
    }
}

impl Owner {
    /// Returns `true` in a forked child of the process.
    pub fn is_elsewhere(&self) -> bool {
        self.0.load(Ordering::Relaxed) != std::process::id()
    }

    /// Fails with `Unavailable` in a forked child of the process.
    pub fn check(&self) -> Result<()> {
        if !self.is_elsewhere() {
            return Ok(());
        }
        let opened = self.0.load(Ordering::Relaxed);
        Err(Error::new(
            ErrorKind::Unavailable,
            format!(
                "process {opened} opened the store and this one was forked from it: open the store \
                 here once that process has closed it, or use its service"
            ),
        ))
    }

    /// Makes the current process look like a forked child, or like the owner again.
    #[cfg(feature = "testing")]
    pub fn pretend_fork(&self, forked: bool) {
        let id = std::process::id() + u32::from(forked);
        self.0.store(id, Ordering::Relaxed);
    }
}
