//! Cancellation of reads whose caller has gone, by a flag that is checked between two events.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use milepost_codec::{Error, ErrorKind, Result};

thread_local! {
    static NOW: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Calls `work`; its reads on this thread fail with `Unavailable` once `given_up` is true. Appends
/// are not affected.
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

/// Restores the previous flag, also after a panic.
struct Back(Option<Arc<AtomicBool>>);

impl Drop for Back {
    fn drop(&mut self) {
        NOW.set(self.0.take());
    }
}

/// Checks that the reads of this thread are not given up.
///
/// # Errors
///
/// `Unavailable`: the reads were given up.
pub(crate) fn check() -> Result<()> {
    let given_up =
        NOW.with_borrow(|now| now.as_ref().is_some_and(|now| now.load(Ordering::Relaxed)));
    match given_up {
        false => Ok(()),
        true => {
            Err(Error::new(ErrorKind::Unavailable, "the read was abandoned: its caller is gone"))
        }
    }
}
