//! Context of events: the actor, the user, the correlation id and the time.

use milepost_codec::Header;

/// The context of events, as far as the caller gives it: see [`Append::or_context`] and
/// [`Engine::with_context`].
///
/// [`Append::or_context`]: crate::Append::or_context
/// [`Engine::with_context`]: crate::Engine::with_context
///
/// ```
/// use milepost::calls::Context;
/// use milepost::events::Message;
/// use milepost::{Append, Engine, Options};
///
/// let engine = Engine::in_memory(Options::default())?;
/// let task = engine.with_context(Context::of("ben", "request-17")).start_task("essay", "ana")?;
/// let mut context = Context::default();
/// context.actor = Some("optimizer".into());
/// task.append(Append::from(Message::text("user", "hello")).or_context(&context))?;
/// let said = task.read(1..)?.next().transpose()?.unwrap().header;
/// assert_eq!((said.actor.as_deref(), said.user.as_deref()), (Some("optimizer"), Some("ben")));
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
    pub(crate) const NONE: Self =
        Self { actor: None, user: None, correlation: None, time_us: None };

    /// Creates the context of a user and a correlation id.
    pub fn of(user: &str, correlation: &str) -> Self {
        let (user, correlation) = (Some(user.to_owned()), Some(correlation.to_owned()));
        Self { user, correlation, ..Self::NONE }
    }

    /// Fills in what `other` has and this context has not.
    pub(crate) fn or(self, other: &Self) -> Self {
        Self {
            actor: self.actor.or_else(|| other.actor.clone()),
            user: self.user.or_else(|| other.user.clone()),
            correlation: self.correlation.or_else(|| other.correlation.clone()),
            time_us: self.time_us.or(other.time_us),
        }
    }

    /// Returns the header of events of this context. Missing fields come from the context of the
    /// caller, a missing time is `now_us`.
    pub(crate) fn header(&self, caller: &Self, kind: u16, now_us: u64) -> Header {
        let either =
            |own: &Option<String>, other: &Option<String>| own.as_ref().or(other.as_ref()).cloned();
        Header {
            kind,
            time_us: self.time_us.or(caller.time_us).unwrap_or(now_us),
            actor: either(&self.actor, &caller.actor),
            user: either(&self.user, &caller.user),
            correlation: either(&self.correlation, &caller.correlation),
            key: None,
            batch: 0,
        }
    }

    /// Returns the texts, which have a limit.
    pub(crate) fn texts(&self) -> [&Option<String>; 3] {
        [&self.actor, &self.user, &self.correlation]
    }
}
