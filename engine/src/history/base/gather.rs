//! The keys that a base keeps: the keys of the previous base, and those used since.

use std::sync::Arc;

use milepost_codec::{
    BaseKey, BodyForm, ChunkId, ChunkList, Hash, LineageId, LogId, Offset, RecordRef, Result,
    TaskNo,
};
use milepost_store::Log;
use milepost_store::entropy::Entropy;
use milepost_store::index::KeyEntry;
use milepost_store::index::keys::{self, KeyKind};

use super::keys::BaseKeys;
use crate::history::catalog::Catalog;
use crate::history::erased::ErasedEvents;
use crate::history::events::{Ancestry, Cursor};
use milepost_store::{CHUNK, compared};

/// Maximum number of lists in a base, since their ids have to fit into the base's chunk. Older
/// lists are dropped.
const LISTS_MAX: usize = 4096;

/// Maximum number of key entries in the index to look up. With more, all events are read instead:
/// the entries are in no order, and each costs a read of sled.
const SOUGHT_MAX: usize = 1 << 16;

/// Stores the keys used before an offset: at least the newest ones of the window.
pub(super) fn gather(
    catalog: &Catalog,
    entropy: &Entropy,
    ancestry: &Ancestry,
    (task, offset): (TaskNo, Offset),
) -> Result<ChunkList> {
    let mut writer = Writer::new(catalog.log());
    match ancestry.key_base() {
        Some((_, to, entry)) if ancestry.base().is_none() => {
            // The fork is before the base, so only keys used before the fork count.
            for list in catalog.base_keys(&entry)?.lists.iter().rev() {
                for key in list.read(catalog.log())? {
                    if key.first < to {
                        writer.push(cut(key, to))?;
                    }
                }
            }
        }
        Some((_, _, entry)) => writer.keep(&*catalog.base_keys(&entry)?)?,
        None => {}
    }
    let sought = sought(catalog, ancestry, (task, offset))?;
    let push = &mut |key| writer.push(key);
    since(catalog, entropy, ancestry, (task, offset), sought, push)?;
    writer.finish(catalog.known_keys.window())
}

/// Passes the keys used between the history's beginning and an offset to `push`, in order. With
/// `sought`, only keys of appends that begin at these offsets.
fn since(
    catalog: &Catalog,
    entropy: &Entropy,
    ancestry: &Ancestry,
    (task, offset): (TaskNo, Offset),
    sought: Option<Vec<Offset>>,
    push: &mut dyn FnMut(BaseKey) -> Result<()>,
) -> Result<()> {
    let mut spans: Vec<_> = ancestry.newest_first(offset).collect();
    spans.reverse();
    for (owner, from, to) in spans {
        let mut appends = Appends {
            owner,
            erased: catalog.erased_of(task),
            // Only a span that ends before `offset` ends at a fork. Events after the new base can
            // still be read.
            fork: (to < offset).then_some(to),
            reader: Cursor::new(catalog.log(), LogId::lineage(task, owner), from),
        };
        let Some(sought) = &sought else {
            while let Some(key) = appends.next(to, entropy)? {
                push(key)?;
            }
            continue;
        };
        let begin = sought.partition_point(|first| *first < from);
        for first in sought.iter().skip(begin).take_while(|first| **first < to) {
            appends.reader.seek(*first);
            if let Some(key) = appends.next(first + 1, entropy)? {
                push(key)?;
            }
        }
    }
    Ok(())
}

/// Returns the first offsets of appends with keys before an offset, in order; `None` if the task
/// has too many keys.
fn sought(
    catalog: &Catalog,
    ancestry: &Ancestry,
    (task, offset): (TaskNo, Offset),
) -> Result<Option<Vec<Offset>>> {
    let (log, prefix) = (catalog.log(), keys::of_task(KeyKind::Key, task));
    let (mut found, mut seen) = (Vec::new(), 0);
    let (mut from, end) = (prefix.clone(), keys::after_prefix(&prefix));
    loop {
        let page = log.scan(&from, &end, false, 1024)?;
        let Some((last, _)) = page.last() else { break };
        from.clone_from(last);
        from.push(0);
        seen += page.len();
        if seen > SOUGHT_MAX {
            return Ok(None);
        }
        for (name, value) in page {
            let first = KeyEntry::decode(&value)?.first;
            let span = ancestry.span(keys::tail_lineage(&name));
            if span.is_some_and(|(from, to)| (from..to.min(offset)).contains(&first)) {
                found.push(first);
            }
        }
    }
    found.sort_unstable();
    Ok(Some(found))
}

/// Clears the digest of a key if a fork may have cut its append: no other append then equals it.
fn cut(mut key: BaseKey, fork: Offset) -> BaseKey {
    if key.first + u64::from(key.count) > fork {
        key.digest = Hash::ZERO;
    }
    key
}

/// Reader of the appends with keys of a lineage.
struct Appends<'a> {
    owner: LineageId,
    /// Erased events of the task.
    erased: ErasedEvents,
    fork: Option<Offset>,
    reader: Cursor<'a>,
}

impl Appends<'_> {
    /// Returns the key of the next append that begins before `to`, with a digest of its bodies.
    fn next(&mut self, to: Offset, entropy: &Entropy) -> Result<Option<BaseKey>> {
        let salt = entropy.bytes16();
        let mut found: Option<(BaseKey, KeyDigest, bool)> = None;
        let mut left = 0;
        while left > 0 || (found.is_none() && self.reader.next() < to) {
            let (owner, all_erased) = (self.owner, &self.erased);
            let read = self.reader.next_record(|at, record| {
                let header = record.header()?;
                if found.is_none() {
                    let Some(key) = header.key else { return Ok(0) };
                    let count = header.batch;
                    let digest = Hash::ZERO;
                    let key = BaseKey { key, first: at, count, salt, digest };
                    found = Some((key, KeyDigest::new(&salt), false));
                    left = header.batch;
                }
                if let Some((_, digest, erased)) = &mut found {
                    *erased |= all_erased.has(owner, at) || record.form == BodyForm::Erased;
                    digest.take(header.kind, record);
                }
                Ok(left.saturating_sub(1))
            })?;
            match read {
                Some(more) => left = more,
                None => break,
            }
        }
        let key = found.map(|(key, digest, erased)| BaseKey {
            // Nothing is kept of an erased body, not even a hash by which it could be guessed.
            digest: if erased { Hash::ZERO } else { digest.finish() },
            ..key
        });
        Ok(match self.fork {
            Some(fork) => key.map(|key| cut(key, fork)),
            None => key,
        })
    }
}

/// Writer of lists of keys.
struct Writer<'a> {
    log: &'a Arc<dyn Log>,
    /// The stored lists: chunk, bytes and number of keys.
    lists: Vec<(ChunkId, u64, usize)>,
    /// The list in progress.
    list: Vec<BaseKey>,
    bytes: usize,
}

impl<'a> Writer<'a> {
    fn new(log: &'a Arc<dyn Log>) -> Self {
        Self { log, lists: Vec::new(), list: Vec::new(), bytes: 0 }
    }

    /// Keeps the lists of an earlier base. A short last list is written again, so that many small
    /// bases do not leave many small lists.
    fn keep(&mut self, old: &BaseKeys) -> Result<()> {
        for (n, list) in old.lists.iter().enumerate().rev() {
            match list.chunks.as_slice() {
                [chunk] if n > 0 || list.bytes >= CHUNK as u64 / 2 => {
                    self.lists.push((*chunk, list.bytes, list.count));
                }
                _ => list.read(self.log)?.into_iter().try_for_each(|key| self.push(key))?,
            }
        }
        Ok(())
    }

    fn push(&mut self, key: BaseKey) -> Result<()> {
        // An upper bound of the encoded size, a few bytes above it at most.
        self.bytes += key.key.len() + 3 + 9 + 5 + 16 + 32;
        self.list.push(key);
        if self.bytes >= CHUNK {
            self.store()?;
        }
        Ok(())
    }

    fn store(&mut self) -> Result<()> {
        if self.list.is_empty() {
            return Ok(());
        }
        let content = BaseKey::encode_list(&self.list);
        let chunk = self.log.put_chunk(&content, false)?;
        self.lists.push((chunk, content.len() as u64, self.list.len()));
        self.list.clear();
        self.bytes = 0;
        Ok(())
    }

    /// Returns the newest lists that together have at least `window` keys.
    fn finish(mut self, window: usize) -> Result<ChunkList> {
        self.store()?;
        let mut keys = 0;
        let wanted = |(_, _, count): &&(ChunkId, u64, usize)| {
            let is_wanted = keys < window;
            keys += count;
            is_wanted
        };
        let newest = self.lists.iter().rev().take(LISTS_MAX);
        let mut kept: Vec<_> = newest.take_while(wanted).collect();
        kept.reverse();
        Ok(ChunkList {
            len: kept.iter().map(|(_, bytes, _)| bytes).sum(),
            chunks: kept.iter().map(|(chunk, ..)| *chunk).collect(),
        })
    }
}

/// Digest of an append's bodies. A repeated append is compared with it once the bodies are removed.
pub(crate) struct KeyDigest(blake3::Hasher);

impl KeyDigest {
    pub(crate) fn new(salt: &[u8; 16]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(salt);
        Self(hasher)
    }

    pub(crate) fn take(&mut self, kind: u16, record: &RecordRef<'_>) {
        let (form, payload) = compared(kind, record.form, record.payload);
        let form = match form {
            BodyForm::Inline => 0,
            BodyForm::Chunked => 1,
            BodyForm::Erased => 2,
        };
        self.0.update(&kind.to_le_bytes());
        self.0.update(&[form]);
        self.0.update(&(payload.len() as u64).to_le_bytes());
        self.0.update(&payload);
    }

    pub(crate) fn finish(&self) -> Hash {
        Hash(*self.0.finalize().as_bytes())
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use super::*;
    use crate::events::Message;
    use crate::{Append, Engine, Options};

    #[test]
    fn keys_are_the_same_by_the_index_and_by_all_events() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let mut task = engine.start_task("essay", "ana").unwrap();
        let message = |n| Message::text("user", &format!("message {n}"));
        for n in 0..60_usize {
            let bodies: Vec<_> = (0..n % 4 + 1).map(message).collect();
            let append = Append::batch(bodies);
            let append = match n % 3 {
                0 => append,
                _ => append.key(format!("key-{n}")),
            };
            let appended = task.append(append).unwrap();
            if n % 7 == 6 {
                let point = task.point(appended.first).unwrap();
                engine.retention().erase(&point, None).unwrap();
            }
            if n % 20 == 19 {
                // Restores a point in the middle of an append.
                let to = task.point(appended.first + 2).unwrap();
                task = engine.restore(&to).run().unwrap();
            }
        }
        let (catalog, entropy) = (&engine.inner.catalog, &engine.inner.entropy);
        let (no, lineage) = (task.no(), task.lineage().id());
        let ancestry = Ancestry::of(catalog, no, lineage).unwrap();
        let (mut count, mut cut, mut last) = (0, 0, 0);
        for offset in 0..=task.head().unwrap().next {
            let by = |sought| {
                let mut keys = Vec::new();
                let push = &mut |key: BaseKey| {
                    let none = key.digest == Hash::ZERO;
                    keys.push((key.key, key.first, key.count, none));
                    Ok(())
                };
                since(catalog, entropy, &ancestry, (no, offset), sought, push).unwrap();
                keys
            };
            let by_index = sought(catalog, &ancestry, (no, offset)).unwrap();
            let keys = by(by_index);
            assert_eq!(keys, by(None), "before {offset}");
            assert!(keys.is_sorted_by_key(|key| key.1));
            count += keys.len();
            cut += keys.iter().filter(|key| key.3).count();
            last = keys.len();
        }
        assert!(count > 100 && cut > 0 && last > 30, "{count} {cut} {last}");
    }
}
