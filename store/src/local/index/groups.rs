//! Groups: entries of neighbouring keys that share one value in sled, which copies a node of its
//! tree for each value that is written.
//!
//! Everything above `kv.rs` sees single entries, and the digests cover single entries. The name of
//! a group is the beginning of its keys, so a group is found without a search:
//!
//! | kind | the keys of a group |
//! |---|---|
//! | `Mark` | 32 offsets |
//! | `TaskMark`, `StoreMark` | 256 offsets of one commit |
//! | `MarkId` | one: a name of at most 22 bytes and its value need no allocation in sled |
//!
//! An entry that does not fit into its group has a value of its own, under its own key.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};

use crate::index::Entry;
use crate::index::keys::KeyKind;

/// The last byte of the name of a group whose keys differ in some bits of their last byte. So it
/// sorts between the own keys of its entries.
const INSIDE: u8 = 0xFF;

/// The first byte of the length of a value that takes two more bytes.
const LONG: u8 = 0xFF;

/// Entries in order of their keys, or of the ends of their keys.
type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// The division of the keys of one kind into groups.
#[derive(Clone, Copy)]
struct Shape {
    /// The length of the keys.
    len: usize,
    /// The bytes at the beginning of a key that name the group.
    cut: usize,
    /// The bits of the byte after them that name it too; 0 if all bits are free.
    mask: u8,
}

impl Shape {
    fn of(key: &[u8]) -> Option<Self> {
        const MARK: u8 = KeyKind::Mark as u8;
        const TASK_MARK: u8 = KeyKind::TaskMark as u8;
        const STORE_MARK: u8 = KeyKind::StoreMark as u8;
        const MARK_ID: u8 = KeyKind::MarkId as u8;
        match *key.first()? {
            MARK => Some(Self { len: 21, cut: 20, mask: 0xE0 }),
            TASK_MARK | STORE_MARK => Some(Self { len: 29, cut: 28, mask: 0 }),
            MARK_ID => Some(Self { len: 33, cut: 22, mask: 0 }),
            _ => None,
        }
    }

    /// Returns the name of the group of a key that has the whole beginning.
    fn name(self, key: &[u8]) -> Option<Vec<u8>> {
        let (begin, rest) = key.split_at_checked(self.cut)?;
        let first = rest.first()?;
        let mut name = begin.to_vec();
        if self.mask != 0 {
            name.extend([first & self.mask, INSIDE]);
        }
        Some(name)
    }
}

/// Returns the name of the group of an entry, and the end of its key; `None` if entries of this
/// kind have a value each.
pub(super) fn place(key: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let shape = Shape::of(key).filter(|shape| shape.len == key.len())?;
    Some((shape.name(key)?, key.get(shape.cut..)?))
}

/// Returns `true` if an entry belongs to the group of this name.
pub(super) fn is_in(name: &[u8], key: &[u8]) -> bool {
    place(key).is_some_and(|(of_key, _)| of_key == name)
}

/// Returns the name of the group that a stored value belongs to: its own name, or that of the group
/// that it did not fit into.
fn group_of(stored: &[u8]) -> Option<Vec<u8>> {
    let shape = Shape::of(stored)?;
    if stored.len() == shape.len {
        return shape.name(stored);
    }
    Some(stored.to_vec())
}

/// Returns the range of stored names that holds a range of keys. Both ranges exclude their end.
pub(super) fn stored_range(from: &[u8], to: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let longer = |key: &[u8]| Shape::of(key).filter(|shape| key.len() > shape.cut);
    let begin = match longer(from) {
        None => from.to_vec(),
        Some(shape) => {
            let (mut begin, rest) = (from.to_vec(), from.get(shape.cut).copied());
            begin.truncate(shape.cut);
            if shape.mask != 0 {
                begin.extend(rest.map(|byte| byte & shape.mask));
            }
            begin
        }
    };
    let end = match longer(to) {
        None => to.to_vec(),
        Some(shape) => {
            let (mut end, rest) = (to.to_vec(), to.get(shape.cut).copied());
            end.truncate(shape.cut);
            if shape.mask != 0 {
                end.extend(rest.map(|byte| byte | !shape.mask));
            }
            // After the name and every own key of an entry.
            end.resize(shape.len + 2, 0xFF);
            end
        }
    };
    (begin, end)
}

/// The entries of one group, by the ends of their keys.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) members: Entries,
    /// The number of entries that did not fit, at most 255.
    pub(super) outside: u8,
}

impl Group {
    /// Decodes the value of a group of this name.
    pub(super) fn decode(name: &[u8], value: &[u8]) -> Result<Self> {
        let mut members = BTreeMap::new();
        let outside = visit(name, value, &mut |end, value| {
            members.insert(end.to_vec(), value.to_vec());
            true
        })?;
        Ok(Self { members, outside })
    }

    /// Returns the value; `None` if the group has no entries.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        if self.members.is_empty() && self.outside == 0 {
            return None;
        }
        let mut bytes = vec![self.outside];
        for (end, value) in &self.members {
            bytes.extend_from_slice(end);
            match u8::try_from(value.len()) {
                Ok(len) if len != LONG => bytes.push(len),
                _ => {
                    bytes.push(LONG);
                    bytes.extend_from_slice(&(value.len() as u16).to_le_bytes());
                }
            }
            bytes.extend_from_slice(value);
        }
        Some(bytes)
    }

    /// Returns the length of the value.
    pub(super) fn len(&self) -> usize {
        let of = |(end, value): (&Vec<u8>, &Vec<u8>)| end.len() + 3 + value.len();
        1 + self.members.iter().map(of).sum::<usize>()
    }
}

/// Passes the entries of a group's value to `each` until it returns `false`. Returns the number of
/// entries outside.
fn visit(name: &[u8], value: &[u8], each: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<u8> {
    let shape = Shape::of(name).ok_or_else(damaged)?;
    let (outside, mut rest) = value.split_first().ok_or_else(damaged)?;
    while !rest.is_empty() {
        let (end, after) = rest.split_at_checked(shape.len - shape.cut).ok_or_else(damaged)?;
        let (len, after) = after.split_first().ok_or_else(damaged)?;
        let (len, after) = match *len {
            LONG => {
                let (len, after) = after.split_first_chunk::<2>().ok_or_else(damaged)?;
                (usize::from(u16::from_le_bytes(*len)), after)
            }
            len => (usize::from(len), after),
        };
        let (value, after) = after.split_at_checked(len).ok_or_else(damaged)?;
        if !each(end, value) {
            break;
        }
        rest = after;
    }
    Ok(*outside)
}

/// Searches a group's value for the entry whose key has this end. Returns it, and whether it may
/// have a value of its own.
pub(super) fn find(name: &[u8], value: &[u8], end: &[u8]) -> Result<(Option<Vec<u8>>, bool)> {
    let mut found = None;
    let outside = visit(name, value, &mut |at, value| {
        if at == end {
            found = Some(value.to_vec());
        }
        at < end
    })?;
    let maybe_outside = found.is_none() && outside > 0;
    Ok((found, maybe_outside))
}

fn damaged() -> Error {
    Error::new(ErrorKind::InvalidData, "a value that is no group of entries")
}

/// Collects the entries of a range from stored values that come in order, or in reverse order.
pub(super) struct Expansion<'a> {
    pub(super) from: &'a [u8],
    pub(super) to: &'a [u8],
    pub(super) backwards: bool,
    pub(super) limit: usize,
    found: Vec<Entry>,
    /// The group whose stored values are being read: its name and its entries.
    open: Option<(Vec<u8>, Entries)>,
}

impl<'a> Expansion<'a> {
    pub(super) fn new(range: (&'a [u8], &'a [u8]), backwards: bool, limit: usize) -> Self {
        let (from, to) = range;
        Self { from, to, backwards, limit, found: Vec::new(), open: None }
    }

    /// Returns `true` if no further value is needed.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= self.limit
    }

    /// Takes the next stored value.
    pub(super) fn push(&mut self, stored: &[u8], value: &[u8]) -> Result<()> {
        let Some(group) = group_of(stored) else {
            self.flush();
            if !self.is_full() {
                self.found.push((stored.to_vec(), value.to_vec()));
            }
            return Ok(());
        };
        if self.open.as_ref().is_some_and(|(open, _)| *open != group) {
            self.flush();
        }
        let (_, entries) = self.open.get_or_insert_with(|| (group.clone(), BTreeMap::new()));
        if group != stored {
            entries.insert(stored.to_vec(), value.to_vec());
            return Ok(());
        }
        let shape = Shape::of(stored).ok_or_else(damaged)?;
        let begin = stored.get(..shape.cut).ok_or_else(damaged)?;
        visit(stored, value, &mut |end, value| {
            entries.insert([begin, end].concat(), value.to_vec());
            true
        })?;
        Ok(())
    }

    fn flush(&mut self) {
        let Some((_, entries)) = self.open.take() else { return };
        let within = |(key, _): &Entry| key.as_slice() >= self.from && key.as_slice() < self.to;
        let left = self.limit.saturating_sub(self.found.len());
        let entries = entries.into_iter().filter(within);
        match self.backwards {
            true => self.found.extend(entries.rev().take(left)),
            false => self.found.extend(entries.take(left)),
        }
    }

    /// Returns the entries.
    pub(super) fn finish(mut self) -> Vec<Entry> {
        self.flush();
        self.found
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use milepost_codec::{CheckpointId, LineageId, TaskNo};

    use super::*;
    use crate::digest::Digests;
    use crate::index::keys;
    use crate::local::index::kv::{Kv, SEGMENT, VALUE_MAX};

    /// A generator of numbers below a bound.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % bound
        }

        fn pick<T: Copy>(&mut self, from: &[T]) -> T {
            let at = self.below(from.len() as u64) as usize;
            *from.get(at).unwrap()
        }

        fn key(&mut self) -> Vec<u8> {
            let (lineage, seq) = (LineageId(self.below(2) as u32), 1 + self.below(3));
            match self.below(4) {
                0 => keys::mark(TaskNo(1), lineage, 200 + self.below(90)),
                1 => keys::task_mark(TaskNo(1), seq, lineage, self.below(600)),
                2 => keys::store_mark(seq, TaskNo(1), lineage, self.below(600)),
                _ => {
                    let mut id = [7; 32];
                    let changed = self.pick(&[0, 20, 21, 31]);
                    *id.get_mut(changed).unwrap() = self.below(4) as u8;
                    keys::mark_id(&CheckpointId(id))
                }
            }
        }

        /// Returns an end of a range: a key, the beginning of one, or one after a key.
        fn end(&mut self) -> Vec<u8> {
            let mut key = self.key();
            match self.below(4) {
                0 => key.truncate(1 + self.below(key.len() as u64) as usize),
                1 => key.push(0),
                2 => key = keys::after_prefix(&key),
                _ => {}
            }
            key
        }

        fn value(&mut self, key: &[u8]) -> Option<Vec<u8>> {
            let lens: &[usize] = match key.first() {
                Some(kind) if *kind == KeyKind::Mark as u8 => {
                    &[0, 1, 90, 150, 254, 255, 256, 1000, VALUE_MAX]
                }
                Some(kind) if *kind == KeyKind::MarkId as u8 => &[5, 9],
                _ => &[0],
            };
            let value = vec![self.below(256) as u8; self.pick(lens)];
            (self.below(4) > 0).then_some(value)
        }
    }

    fn assert_range(kv: &Kv, model: &BTreeMap<Vec<u8>, Vec<u8>>, numbers: &mut Numbers) {
        let (from, to) = (numbers.end(), numbers.end());
        let (backwards, limit) = (numbers.below(2) == 1, numbers.pick(&[1, 2, 7, usize::MAX]));
        let within = |key: &Vec<u8>| *key >= from && *key < to;
        let within = model.iter().filter(|(key, _)| within(key));
        let within = within.map(|(key, value)| (key.clone(), value.clone()));
        let expected: Vec<Entry> = match backwards {
            true => within.rev().take(limit).collect(),
            false => within.take(limit).collect(),
        };
        assert_eq!(kv.scan(&from, &to, backwards, limit).unwrap(), expected, "{from:?} to {to:?}");
    }

    #[test]
    fn entries_of_groups_are_read_and_counted_as_if_each_had_a_value_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        assert_as_single(&Kv::open(&dir.path().join("sled"), 1 << 20, SEGMENT).unwrap());
        assert_as_single(&Kv::in_memory(dir.path()));
    }

    fn assert_as_single(kv: &Kv) {
        let (mut model, mut digests) = (BTreeMap::new(), Digests::default());
        let mut numbers = Numbers(1);
        for _ in 0..400 {
            let keys: Vec<_> = (0..numbers.pick(&[1, 3, 60])).map(|_| numbers.key()).collect();
            let puts: Vec<_> =
                keys.into_iter().map(|key| (key.clone(), numbers.value(&key))).collect();
            for (key, value) in &puts {
                match value {
                    Some(value) => model.insert(key.clone(), value.clone()),
                    None => model.remove(key),
                };
            }
            let applied = |_| (keys::all(KeyKind::Applied), Some(Vec::new()));
            kv.apply_counted(puts, &mut digests, applied).unwrap();
            let mut expected = Digests::default();
            model.iter().for_each(|(key, value)| expected.add(key, value));
            assert_eq!(digests, expected);
            for _ in 0..20 {
                let key = numbers.key();
                assert_eq!(kv.get(&key).unwrap(), model.get(&key).cloned());
                assert_range(kv, &model, &mut numbers);
            }
        }
        let removals = model.keys().map(|key| (key.clone(), None)).collect();
        let applied = |_| (keys::all(KeyKind::Applied), Some(Vec::new()));
        kv.apply_counted(removals, &mut digests, applied).unwrap();
        assert_eq!(digests, Digests::default());
        let marks = |kind| keys::all(kind);
        assert!(kv.is_bare(&marks(KeyKind::Mark), &marks(KeyKind::MarkLabel)), "no value is left");
    }

    #[test]
    fn a_value_that_is_no_group_is_damage() {
        let mark = keys::mark(TaskNo(1), LineageId(0), 5);
        let (name, end) = place(&mark).unwrap();
        let group = Group { members: BTreeMap::from([(end.to_vec(), vec![1, 2])]), outside: 0 };
        let whole = group.encode().unwrap();
        assert_eq!(Group::decode(&name, &whole).unwrap(), group);
        for len in (0..whole.len()).filter(|len| *len != 1) {
            assert!(Group::decode(&name, whole.get(..len).unwrap()).is_err(), "{len} bytes");
        }
        let mut range = Expansion::new((&[0], &[99]), false, 9);
        assert!(range.push(&[KeyKind::Mark as u8, 0, 9], b"forged").is_err());
    }
}
