//! Cancellation of calls whose caller has gone, by a flag that is checked between two events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use milepost_codec::{Error, ErrorKind, Result};

/// A flag that cancels calls. An engine that carries it ([`Engine::with_cancel`]), and all handles
/// that come from that engine, fail their reads, captures and compactions with `Unavailable` once
/// it is set. Appends are not cancelled, and neither is a restore that changes files already.
/// Clones share the flag.
///
/// [`Engine::with_cancel`]: crate::Engine::with_cancel
///
/// ```
/// use milepost::calls::Cancel;
/// use milepost::{Engine, Options};
///
/// let engine = Engine::in_memory(Options::default())?;
/// engine.start_task("essay", "ana")?;
/// let cancel = Cancel::new();
/// let task = engine.with_cancel(&cancel).task("essay")?;
/// cancel.cancel();
/// let read = task.read(0..).and_then(|mut all| all.next().transpose());
/// assert!(Cancel::is_cause_of(&read.unwrap_err()));
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cancel(Option<Arc<AtomicBool>>);

impl Cancel {
    /// Cancels nothing: it cannot be set.
    pub const NEVER: Self = Self(None);

    /// Creates a flag that is not set.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Sets the flag, for good.
    pub fn cancel(&self) {
        self.0.iter().for_each(|flag| flag.store(true, Ordering::Relaxed));
    }

    /// Returns `true` if the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Checks that the flag is not set. For long work between the calls of an engine.
    ///
    /// # Errors
    ///
    /// `Unavailable`: it is set.
    pub fn check(&self) -> Result<()> {
        if !self.is_cancelled() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unavailable, Cancelled.to_string()).with_source(Cancelled))
    }

    /// Returns `true` if calls failed with this error because they were cancelled.
    pub fn is_cause_of(error: &Error) -> bool {
        std::error::Error::source(error).is_some_and(|source| source.is::<Cancelled>())
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

/// The cause of the end of calls that are cancelled.
#[derive(Debug)]
struct Cancelled;

impl std::error::Error for Cancelled {}

impl std::fmt::Display for Cancelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("this was given up: its caller is gone")
    }
}
