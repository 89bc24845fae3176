//! The keys that a base keeps: those of the base before it, and those used since.

use std::sync::Arc;

use milepost_codec::{
    BaseKey, BodyForm, ChunkId, ChunkList, Hash, LineageId, LogId, Offset, RecordRef, Result,
    TaskNo,
};

use super::keys::{BaseKeys, KeyList};
use crate::append::CHUNK;
use crate::catalog::Catalog;
use crate::entropy::Entropy;
use crate::index::KeyEntry;
use crate::index::keys::{self, Kind};
use crate::log::Log;
use crate::read::{Ancestry, Cursor};

/// Lists in one base at most: their ids have to fit into the base's chunk. Older ones go.
const LISTS_MAX: usize = 4096;

/// An append with a key that is still there.
#[derive(Clone, Copy)]
struct Use {
    owner: LineageId,
    first: Offset,
    count: u32,
}

/// Stores the keys that were used before an offset: at least the newest of the window.
pub(super) fn gather(
    catalog: &Catalog,
    entropy: &Entropy,
    ancestry: &Ancestry,
    (task, offset): (TaskNo, Offset),
) -> Result<ChunkList> {
    let window = catalog.known_keys.window();
    let used = uses(catalog, ancestry, (task, offset), window)?;
    let mut writer = Writer::new(catalog.log());
    match ancestry.key_base() {
        Some((_, to, entry)) if ancestry.base().is_none() => {
            // The fork is before the base: of its keys those before the fork count.
            for list in catalog.base_keys(&entry)?.lists.iter().rev() {
                for key in list.read(catalog.log())? {
                    if key.first < to {
                        writer.push(cut(key, to))?;
                    }
                }
            }
        }
        Some((_, _, entry)) => {
            let old = catalog.base_keys(&entry)?;
            writer.keep(&old, window.saturating_sub(used.len()))?;
        }
        None => {}
    }
    for of_owner in used.chunk_by(|a, b| a.owner == b.owner) {
        let Some(Use { owner, first, .. }) = of_owner.first().copied() else {
            continue;
        };
        let fork = (ancestry.span(owner)).and_then(|(_, to)| (to < offset).then_some(to));
        let mut reader = Cursor::new(catalog.log(), LogId::lineage(task, owner), first);
        for one in of_owner {
            reader.seek(one.first);
            if let Some(key) = base_key(catalog, entropy.bytes16(), task, one, &mut reader)? {
                writer.push(match fork {
                    Some(fork) => cut(key, fork),
                    None => key,
                })?;
            }
        }
    }
    writer.finish()
}

/// The key of an append that a fork may have kept a part of: no other append is the same then.
fn cut(mut key: BaseKey, fork: Offset) -> BaseKey {
    if key.first + u64::from(key.count) > fork {
        key.digest = Hash::ZERO;
    }
    key
}

/// The appends with keys between the history's beginning and an offset, in order, at most the newest
/// `window`.
fn uses(
    catalog: &Catalog,
    ancestry: &Ancestry,
    (task, offset): (TaskNo, Offset),
    window: usize,
) -> Result<Vec<Use>> {
    let mut used: Vec<Use> = Vec::new();
    let prefix = keys::of_task(Kind::Key, task);
    catalog.log().walk(&prefix, &mut |name, value| {
        let (owner, entry) = (keys::tail_lineage(name), KeyEntry::decode(value)?);
        let span = ancestry.span(owner);
        if span.is_some_and(|(from, to)| (from..to.min(offset)).contains(&entry.first)) {
            used.push(Use {
                owner,
                first: entry.first,
                count: entry.count,
            });
        }
        if used.len() > window.saturating_mul(2) {
            used.select_nth_unstable_by_key(window, |one| std::cmp::Reverse(one.first));
            used.truncate(window);
        }
        Ok(())
    })?;
    used.sort_unstable_by_key(|one| one.first);
    let over = used.len().saturating_sub(window);
    used.drain(..over);
    Ok(used)
}

/// A key as a base keeps it: with a digest of the append's bodies.
fn base_key(
    catalog: &Catalog,
    salt: [u8; 16],
    task: TaskNo,
    one: &Use,
    reader: &mut Cursor<'_>,
) -> Result<Option<BaseKey>> {
    let (mut key, mut digest) = (None, KeyDigest::new(&salt));
    let (all_erased, mut erased) = (catalog.erased_of(task), false);
    for _ in 0..one.count {
        reader.next_record(|at, record| {
            let header = record.header()?;
            erased |= all_erased.has(one.owner, at) || record.form == BodyForm::Erased;
            key = key.take().or(header.key);
            digest.take(header.kind, record);
            Ok(())
        })?;
    }
    Ok(key.map(|key| BaseKey {
        key,
        first: one.first,
        count: one.count,
        salt,
        // Of what was erased nothing is kept, not even a hash that it could be guessed by.
        digest: if erased { Hash::ZERO } else { digest.finish() },
    }))
}

/// Stores lists of keys.
struct Writer<'a> {
    log: &'a Arc<dyn Log>,
    /// Those that are stored, and their bytes.
    lists: Vec<(ChunkId, u64)>,
    /// The next.
    list: Vec<BaseKey>,
    bytes: usize,
}

impl<'a> Writer<'a> {
    fn new(log: &'a Arc<dyn Log>) -> Self {
        Self {
            log,
            lists: Vec::new(),
            list: Vec::new(),
            bytes: 0,
        }
    }

    /// Keeps the newest lists of an earlier base, until they have `count` keys. The last is begun anew
    /// where it is short, so that many small bases do not leave many small lists.
    fn keep(&mut self, old: &BaseKeys, count: usize) -> Result<()> {
        let mut kept = 0;
        let wanted = |list: &&KeyList| {
            let is_wanted = kept < count;
            kept += list.count;
            is_wanted
        };
        let lists: Vec<&KeyList> = old.lists.iter().take_while(wanted).collect();
        for (n, list) in lists.iter().enumerate().rev() {
            match list.chunks.as_slice() {
                [chunk] if n > 0 || list.bytes >= CHUNK as u64 / 2 => {
                    self.lists.push((*chunk, list.bytes));
                }
                _ => list
                    .read(self.log)?
                    .into_iter()
                    .try_for_each(|key| self.push(key))?,
            }
        }
        Ok(())
    }

    fn push(&mut self, key: BaseKey) -> Result<()> {
        // The encoded size, or a few bytes more.
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
        self.lists.push((chunk, content.len() as u64));
        self.list.clear();
        self.bytes = 0;
        Ok(())
    }

    fn finish(mut self) -> Result<ChunkList> {
        self.store()?;
        let over = self.lists.len().saturating_sub(LISTS_MAX);
        let (chunks, sizes): (Vec<_>, Vec<u64>) = self.lists.into_iter().skip(over).unzip();
        Ok(ChunkList {
            len: sizes.iter().sum(),
            chunks,
        })
    }
}

/// The digest of an append's bodies: another append is compared with it once they are gone.
pub(crate) struct KeyDigest(blake3::Hasher);

impl KeyDigest {
    pub(crate) fn new(salt: &[u8; 16]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(salt);
        Self(hasher)
    }

    pub(crate) fn take(&mut self, kind: u16, record: &RecordRef<'_>) {
        let form = match record.form {
            BodyForm::Inline => 0,
            BodyForm::Chunked => 1,
            BodyForm::Erased => 2,
        };
        self.0.update(&kind.to_le_bytes());
        self.0.update(&[form]);
        self.0.update(&(record.payload.len() as u64).to_le_bytes());
        self.0.update(record.payload);
    }

    pub(crate) fn finish(&self) -> Hash {
        Hash(*self.0.finalize().as_bytes())
    }
}
