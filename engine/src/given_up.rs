//! Reads that nobody waits for any more: said by a flag, and looked at between two events.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use milepost_codec::{Error, ErrorKind, Result};

thread_local! {
    static NOW: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Does `work`, whose reads on this thread end with `Unavailable` once `given_up` is true. What it
/// appends is appended all the same.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use milepost::{Engine, Options, unless_given_up};
///
/// let engine = Engine::in_memory(Options::default())?;
/// let task = engine.start_task("essay", "ana")?;
/// let given_up = Arc::new(AtomicBool::new(true));
/// let read = unless_given_up(&given_up, || task.read(0..).and_then(|mut all| all.next().transpose()));
/// assert!(read.is_err());
/// # Ok::<(), milepost::Error>(())
/// ```
pub fn unless_given_up<T>(given_up: &Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    let before = NOW.replace(Some(Arc::clone(given_up)));
    let _back = Back(before);
    work()
}

/// Puts back what it was before, also behind a panic.
struct Back(Option<Arc<AtomicBool>>);

impl Drop for Back {
    fn drop(&mut self) {
        NOW.set(self.0.take());
    }
}

/// That somebody waits for what is read on this thread.
///
/// # Errors
///
/// `Unavailable` where nobody does.
pub(crate) fn check() -> Result<()> {
    let given_up =
        NOW.with_borrow(|now| now.as_ref().is_some_and(|now| now.load(Ordering::Relaxed)));
    match given_up {
        false => Ok(()),
        true => {
            Err(Error::new(ErrorKind::Unavailable, "the read was given up: nobody waits for it"))
        }
    }
}
