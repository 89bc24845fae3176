//! Bases: what a lineage begins with once the events before it are gone.

use std::collections::BTreeSet;
use std::sync::Arc;

use milepost_codec::{
    Base, BaseKey, BodyForm, ChunkId, ChunkList, Error, ErrorKind, Hash, Head, LineageId, LogId,
    Offset, RecordRef, Result, Snapshot, TaskNo,
};
use milepost_replay::{Reducer, RunReducer};

use crate::append::put_chunks;
use crate::catalog::Catalog;
use crate::entropy::Entropy;
use crate::index::keys::{self, Kind};
use crate::index::{BaseEntry, KeyEntry, SnapshotNote};
use crate::read::{Ancestry, Cursor, read_chunks};
use crate::state::{DynReducer, Place};

/// Reads a base.
pub(crate) fn read(catalog: &Catalog, entry: &BaseEntry) -> Result<Base> {
    let missing = |what: &str| Error::corrupt(format!("base {}", entry.chunk), "it", what);
    let content = catalog.log().get_chunk(&entry.chunk)?;
    let base = Base::decode(&content.ok_or_else(|| missing("nothing"))?)?;
    if base.head == entry.head {
        return Ok(base);
    }
    Err(missing("one of another point"))
}

/// The state that a base keeps for a reducer.
pub(crate) fn state<R: Reducer>(
    catalog: &Catalog,
    reducer: &R,
    entry: &BaseEntry,
) -> Result<R::State> {
    let base = read(catalog, entry)?;
    let (name, version) = (reducer.name(), reducer.version());
    let Some(kept) = base.states.iter().find(|state| state.reducer == name) else {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the events before offset {} were trimmed while the reducer {name} was not \
                 registered: no state of it was kept",
                entry.head.next
            ),
        ));
    };
    let bytes = read_chunks(catalog.log(), &kept.state)?;
    match kept.version == version {
        true => reducer.decode(&bytes),
        false => reducer.upgrade(kept.version, &bytes),
    }
}

/// All bases, by their lineages.
pub(crate) fn all(catalog: &Catalog) -> Result<Vec<(LogId, BaseEntry)>> {
    let mut found = Vec::new();
    catalog
        .log()
        .walk(&keys::all(Kind::Base), &mut |key, value| {
            found.push((keys::log_of(key), BaseEntry::decode(value)?));
            Ok(())
        })?;
    Ok(found)
}

/// The root of the workspace that the state in a base names.
pub(crate) fn workspace(catalog: &Catalog, entry: &BaseEntry) -> Result<Option<ChunkId>> {
    let state = state(catalog, &RunReducer, entry)?;
    Ok(state.workspace.map(|root| ChunkId(root.0)))
}

/// Makes the base of a lineage at an offset. Gives its point and its chunk, which is not durable yet.
///
/// # Errors
///
/// `Unsupported` where a reducer has a state there and is not registered.
pub(crate) fn make(
    catalog: &Catalog,
    reducers: &[Arc<dyn DynReducer>],
    entropy: &Entropy,
    place: Place,
) -> Result<(Head, ChunkId)> {
    let (task, lineage, offset) = place;
    let origin = catalog.task(task)?.origin;
    let ancestry = Ancestry::of(catalog, task, lineage)?;
    let before = match ancestry.base() {
        Some((_, entry)) => Some(read(catalog, &entry)?),
        None => None,
    };
    let mut named: BTreeSet<String> = snapshotted(catalog, reducers, &ancestry, (task, offset))?;
    let states = before.iter().flat_map(|base| &base.states);
    named.extend(states.map(|state| state.reducer.clone()));
    let is_here = |name: &String| {
        reducers
            .iter()
            .any(|reducer| reducer.id().0 == name.as_str())
    };
    if let Some(name) = named.iter().find(|name| !is_here(name)) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the reducer {name} has a state in lineage {lineage} and is not registered: trimming \
                 would lose it. Open the store with it"
            ),
        ));
    }
    let owner = ancestry.hash_owner(offset).unwrap_or(lineage);
    let hash = crate::hashes::hash_at(catalog, origin, LogId::lineage(task, owner), offset)?;
    let head = Head { next: offset, hash };
    let states = reducers.iter().map(|reducer| reducer.kept(catalog, place));
    let old_keys = match &before {
        Some(base) if base.keys.len > 0 => {
            BaseKey::decode_list(&read_chunks(catalog.log(), &base.keys)?)?
        }
        _ => Vec::new(),
    };
    let keys = keys_before(catalog, entropy, &ancestry, (task, offset), old_keys)?;
    let keys = match keys.is_empty() {
        true => ChunkList::default(),
        false => put_chunks(catalog.log(), &BaseKey::encode_list(&keys))?,
    };
    let base = Base {
        origin,
        lineage,
        head,
        states: states.collect::<Result<_>>()?,
        keys,
    };
    let chunk = match put_chunks(catalog.log(), &base.encode())?.chunks.as_slice() {
        [chunk] => *chunk,
        _ => {
            return Err(Error::invalid(format!(
                "the state of lineage {lineage} at offset {offset} is too large for a base"
            )));
        }
    };
    Ok((head, chunk))
}

/// Names of reducers that have a snapshot before an offset and are not registered in any version. A
/// snapshot that cannot be read names none.
fn snapshotted(
    catalog: &Catalog,
    reducers: &[Arc<dyn DynReducer>],
    ancestry: &Ancestry,
    (task, offset): (TaskNo, Offset),
) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for (owner, from, to) in ancestry.newest_first(offset.saturating_add(1)) {
        let known: Vec<_> = reducers
            .iter()
            .map(|reducer| {
                let (name, version) = reducer.id();
                keys::snapshots(task, owner, name, version)
            })
            .collect();
        let prefix = keys::of_lineage(Kind::Snapshot, task, owner);
        catalog.log().walk(&prefix, &mut |key, value| {
            let is_known = known.iter().any(|prefix| key.starts_with(prefix));
            if is_known || !(from..=to).contains(&keys::tail_u64(key)) {
                return Ok(());
            }
            let chunk = SnapshotNote::decode(value)?.chunk;
            let content = catalog.log().get_chunk(&chunk).ok().flatten();
            let snapshot = content.and_then(|content| Snapshot::decode(&content).ok());
            found.extend(snapshot.map(|snapshot| snapshot.reducer));
            Ok(())
        })?;
    }
    Ok(found)
}

/// The keys that were used before an offset.
fn keys_before(
    catalog: &Catalog,
    entropy: &Entropy,
    ancestry: &Ancestry,
    (task, offset): (TaskNo, Offset),
    old: Vec<BaseKey>,
) -> Result<Vec<BaseKey>> {
    let mut used: Vec<(LineageId, KeyEntry)> = Vec::new();
    let prefix = keys::of_task(Kind::Key, task);
    catalog.log().walk(&prefix, &mut |name, value| {
        let (owner, entry) = (keys::tail_lineage(name), KeyEntry::decode(value)?);
        let span = ancestry.span(owner);
        let inherited =
            |(from, to): (Offset, Offset)| (from..to.min(offset)).contains(&entry.first);
        if entry.trimmed.is_none() && span.is_some_and(inherited) {
            used.push((owner, entry));
        }
        Ok(())
    })?;
    // In the order of the log, so that each block is unpacked once.
    used.sort_by_key(|(owner, entry)| (*owner, entry.first));
    let mut found = old;
    for (owner, entry) in used {
        let to = ancestry.span(owner).map_or(0, |(_, to)| to);
        let mut key = base_key(catalog, entropy.bytes16(), (task, owner), &entry)?;
        if let Some(key) = &mut key
            && to < offset
            && key.first + u64::from(key.count) > to
        {
            // The fork kept a part of it: no append is the same.
            key.digest = Hash::ZERO;
        }
        found.extend(key);
    }
    found.sort_by_key(|key| key.first);
    Ok(found)
}

fn base_key(
    catalog: &Catalog,
    salt: [u8; 16],
    (task, owner): (TaskNo, LineageId),
    entry: &KeyEntry,
) -> Result<Option<BaseKey>> {
    let mut cursor = Cursor::new(catalog.log(), LogId::lineage(task, owner), entry.first);
    let (mut key, mut digest) = (None, KeyDigest::new(&salt));
    let (all_erased, mut erased) = (catalog.erased_of(task), false);
    for _ in 0..entry.count {
        cursor.next_record(|at, record| {
            let header = record.header()?;
            erased |= all_erased.has(owner, at) || record.form == BodyForm::Erased;
            key = key.take().or(header.key);
            digest.take(header.kind, record);
            Ok(())
        })?;
    }
    Ok(key.map(|key| BaseKey {
        key,
        first: entry.first,
        count: entry.count,
        salt,
        // Of what was erased nothing is kept, not even a hash that it could be guessed by.
        digest: if erased { Hash::ZERO } else { digest.finish() },
    }))
}

/// The digest of an append's bodies: what another append is compared with once they are gone.
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
