//! User and correlation id of all work on a thread, recorded in events and audit messages.

use std::cell::RefCell;
use std::sync::Arc;

use milepost_codec::Header;

thread_local! {
    static NOW: RefCell<Option<Behalf>> = const { RefCell::new(None) };
}

#[derive(Debug, Clone)]
struct Behalf {
    user: Arc<str>,
    correlation: Arc<str>,
}

/// Calls `work` on behalf of a user. Events appended on this thread get the user and the
/// correlation id unless they have their own, and so do `milepost::audit` messages. For the events
/// of a restore, an undo, a cleanup or an erasure there is no other way to set them.
///
/// ```
/// use milepost::{Engine, Options, with_context};
///
/// let engine = Engine::in_memory(Options::default())?;
/// engine.start_task("essay", "ana")?;
/// let point = engine.point("essay@0")?;
/// let back = with_context("ben", "request-17", || engine.restore(&point, None))?;
/// let restored = back.read(1..)?.next().transpose()?.unwrap();
/// assert_eq!(restored.header.user.as_deref(), Some("ben"));
/// assert_eq!(restored.header.correlation.as_deref(), Some("request-17"));
/// # Ok::<(), milepost::Error>(())
/// ```
pub fn with_context<T>(user: &str, correlation: &str, work: impl FnOnce() -> T) -> T {
    let (user, correlation) = (user.into(), correlation.into());
    let before = NOW.replace(Some(Behalf { user, correlation }));
    let _back = Back(before);
    work()
}

/// Restores the previous user and correlation id, also after a panic.
struct Back(Option<Behalf>);

impl Drop for Back {
    fn drop(&mut self) {
        NOW.set(self.0.take());
    }
}

/// Returns the user set by [`with_context`], if any.
pub(crate) fn user() -> Option<String> {
    NOW.with_borrow(|now| now.as_ref().map(|now| now.user.to_string()))
}

/// Returns the correlation id set by [`with_context`], if any.
pub(crate) fn correlation() -> Option<String> {
    NOW.with_borrow(|now| now.as_ref().map(|now| now.correlation.to_string()))
}

/// Returns the header of an event that has no user or correlation id of its own.
pub(crate) fn header(kind: u16, time_us: u64) -> Header {
    Header { kind, time_us, user: user(), correlation: correlation(), ..Header::default() }
}
