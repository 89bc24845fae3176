//! Changes of entries that are in groups, or counted by digests.

use std::collections::BTreeMap;

use milepost_codec::Result;

use crate::digest::Digests;
use crate::index::IndexPut;
use crate::local::index::groups::{self, Group};
use crate::local::index::kv::{Kv, VALUE_MAX};

impl Kv {
    /// Applies changes atomically, and leaves digests alone.
    pub(crate) fn apply(&self, puts: Vec<IndexPut>) -> Result<()> {
        if puts.iter().any(|(key, _)| groups::place(key).is_some()) {
            let stored = self.grouped(puts, &mut Digests::default())?;
            return self.write(stored);
        }
        self.write(puts)
    }

    /// Applies changes atomically, and updates the digests of counted entries: removes the old
    /// value of each key, adds the new one. `position` returns the entry that is written with them
    /// and holds the new digests.
    pub(crate) fn apply_counted(
        &self,
        puts: Vec<IndexPut>,
        digests: &mut Digests,
        position: impl FnOnce(Digests) -> IndexPut,
    ) -> Result<()> {
        let mut after = *digests;
        let mut stored = self.grouped(puts, &mut after)?;
        stored.push(position(after));
        self.write(stored)?;
        *digests = after;
        Ok(())
    }

    /// Returns the changes of stored values that change these entries, and updates the digests.
    fn grouped(&self, puts: Vec<IndexPut>, digests: &mut Digests) -> Result<Vec<IndexPut>> {
        // The last change of a key wins.
        let puts: BTreeMap<_, _> = puts.into_iter().collect();
        let mut stored: Vec<IndexPut> = Vec::with_capacity(puts.len() + 1);
        let mut puts = puts.into_iter().peekable();
        while let Some((key, value)) = puts.next() {
            let Some((name, _)) = groups::place(&key) else {
                self.value(&key, |old| {
                    if let Some(old) = old {
                        digests.remove(&key, old);
                    }
                    Ok(())
                })?;
                if let Some(value) = &value {
                    digests.add(&key, value);
                }
                stored.push((key, value));
                continue;
            };
            let mut group = self.open_group(name)?;
            self.change(&mut group, (key, value), digests, &mut stored)?;
            // Keys of one group follow each other.
            while let Some(put) = puts.next_if(|(key, _)| groups::is_in(&group.0, key)) {
                self.change(&mut group, put, digests, &mut stored)?;
            }
            stored.push((group.0, group.1.encode()));
        }
        Ok(stored)
    }

    /// Reads a group.
    fn open_group(&self, name: Vec<u8>) -> Result<(Vec<u8>, Group)> {
        let group = self.value(&name, |value| match value {
            Some(value) => Group::decode(&name, value),
            None => Ok(Group::default()),
        })?;
        Ok((name, group))
    }

    /// Changes an entry of a group, and the digests. A value that the group has no room for goes to
    /// `stored`, under its own key.
    fn change(
        &self,
        (_, group): &mut (Vec<u8>, Group),
        (key, value): IndexPut,
        digests: &mut Digests,
        stored: &mut Vec<IndexPut>,
    ) -> Result<()> {
        let Some((_, end)) = groups::place(&key) else { return Ok(()) };
        let mut old = group.members.remove(end);
        let mut is_outside = false;
        if old.is_none() && group.outside > 0 {
            old = self.value(&key, |value| Ok(value.map(<[u8]>::to_vec)))?;
            is_outside = old.is_some();
        }
        if let Some(old) = old {
            digests.remove(&key, &old);
        }
        if let Some(value) = &value {
            digests.add(&key, value);
        }
        let fits = |value: &Vec<u8>| group.len() + end.len() + 3 + value.len() <= VALUE_MAX;
        if let Some(value) = value.as_ref().filter(|value| !is_outside && fits(value)) {
            group.members.insert(end.to_vec(), value.clone());
            return Ok(());
        }
        match (is_outside, value.is_some()) {
            (false, true) => group.outside = group.outside.saturating_add(1),
            (true, false) => group.outside = group.outside.saturating_sub(1),
            (true, true) => {}
            (false, false) => return Ok(()),
        }
        stored.push((key, value));
        Ok(())
    }
}
