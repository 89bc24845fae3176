//! Appends of which each event has its own key: see [`Append::each_keyed`].

use std::borrow::Cow;

use milepost_codec::{Error, Head, Offset, Result};

use crate::commit::append::Append;
use crate::commit::appended::{Appended, Committed, KeyedEvent};
use crate::commit::dedup::KeyUse;
use crate::commit::each_keyed::{EventKeys, Given, is_key_used};
use crate::handles::lineage::Lineage;

/// The events of an append, and the keys that are known already.
struct LookedUp {
    /// The earlier uses of the keys; `None` for an event that is new.
    uses: Vec<Option<KeyUse>>,
    /// The new events.
    rest: Append,
}

impl Lineage {
    /// Appends the events that are new, again after another append was first.
    pub(crate) fn append_each(&self, append: &Append) -> Result<Appended> {
        append.check()?;
        let given = append.given_twice()?;
        // Each round that fails has found one key more, so there is an end.
        loop {
            let LookedUp { uses, rest } = self.look_up(append, &given)?;
            if rest.bodies().is_empty() {
                return self.all_known(append, &given, &uses);
            }
            match self.append_observed(Cow::Owned(rest)) {
                Err(error) if is_key_used(&error) => {}
                Err(error) => return Err(error),
                Ok(Committed { appended, .. }) => {
                    let events = places(&given, &uses, appended.first);
                    return Ok(Appended { events, ..appended });
                }
            }
        }
    }

    /// Finds the events whose keys are known. Fails with `Conflict` if one has other content.
    fn look_up(&self, append: &Append, given: &[Given]) -> Result<LookedUp> {
        let inner = self.inner();
        inner.catalog.read_keys_ahead(self.task(), self.id());
        let head = self.head()?.next;
        let (mut uses, mut new) = (Vec::with_capacity(given.len()), Vec::new());
        for (n, is_first) in given.iter().enumerate() {
            let used = match (append.one_of_each(n), is_first) {
                (Some((key, one)), Given::First) => self.use_of(key, &one)?,
                _ => None,
            };
            if used.is_none() && *is_first == Given::First {
                new.push(n);
            }
            uses.push(used);
        }
        Ok(LookedUp { uses, rest: append.only(&new, head) })
    }

    /// Returns the earlier use of a key by an event with this content.
    fn use_of(&self, key: &str, one: &Append) -> Result<Option<KeyUse>> {
        let (task, id) = (self.task(), self.id());
        if self.inner().catalog.keyed(task, id, key)?.is_none() {
            return Ok(None);
        }
        let to = self.engine().log_append(self.log(), self.origin());
        let encoded = self.encoded_to(to, one)?;
        self.inner().catalog.same_use(&encoded, id, key)
    }

    /// Returns the result of an append without a new event.
    fn all_known(
        &self,
        append: &Append,
        given: &[Given],
        uses: &[Option<KeyUse>],
    ) -> Result<Appended> {
        let inner = self.inner();
        inner.meters.repeated.add(1);
        let events = places(given, uses, 0);
        let last = uses.iter().flatten().max_by_key(|used| used.first);
        let (Some(first), Some(last)) = (events.first(), last) else {
            return Err(Error::invalid("an append without events"));
        };
        let marked = match append.marked() {
            Some(mark) => {
                let draft = mark.draft(self.engine().context(), None, inner.now_us())?;
                inner.catalog.mark_behind(self.task(), last, &draft)?
            }
            None => None,
        };
        let next = last.end() + u64::from(marked.is_some());
        let hash = inner.catalog.hash_behind(self.task(), self.origin(), last, next)?;
        Ok(Appended {
            first: first.offset,
            count: 0,
            head: Head { next, hash },
            checkpoint: marked,
            seq: last.seq,
            repeated: true,
            events,
        })
    }
}

/// Returns the places of events, the first new one of which is at `next`.
fn places(given: &[Given], uses: &[Option<KeyUse>], mut next: Offset) -> Vec<KeyedEvent> {
    let mut events: Vec<KeyedEvent> = Vec::with_capacity(given.len());
    for (given, used) in given.iter().zip(uses) {
        let place = match (given, used) {
            (Given::Again(first), _) => events.get(*first).map(|event| event.offset),
            (_, Some(used)) => Some(used.first),
            (_, None) => None,
        };
        let repeated = place.is_some();
        events.push(KeyedEvent::at(place.unwrap_or(next), repeated));
        next += u64::from(!repeated);
    }
    events
}

impl Append {
    /// Returns the append with some of its events only, whose keys are new up to a head.
    fn only(&self, events: &[usize], head: Offset) -> Self {
        let keys = self.event_keys().map_or(&[][..], |keys| &keys.keys);
        let keys = events.iter().filter_map(|n| keys.get(*n).cloned()).collect();
        self.with_only(events).with_keys(EventKeys { keys, new_up_to: Some(head) })
    }
}
