//! The tail: commits that are not applied yet. Readers look here first, then in sled. Nothing
//! leaves the tail before it is in sled, so readers miss nothing and never wait.

use std::collections::hash_map::Entry as MapEntry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use milepost_codec::{LogId, Offset, Seq};
use smallvec::SmallVec;

use crate::commit_batch::{CommitBatch, LogBatchMeta};
use crate::extent::Extent;
use crate::index::{Entry, IndexPut};
use crate::index::{LogHead, keys};

/// An extent, its commit, and its log's head after it.
type QueuedExtent = (Seq, Extent, LogHead);

/// A key of the index, shared by the map and the commit that changed it.
type Key = Arc<[u8]>;

/// The value of an entry; `None` if it is removed.
type Value = Option<Arc<[u8]>>;

/// The content of one log in a prefix of the tail.
#[derive(Debug)]
pub struct LogRuns {
    pub log: LogId,
    pub extents: Vec<Extent>,
    pub head: LogHead,
}

/// A commit in the form that the applier needs.
#[derive(Debug)]
struct Commit {
    seq: Seq,
    size: usize,
    /// The check of its frame.
    check: [u8; 16],
    groups: SmallVec<[LogBatchMeta; 1]>,
    changes: Vec<(Key, Value)>,
}

impl Commit {
    /// Returns the number of index entries that it changes.
    fn entries(&self) -> usize {
        self.groups.len() + self.changes.len()
    }
}

/// Commits that are not applied yet.
#[derive(Debug, Default)]
pub struct Tail {
    /// Commits, oldest first. Adding and releasing some does not affect the others.
    commits: VecDeque<Commit>,
    extents: HashMap<LogId, VecDeque<QueuedExtent>>,
    /// Each entry as of the newest commit that changed it, and that commit.
    index: BTreeMap<Key, (Seq, Value)>,
    bytes: usize,
}

impl Tail {
    /// Adds a committed batch.
    pub fn push(&mut self, batch: CommitBatch) {
        let CommitBatch { seq, buf, groups, index, names_chunks: _ } = batch;
        let check = *buf.first_chunk::<16>().expect("a batch has room for a frame's header");
        let size = buf.len() + index.iter().map(|(k, _)| k.len() + 64).sum::<usize>();
        let bytes = Arc::new(buf);
        for group in &groups {
            let extent = Extent {
                first: group.first,
                count: group.count,
                prev: group.prev,
                range: group.section.clone(),
                bytes: Arc::clone(&bytes),
            };
            self.extents.entry(group.log).or_default().push_back((seq, extent, group.head));
            self.put_head(group.log, seq, &group.head);
        }
        let changes: Vec<(Key, Value)> =
            index.into_iter().map(|(key, value)| (key.into(), value.map(Arc::from))).collect();
        for (key, value) in &changes {
            self.put(Arc::clone(key), seq, value.clone());
        }
        self.commits.push_back(Commit { seq, size, check, groups, changes });
        self.bytes += size;
    }

    fn put_head(&mut self, log: LogId, seq: Seq, head: &LogHead) {
        let (key, mut room) = (keys::head_of(log), [0; LogHead::LEN_MAX]);
        let head = head.encode_in(&mut room);
        let Some((at, value)) = self.index.get_mut(&key[..]) else {
            self.put(Arc::from(key), seq, Some(Arc::from(head)));
            return;
        };
        *at = seq;
        let same = value.as_mut().and_then(Arc::get_mut);
        match same.filter(|same| same.len() == head.len()) {
            Some(same) => same.copy_from_slice(head),
            None => *value = Some(Arc::from(head)),
        }
    }

    fn put(&mut self, key: Key, seq: Seq, value: Value) {
        self.index.insert(key, (seq, value));
    }

    /// Adds a batch that is never applied: it stays readable permanently.
    pub fn keep(&mut self, batch: CommitBatch) {
        self.push(batch);
        self.commits.clear();
        self.bytes = 0;
    }

    /// Returns the number of commits held.
    pub fn commits(&self) -> usize {
        self.commits.len()
    }

    /// Returns the bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns `true` if everything committed is applied.
    pub fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    /// Returns the last commit of a prefix of the tail with about this many bytes and index
    /// entries, or `None` if the tail is empty.
    pub fn prefix(&self, bytes: usize, entries: usize) -> Option<Seq> {
        let (mut size, mut changes) = (0, 0);
        let mut last = None;
        for commit in &self.commits {
            size += commit.size;
            changes += commit.entries();
            if last.is_some() && changes > entries {
                break;
            }
            last = Some(commit.seq);
            if size >= bytes {
                break;
            }
        }
        last
    }

    /// Returns the check of the frame of a held commit, or zeros if it is unknown.
    pub fn check_of(&self, seq: Seq) -> [u8; 16] {
        let at = self.commits.partition_point(|commit| commit.seq < seq);
        let found = self.commits.get(at).filter(|commit| commit.seq == seq);
        found.map_or([0; 16], |commit| commit.check)
    }

    /// Returns the extent that holds an offset of a log.
    pub fn extent(&self, log: LogId, offset: Offset) -> Option<Extent> {
        let extents = self.extents.get(&log)?;
        let at = extents.partition_point(|(_, extent, _)| extent.end() <= offset);
        extents.get(at).map(|(_, extent, _)| extent.clone()).filter(|extent| extent.first <= offset)
    }

    /// Returns an entry's value: `None` if the tail does not have it, `Some(None)` if it is
    /// removed.
    pub fn get(&self, key: &[u8]) -> Option<Option<Vec<u8>>> {
        let (_, value) = self.index.get(key)?;
        Some(value.as_deref().map(<[u8]>::to_vec))
    }

    /// Returns entries of the index in a range, up to `limit` existing ones, with the removals
    /// between them. A caller has to read that many more stored entries as there are removals.
    pub fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        backwards: bool,
        limit: usize,
    ) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        if from >= to {
            return Vec::new();
        }
        let range = self.index.range::<[u8], _>((Bound::Included(from), Bound::Excluded(to)));
        let mut found = Vec::new();
        let mut remaining = limit;
        let mut take = |(key, (_, value)): (&Key, &(Seq, Value))| {
            if remaining == 0 {
                return false;
            }
            remaining -= usize::from(value.is_some());
            found.push((key.to_vec(), value.as_deref().map(<[u8]>::to_vec)));
            true
        };
        match backwards {
            true => range.rev().all(&mut take),
            false => range.into_iter().all(&mut take),
        };
        found
    }

    /// Returns the first commit, and the number of log batches of each commit up to `seq`; `None`
    /// if commits between them were never in the tail.
    pub fn counts(&self, seq: Seq) -> Option<(Seq, Vec<u64>)> {
        let commits = || self.commits.iter().take_while(|commit| commit.seq <= seq);
        let first = commits().next()?.seq;
        let is_dense = commits().zip(first..).all(|(commit, seq)| commit.seq == seq);
        let counts = || commits().map(|commit| commit.groups.len() as u64).collect();
        is_dense.then(|| (first, counts()))
    }

    /// Returns the content of the commits up to `seq`: by log the extents and the head after them,
    /// and the changes of the index in commit order. The last change of an entry wins.
    pub fn up_to(&self, seq: Seq) -> (Vec<LogRuns>, Vec<IndexPut>) {
        let mut logs: BTreeMap<LogId, LogRuns> = BTreeMap::new();
        let mut puts = Vec::new();
        for commit in self.commits.iter().take_while(|commit| commit.seq <= seq) {
            for group in &commit.groups {
                let runs = logs.entry(group.log).or_insert_with(|| LogRuns {
                    log: group.log,
                    extents: Vec::new(),
                    head: group.head,
                });
                runs.head = group.head;
                // Extents leave the tail in the order of their commits.
                let nth = runs.extents.len();
                let extents = self.extents.get(&group.log);
                let extent = extents.and_then(|queue| queue.get(nth));
                runs.extents.extend(extent.map(|(_, extent, _)| extent.clone()));
            }
            let changes = commit.changes.iter();
            puts.extend(
                changes.map(|(key, value)| (key.to_vec(), value.as_deref().map(<[u8]>::to_vec))),
            );
        }
        (logs.into_values().collect(), puts)
    }

    /// Releases the commits up to `seq`, which are applied.
    pub fn release(&mut self, seq: Seq) {
        while self.commits.front().is_some_and(|commit| commit.seq <= seq) {
            let Some(commit) = self.commits.pop_front() else {
                return;
            };
            for group in &commit.groups {
                if let MapEntry::Occupied(mut queue) = self.extents.entry(group.log) {
                    queue.get_mut().pop_front();
                    if queue.get().is_empty() {
                        queue.remove();
                    }
                }
                self.forget(&keys::head_of(group.log), commit.seq);
            }
            for (key, _) in &commit.changes {
                self.forget(key, commit.seq);
            }
            self.bytes -= commit.size;
        }
    }

    /// Removes an entry, unless a later commit changed it.
    fn forget(&mut self, key: &[u8], seq: Seq) {
        if self.index.get(key).is_some_and(|(at, _)| *at == seq) {
            self.index.remove(key);
        }
    }
}

/// Merges entries of the tail with stored ones: the tail wins, its removals hide stored entries.
pub(crate) fn merge(
    tail: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    stored: impl IntoIterator<Item = Entry>,
    backwards: bool,
    limit: usize,
) -> Vec<Entry> {
    let mut all: BTreeMap<Vec<u8>, Option<Vec<u8>>> =
        stored.into_iter().map(|(key, value)| (key, Some(value))).collect();
    all.extend(tail);
    let present = all.into_iter().filter_map(|(key, value)| value.map(|value| (key, value)));
    if backwards {
        let mut present: Vec<_> = present.collect();
        present.reverse();
        present.truncate(limit);
        present
    } else {
        present.take(limit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(tail: &mut Tail, seq: Seq, value: Option<u8>) {
        let mut batch = CommitBatch::new(seq);
        let value = value.map(|byte| vec![byte]);
        batch.index.push((b"key".to_vec(), value));
        tail.push(batch);
    }

    #[test]
    fn a_round_that_ends_between_two_changes_of_an_entry_gets_the_first_of_them() {
        let mut tail = Tail::default();
        change(&mut tail, 1, Some(1));
        change(&mut tail, 2, Some(2));
        change(&mut tail, 3, None);
        let at = |tail: &Tail, seq| {
            let puts: BTreeMap<_, _> = tail.up_to(seq).1.into_iter().collect();
            puts.get(b"key".as_slice()).cloned()
        };
        assert_eq!(at(&tail, 1), Some(Some(vec![1])));
        assert_eq!(at(&tail, 2), Some(Some(vec![2])));
        assert_eq!(at(&tail, 3), Some(None));
        tail.release(1);
        assert_eq!(at(&tail, 1), None);
        assert_eq!(at(&tail, 2), Some(Some(vec![2])));
        tail.release(3);
        assert!(tail.is_empty() && at(&tail, 3).is_none());
        assert!(tail.index.is_empty() && tail.bytes() == 0);
    }

    /// Returns a range as a log does: from the tail, and from the stored entries as many as asked
    /// for, and one more for each removal.
    fn first(tail: &Tail, stored: &[u8], backwards: bool, limit: usize) -> Vec<u8> {
        let waiting = tail.scan(&[0], &[9], backwards, limit);
        let removals = waiting.iter().filter(|(_, value)| value.is_none()).count();
        let mut stored = stored.to_vec();
        if backwards {
            stored.reverse();
        }
        stored.truncate(limit + removals);
        let stored = stored.into_iter().map(|key| (vec![key], Vec::new()));
        let merged = merge(waiting, stored, backwards, limit);
        merged.into_iter().map(|(key, _)| key[0]).collect()
    }

    #[test]
    fn the_first_entries_of_a_range_are_the_same_whatever_of_them_is_in_the_tail_or_stored() {
        const KEYS: u8 = 5;
        for state in 0..6u32.pow(u32::from(KEYS)) {
            let of = |key: u8| state / 6u32.pow(u32::from(key)) % 6;
            let mut tail = Tail::default();
            let mut batch = CommitBatch::new(1);
            for key in 0..KEYS {
                // Not in the tail, present, or removed.
                match of(key) / 2 {
                    0 => {}
                    1 => batch.index.push((vec![key], Some(Vec::new()))),
                    _ => batch.index.push((vec![key], None)),
                }
            }
            tail.push(batch);
            let stored: Vec<u8> = (0..KEYS).filter(|key| of(*key) % 2 == 1).collect();
            let is_there = |key: &u8| match of(*key) / 2 {
                0 => of(*key) % 2 == 1,
                change => change == 1,
            };
            for limit in [0, 1, 2, 4, usize::from(KEYS)] {
                let expected: Vec<u8> = (0..KEYS).filter(is_there).take(limit).collect();
                assert_eq!(first(&tail, &stored, false, limit), expected);
                let expected: Vec<u8> = (0..KEYS).rev().filter(is_there).take(limit).collect();
                assert_eq!(first(&tail, &stored, true, limit), expected);
            }
        }
    }
}
