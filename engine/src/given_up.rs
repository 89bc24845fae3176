//! Cancellation of calls whose caller is gone, by a flag that is checked between two events.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use milepost_codec::{Error, ErrorKind, Result};

thread_local! {
    static NOW: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Calls `work`; its reads, captures and compactions on this thread fail with `Unavailable` once
/// `given_up` is true. Appends are not affected, nor is a restore that has begun to change files.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use milepost::calls::unless_given_up;
/// use milepost::{Engine, Options};
///
/// let engine = Engine::in_memory(Options::default())?;
/// let task = engine.start_task("essay", "ana")?;
/// let given_up = Arc::new(AtomicBool::new(true));
/// let first = || task.read(0..).and_then(|mut all| all.next().transpose());
/// let read = unless_given_up(&given_up, first);
/// assert!(read.is_err());
/// # Ok::<(), milepost::Error>(())
/// ```
pub fn unless_given_up<T>(given_up: &Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    let before = NOW.replace(Some(Arc::clone(given_up)));
    let _back = Back(before);
    work()
}

/// The cause of the end of calls that are given up.
#[derive(Debug)]
struct GivenUp;

impl std::error::Error for GivenUp {}

impl std::fmt::Display for GivenUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("this was given up: its caller is gone")
    }
}

/// Returns `true` if calls ended because they were [given up](unless_given_up).
pub fn is_given_up(error: &Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<GivenUp>())
}

/// Restores the previous flag, also after a panic.
struct Back(Option<Arc<AtomicBool>>);

impl Drop for Back {
    fn drop(&mut self) {
        NOW.set(self.0.take());
    }
}

/// Calls `work`, which is not given up: it ends whole.
pub(crate) fn whole<T>(work: impl FnOnce() -> T) -> T {
    let _back = Back(NOW.replace(None));
    work()
}

/// Checks that the calls of this thread are not given up: see [`unless_given_up`]. For long work
/// between the calls of an engine.
///
/// # Errors
///
/// `Unavailable`: they were given up.
pub fn check_given_up() -> Result<()> {
    let given_up =
        NOW.with_borrow(|now| now.as_ref().is_some_and(|now| now.load(Ordering::Relaxed)));
    match given_up {
        false => Ok(()),
        true => Err(Error::new(ErrorKind::Unavailable, GivenUp.to_string()).with_source(GivenUp)),
    }
}
