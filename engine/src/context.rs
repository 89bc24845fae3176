//! On whose behalf something is done: said once for all that a thread does, and told in events and
//! audit.

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

/// Does `work` on somebody's behalf: what it appends on this thread has the user and the
/// correlation id, unless it names others, and so has what it tells `milepost::audit`. So have the
/// events of a restore, an undo, a cleanup or an erasure, for which they can be said in no other
/// way.
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

/// Puts back who it was before, also behind a panic.
struct Back(Option<Behalf>);

impl Drop for Back {
    fn drop(&mut self) {
        NOW.set(self.0.take());
    }
}

/// The user that is said, where one is.
pub(crate) fn user() -> Option<String> {
    NOW.with_borrow(|now| now.as_ref().map(|now| now.user.to_string()))
}

/// The correlation id that is said, where one is.
pub(crate) fn correlation() -> Option<String> {
    NOW.with_borrow(|now| now.as_ref().map(|now| now.correlation.to_string()))
}

/// The header of an event that names nobody.
pub(crate) fn header(kind: u16, time_us: u64) -> Header {
    Header { kind, time_us, user: user(), correlation: correlation(), ..Header::default() }
}
