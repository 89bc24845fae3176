//! Context of events: the actor, the user, the correlation id and the time.

use std::cell::RefCell;

use milepost_codec::Header;

thread_local! {
    static NOW: RefCell<Context> = const { RefCell::new(Context::NONE) };
}

/// The context of events, as far as the caller gives it: see [`Append::or_context`].
///
/// [`Append::or_context`]: crate::Append::or_context
///
/// ```
/// use milepost::calls::Context;
/// use milepost::events::Message;
/// use milepost::{Append, Engine, Options};
///
/// let mut context = Context::default();
/// context.actor = Some("optimizer".into());
/// let engine = Engine::in_memory(Options::default())?;
/// let task = engine.start_task("essay", "ana")?;
/// task.append(Append::from(Message::text("user", "hello")).or_context(&context))?;
/// let said = task.read(1..)?.next().transpose()?.unwrap();
/// assert_eq!(said.header.actor.as_deref(), Some("optimizer"));
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context {
    /// The person or program that acts.
    pub actor: Option<String>,
    /// The user on whose behalf the events are appended.
    pub user: Option<String>,
    /// An id that ties the events to work elsewhere.
    pub correlation: Option<String>,
    /// The time, in microseconds since the Unix epoch.
    pub time_us: Option<u64>,
}

impl Context {
    const NONE: Self = Self { actor: None, user: None, correlation: None, time_us: None };

    /// Fills in what `other` has and this context has not.
    pub(crate) fn or(self, other: &Self) -> Self {
        Self {
            actor: self.actor.or_else(|| other.actor.clone()),
            user: self.user.or_else(|| other.user.clone()),
            correlation: self.correlation.or_else(|| other.correlation.clone()),
            time_us: self.time_us.or(other.time_us),
        }
    }

    /// Returns the header of events of this context. Missing fields come from the thread's context,
    /// a missing time is `now_us`.
    pub(crate) fn header(&self, kind: u16, now_us: u64) -> Header {
        let either =
            |own: &Option<String>, other: &Option<String>| own.as_ref().or(other.as_ref()).cloned();
        NOW.with_borrow(|now| Header {
            kind,
            time_us: self.time_us.or(now.time_us).unwrap_or(now_us),
            actor: either(&self.actor, &now.actor),
            user: either(&self.user, &now.user),
            correlation: either(&self.correlation, &now.correlation),
            key: None,
            batch: 0,
        })
    }

    /// Returns the texts, which have a limit.
    pub(crate) fn texts(&self) -> [&Option<String>; 3] {
        [&self.actor, &self.user, &self.correlation]
    }
}

/// Calls `work` on behalf of a user. Events appended on this thread get the user and the
/// correlation id unless they have their own, and so do `milepost::audit` messages. For the events
/// of a restore, an undo, a cleanup or an erasure there is no other way to set them.
///
/// ```
/// use milepost::calls::with_context;
/// use milepost::{Engine, Options};
///
/// let engine = Engine::in_memory(Options::default())?;
/// engine.start_task("essay", "ana")?;
/// let point = engine.point("essay@0")?;
/// let back = with_context("ben", "request-17", || engine.restore(&point).run())?;
/// let restored = back.read(1..)?.next().transpose()?.unwrap();
/// assert_eq!(restored.header.user.as_deref(), Some("ben"));
/// assert_eq!(restored.header.correlation.as_deref(), Some("request-17"));
/// # Ok::<(), milepost::Error>(())
/// ```
pub fn with_context<T>(user: &str, correlation: &str, work: impl FnOnce() -> T) -> T {
    let (user, correlation) = (Some(user.to_owned()), Some(correlation.to_owned()));
    let before = NOW.replace(Context { user, correlation, ..Context::NONE });
    let _back = Back(before);
    work()
}

/// Restores the previous context, also after a panic.
struct Back(Context);

impl Drop for Back {
    fn drop(&mut self) {
        NOW.set(std::mem::take(&mut self.0));
    }
}

/// Returns the user set by [`with_context`], if any.
pub(crate) fn user() -> Option<String> {
    NOW.with_borrow(|now| now.user.clone())
}

/// Returns the correlation id set by [`with_context`], if any.
pub(crate) fn correlation() -> Option<String> {
    NOW.with_borrow(|now| now.correlation.clone())
}

/// Returns the header of an event in the thread's context.
pub(crate) fn header(kind: u16, time_us: u64) -> Header {
    Context::NONE.header(kind, time_us)
}
