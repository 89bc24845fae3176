//! Appends of which each event has its own key: see [`Append::each_keyed`].

use milepost_codec::{Error, Head, Offset, Result};

use crate::commit::append::{Append, Appended, Committed};
use crate::commit::dedup::KeyUse;
use crate::commit::each_keyed::{AppendedEach, EventKeys, Given, KeyedEvent, is_key_used};
use crate::handles::lineage::Lineage;
use crate::handles::task::Task;

/// The events of an append, and the keys that are known already.
struct LookedUp {
    /// The earlier uses of the keys; `None` for an event that is new.
    uses: Vec<Option<KeyUse>>,
    /// The new events.
    rest: Append,
}

impl Task {
    /// Appends events that each have their own key, as [`Task::append`]. Returns which of them are
    /// new, and where the others are. An append whose events have no keys of their own is appended
    /// as by [`Task::append`], and the result has no list of events.
    ///
    /// # Errors
    ///
    /// As [`Task::append`]. `Conflict`: a key was used for other content. `Invalid`: the append has
    /// a key, too, or one of the events changes the control of the run.
    pub fn append_each(&self, append: impl Into<Append>) -> Result<AppendedEach> {
        let append = append.into();
        match append.is_each_keyed() {
            true => self.lineage().each(&append, &|rest| self.append_captured(rest)),
            false => self.append(append).map(AppendedEach::from),
        }
    }
}

impl Lineage {
    /// Appends events, as [`Lineage::append`], for a program that keeps them to append them again
    /// after a failure.
    pub fn append_ref(&self, append: &Append) -> Result<Appended> {
        match append.is_each_keyed() {
            true => self.append_each(append.clone()).map(|each| each.appended),
            false => self.append_marked(append).map(|committed| committed.appended),
        }
    }

    /// Appends events that each have their own key, as [`Lineage::append`] and
    /// [`Task::append_each`].
    ///
    /// # Errors
    ///
    /// As [`Task::append_each`].
    pub fn append_each(&self, append: impl Into<Append>) -> Result<AppendedEach> {
        let append = append.into();
        match append.is_each_keyed() {
            true => self.each(&append, &|rest| self.append_marked(&rest)),
            false => self.append(append).map(AppendedEach::from),
        }
    }

    /// Appends the events that are new by `commit`, again after another append was first.
    fn each(
        &self,
        append: &Append,
        commit: &dyn Fn(Append) -> Result<Committed>,
    ) -> Result<AppendedEach> {
        append.check()?;
        let given = append.given_twice()?;
        // Each round that fails has found one key more, so there is an end.
        loop {
            let LookedUp { uses, rest } = self.look_up(append, &given)?;
            if rest.bodies().is_empty() {
                return self.all_known(append, &given, &uses);
            }
            match commit(rest) {
                Err(error) if is_key_used(&error) => {}
                Err(error) => return Err(error),
                Ok(Committed { appended, .. }) => {
                    let events = places(&given, &uses, appended.first);
                    return Ok(AppendedEach { appended, events });
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
    ) -> Result<AppendedEach> {
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
        let appended = Appended {
            first: first.offset,
            count: 0,
            head: Head { next, hash },
            checkpoint: marked,
            seq: last.seq,
            repeated: true,
        };
        Ok(AppendedEach { appended, events })
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
