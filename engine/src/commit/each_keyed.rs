//! Appends of which each event has an idempotency key of its own.
//!
//! ```text
//! caller   finds the keys that the lineage or its ancestors have, at a head
//!          leaves those events out, and encodes the others with their keys
//! leader   admits the rest if the head is still that one, or no key of it was used since
//!          refuses it otherwise, and the caller begins again
//! ```

use std::collections::HashMap;

use milepost_codec::{Body, Error, ErrorKind, LogKind, Offset, Result};

use super::append::Append;
use super::committer::LogAppend;
use crate::history::catalog::Catalog;

/// The keys of the events of an append, one each.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventKeys {
    pub(crate) keys: Vec<String>,
    /// The head up to which the lineage has none of these keys; `None` before they are looked up.
    pub(crate) new_up_to: Option<Offset>,
}

/// The cause of the refusal of a request: a key of it has been used since it was looked for.
#[derive(Debug)]
struct KeyUsed;

impl std::error::Error for KeyUsed {}

impl std::fmt::Display for KeyUsed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an event under one of these keys was committed first")
    }
}

/// Returns `true` if a request was refused because one of its keys was used first.
pub(crate) fn is_key_used(error: &Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<KeyUsed>())
}

/// The first of the given events that has the key of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    /// The event itself.
    First,
    /// An earlier one, by its position.
    Again(usize),
}

impl Append {
    /// Creates an append of events that each have an idempotency key. Of these events, those whose
    /// key the lineage or its ancestors already have are left out, and the others are appended, all
    /// in one commit. A key of other content is a `Conflict`, and nothing is appended. Two appends
    /// at the same time append an event of both once.
    ///
    /// The mark of such an append follows the new events; without new events, nothing is marked.
    /// [`Appended::events`](crate::Appended::events) tells which events are new.
    ///
    /// ```
    /// use milepost::events::Message;
    /// use milepost::{Append, Engine, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.start_task("essay", "ana")?;
    /// let said = |texts: &[&str]| {
    ///     Append::each_keyed(texts.iter().map(|text| (*text, Message::text("user", text))))
    /// };
    /// task.append(said(&["one", "two"]))?;
    /// let done = task.append(said(&["two", "three"]))?;
    /// let repeated: Vec<_> = done.events.iter().map(|event| event.repeated).collect();
    /// assert_eq!((repeated, done.count), (vec![true, false], 1));
    /// # Ok::<(), milepost::Error>(())
    /// ```
    pub fn each_keyed<K: Into<String>, B: Into<Body>>(
        events: impl IntoIterator<Item = (K, B)>,
    ) -> Self {
        let events = events.into_iter().map(|(key, body)| (key.into(), body.into()));
        let (keys, bodies): (Vec<String>, Vec<Body>) = events.unzip();
        Self::batch(bodies).with_keys(EventKeys { keys, new_up_to: None })
    }

    /// Returns `true` if each event has its own key.
    pub fn is_each_keyed(&self) -> bool {
        self.event_keys().is_some()
    }

    /// Returns, for each event, the first one with its key. Fails if they differ.
    pub(crate) fn given_twice(&self) -> Result<Vec<Given>> {
        let mut first = HashMap::new();
        let keys = self.event_keys().map_or(&[][..], |keys| &keys.keys);
        let mut given = Vec::with_capacity(keys.len());
        for (n, (key, body)) in keys.iter().zip(self.bodies()).enumerate() {
            match first.get(key.as_str()) {
                None => {
                    first.insert(key.as_str(), (n, body));
                    given.push(Given::First);
                }
                Some((at, same)) if *same == body => given.push(Given::Again(*at)),
                Some((at, _)) => {
                    let text = format!("events {at} and {n} differ and have the key `{key}`");
                    return Err(Error::new(ErrorKind::Conflict, text));
                }
            }
        }
        Ok(given)
    }

    /// Returns the append of one event under its key, to compare it with an earlier one.
    pub(crate) fn one_of_each(&self, n: usize) -> Option<(&str, Self)> {
        let key = self.event_keys()?.keys.get(n)?;
        let body = self.bodies().get(n)?.clone();
        Some((key, Self::from(body).or_context(self.context())))
    }

    /// Refuses keys of events next to a key of the append, and of events that the engine also keeps
    /// in memory.
    pub(crate) fn check_event_keys(&self) -> Result<()> {
        let Some(keys) = self.event_keys() else {
            return Ok(());
        };
        if self.key_given().is_some() {
            let why = "an append has one key, or each event has its own, not both";
            return Err(Error::invalid(why));
        }
        if self.control_changes().next().is_some() {
            let why = "a change of control is appended alone, under the key of its append";
            return Err(Error::invalid(why));
        }
        if keys.keys.len() != self.bodies().len() {
            return Err(Error::invalid("each event has one key"));
        }
        Ok(())
    }
}

impl Catalog {
    /// Refuses an append with a key of an event that the lineage or its ancestors have by now.
    pub(crate) fn check_event_keys(&self, append: &LogAppend, head: Offset) -> Result<()> {
        let (Some(keys), LogKind::Lineage(lineage)) = (&append.event_keys, append.log.kind) else {
            return Ok(());
        };
        // Each use of a key adds an event to the lineage: its ancestors no longer change before
        // the forks.
        if keys.new_up_to == Some(head) {
            return Ok(());
        }
        for key in &keys.keys {
            if self.keyed(append.log.task, lineage, key)?.is_some() {
                let error = Error::new(ErrorKind::Conflict, KeyUsed.to_string());
                return Err(error.with_source(KeyUsed));
            }
        }
        Ok(())
    }
}
