//! The process that opened a store.
//!
//! A child that is forked from it has copies of all handles, none of the threads behind them, and
//! locks in whatever state they were. It shares the lock of the store and the files. So every
//! handle refuses to work there, and dropping one touches nothing.

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
    /// Returns `true` in a child that was forked from the process.
    pub fn is_elsewhere(&self) -> bool {
        self.0.load(Ordering::Relaxed) != std::process::id()
    }

    /// `Unavailable` in a child that was forked from the process.
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

    /// Makes this process another one, as seen from here.
    #[cfg(feature = "testing")]
    pub fn pretend_fork(&self, forked: bool) {
        let id = std::process::id() + u32::from(forked);
        self.0.store(id, Ordering::Relaxed);
    }
}
