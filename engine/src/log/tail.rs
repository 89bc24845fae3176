//! The tail: what is committed but not applied yet. Readers look here first, then in sled; since
//! nothing leaves the tail before it is in sled, they miss nothing and never wait.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use milepost_codec::{LogId, Offset, Seq};

use super::{Batch, Entry, Stretch};
use crate::index::{LogHead, keys};

/// A stretch, the commit it came with, and its log's head after it.
type Held = (Seq, Stretch, LogHead);

/// A value of the index, or its removal, and the commit it came with.
type Pending = (Seq, Option<Vec<u8>>);

/// What a prefix of the tail brings to one log.
#[derive(Debug)]
pub(crate) struct LogRuns {
    pub(crate) log: LogId,
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) head: LogHead,
}

/// What is committed but not applied yet.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    stretches: HashMap<LogId, VecDeque<Held>>,
    index: BTreeMap<Vec<u8>, Pending>,
    /// What entries were before a later commit changed them again: a round that ends between the two
    /// needs it. Heads are left out, which come with the stretches.
    earlier: BTreeMap<(Vec<u8>, Seq), Option<Vec<u8>>>,
    /// Bytes of each commit, and the check of its frame, oldest first.
    commits: VecDeque<(Seq, usize, [u8; 16])>,
    bytes: usize,
    /// How many entries of the index are removals: rarely any.
    removals: usize,
}

impl Tail {
    /// Takes in a committed batch.
    pub(crate) fn push(&mut self, batch: Batch) {
        let Batch {
            seq,
            buf,
            groups,
            index,
        } = batch;
        let check = buf.first_chunk::<16>().copied().unwrap_or_default();
        let size = buf.len() + index.iter().map(|(k, _)| k.len() + 64).sum::<usize>();
        let bytes = Arc::new(buf);
        for group in groups {
            let stretch = Stretch {
                first: group.first,
                count: group.count,
                prev: group.prev,
                range: group.section,
                bytes: Arc::clone(&bytes),
            };
            self.stretches
                .entry(group.log)
                .or_default()
                .push_back((seq, stretch, group.head));
            self.index
                .insert(keys::head(group.log), (seq, Some(group.head.encode())));
        }
        for (key, value) in index {
            self.removals += usize::from(value.is_none());
            match self.index.get_mut(&key) {
                Some((before, held)) if *before < seq => {
                    let held = std::mem::replace(held, value);
                    self.earlier.insert((key, *before), held);
                    *before = seq;
                }
                _ => {
                    self.index.insert(key, (seq, value));
                }
            }
        }
        self.commits.push_back((seq, size, check));
        self.bytes += size;
    }

    /// How many commits are held.
    pub(crate) fn commits(&self) -> usize {
        self.commits.len()
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether everything committed is applied.
    pub(crate) fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    /// The last commit of a prefix of the tail of about `bytes`; nothing where it is empty.
    pub(crate) fn prefix(&self, bytes: usize) -> Option<Seq> {
        let mut sum = 0;
        let mut last = None;
        for (seq, size, _) in &self.commits {
            last = Some(*seq);
            sum += size;
            if sum >= bytes {
                break;
            }
        }
        last
    }

    /// The check of the frame of a commit that is held; zeros where it is not known.
    pub(crate) fn check_of(&self, seq: Seq) -> [u8; 16] {
        let at = self.commits.partition_point(|(held, ..)| *held < seq);
        let found = self.commits.get(at).filter(|(held, ..)| *held == seq);
        found.map_or([0; 16], |(.., check)| *check)
    }

    pub(crate) fn stretch(&self, log: LogId, offset: Offset) -> Option<Stretch> {
        let stretches = self.stretches.get(&log)?;
        let at = stretches.partition_point(|(_, stretch, _)| stretch.end() <= offset);
        stretches
            .get(at)
            .map(|(_, stretch, _)| stretch.clone())
            .filter(|stretch| stretch.first <= offset)
    }

    /// Nothing: not here. `Some(None)`: removed.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<Vec<u8>>> {
        self.index.get(key).map(|(_, value)| value.clone())
    }

    /// How many entries more than asked for a scan of what is stored must give, since the tail
    /// may remove them.
    pub(crate) fn removals(&self) -> usize {
        self.removals
    }

    /// Entries of the index in a range, removals included: the first `limit`, or all where there
    /// are removals, since one of a later key can take away what is stored.
    pub(crate) fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        backwards: bool,
        limit: usize,
    ) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        if from >= to {
            return Vec::new();
        }
        let limit = if self.removals > 0 { usize::MAX } else { limit };
        let range = self
            .index
            .range::<[u8], _>((Bound::Included(from), Bound::Excluded(to)))
            .map(|(key, (_, value))| (key.clone(), value.clone()));
        if backwards {
            range.rev().take(limit).collect()
        } else {
            range.take(limit).collect()
        }
    }

    /// What commits up to `seq` bring: stretches and the head after them by log, and index entries.
    pub(crate) fn up_to(&self, seq: Seq) -> (Vec<LogRuns>, Vec<super::IndexPut>) {
        let logs = self.stretches.iter().filter_map(|(log, queue)| {
            let held = queue.iter().take_while(|(at, ..)| *at <= seq);
            let (stretches, heads): (Vec<Stretch>, Vec<LogHead>) = held
                .map(|(_, stretch, head)| (stretch.clone(), *head))
                .unzip();
            heads.last().map(|head| LogRuns {
                log: *log,
                stretches,
                head: *head,
            })
        });
        let entries = self.index.iter().filter(|(_, (at, _))| *at <= seq);
        let index = entries.map(|(key, (_, value))| (key.clone(), value.clone()));
        let mut puts: Vec<super::IndexPut> = Vec::new();
        // In order of commits for each key, and before the last change of it: the last one counts.
        for ((key, at), value) in &self.earlier {
            if *at <= seq {
                puts.push((key.clone(), value.clone()));
            }
        }
        puts.extend(index);
        (logs.collect(), puts)
    }

    /// Lets go of what is applied now.
    pub(crate) fn release(&mut self, seq: Seq) {
        self.stretches.retain(|_, queue| {
            while queue.front().is_some_and(|(at, ..)| *at <= seq) {
                queue.pop_front();
            }
            !queue.is_empty()
        });
        self.index.retain(|_, (at, _)| *at > seq);
        self.earlier.retain(|(_, at), _| *at > seq);
        if self.removals > 0 {
            self.removals = self
                .index
                .values()
                .filter(|(_, value)| value.is_none())
                .count();
        }
        while let Some((at, size, _)) = self.commits.front().copied() {
            if at > seq {
                break;
            }
            self.commits.pop_front();
            self.bytes = self.bytes.saturating_sub(size);
        }
    }
}

/// Merges entries of the tail over stored ones: the tail wins, removals take away.
pub(crate) fn merge(
    tail: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    stored: impl IntoIterator<Item = Entry>,
    backwards: bool,
    limit: usize,
) -> Vec<Entry> {
    let mut all: BTreeMap<Vec<u8>, Option<Vec<u8>>> = stored
        .into_iter()
        .map(|(key, value)| (key, Some(value)))
        .collect();
    all.extend(tail);
    let kept = all
        .into_iter()
        .filter_map(|(key, value)| value.map(|value| (key, value)));
    if backwards {
        let mut kept: Vec<_> = kept.collect();
        kept.reverse();
        kept.truncate(limit);
        kept
    } else {
        kept.take(limit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(tail: &mut Tail, seq: Seq, value: Option<u8>) {
        let mut batch = Batch::new(seq);
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
        assert!(tail.earlier.is_empty());
    }
}
