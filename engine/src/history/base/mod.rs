//! Bases: the beginning of a lineage after its earlier events were trimmed.
//!
//! ```text
//! keys    idempotency keys of a base, found by a table in memory
//! gather  the keys that a base keeps
//! ```

mod gather;
mod keys;

use std::collections::BTreeSet;
use std::sync::Arc;

use milepost_codec::{Base, ChunkId, Error, ErrorKind, Head, LogId, Offset, Result, TaskNo};
use milepost_replay::{Reducer, RunReducer};
use milepost_store::entropy::Entropy;
use milepost_store::index::BaseEntry;
use milepost_store::index::keys::{self as names, KeyKind};

use super::contents::read_chunks;
use super::events::Ancestry;
use crate::history::catalog::Catalog;
use crate::history::state::{DynReducer, StateKey, snapshot_of};
pub(crate) use gather::KeyDigest;
pub(crate) use keys::{BaseKeys, KnownKeys, check as check_keys};
use milepost_store::put_content;

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

/// Returns the state that a base keeps for a reducer.
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

/// Returns all bases, with their lineages.
pub(crate) fn all(catalog: &Catalog) -> Result<Vec<(LogId, BaseEntry)>> {
    let mut found = Vec::new();
    catalog.log().walk(&names::all(KeyKind::Base), &mut |key, value| {
        found.push((names::log_of(key), BaseEntry::decode(value)?));
        Ok(())
    })?;
    Ok(found)
}

/// Returns the root of the workspace in the state of a base.
pub(crate) fn workspace(catalog: &Catalog, entry: &BaseEntry) -> Result<Option<ChunkId>> {
    let state = state(catalog, &RunReducer, entry)?;
    Ok(state.workspace.map(|root| ChunkId(root.0)))
}

/// Returns `true` if a folder of a task was captured. A compaction forgets the captures that it
/// removes: then a base may name one.
pub(crate) fn has_captures(catalog: &Catalog, task: TaskNo) -> Result<bool> {
    if catalog.tally(task)?.captured {
        return Ok(true);
    }
    if !catalog.has_bases(task)? {
        return Ok(false);
    }
    for (lineage, _) in catalog.lineages(task)? {
        if let Some(entry) = catalog.base(task, lineage)?
            && workspace(catalog, &entry)?.is_some()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A new base. Its chunk is not durable yet.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) entry: BaseEntry,
    /// The chunk of the base that it replaces.
    pub(crate) replaces: Option<ChunkId>,
}

/// Creates the base of a lineage at an offset.
///
/// # Errors
///
/// `Unsupported`: an unregistered reducer has a state there.
pub(crate) fn make(
    catalog: &Catalog,
    reducers: &[Arc<dyn DynReducer>],
    entropy: &Entropy,
    place: StateKey,
) -> Result<Made> {
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
    let is_here = |name: &String| reducers.iter().any(|reducer| reducer.id().0 == name.as_str());
    if let Some(name) = named.iter().find(|name| !is_here(name)) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the reducer {name} has a state in lineage {lineage} and is not registered: \
                 trimming would lose it. Open the store with it"
            ),
        ));
    }
    let owner = ancestry.hash_owner(offset).unwrap_or(lineage);
    let hash = super::chain_hash::hash_at(catalog, origin, LogId::lineage(task, owner), offset)?;
    let head = Head { next: offset, hash };
    let states = reducers.iter().map(|reducer| reducer.kept(catalog, place));
    let base = Base {
        origin,
        lineage,
        head,
        states: states.collect::<Result<_>>()?,
        keys: gather::gather(catalog, entropy, &ancestry, (task, offset))?,
    };
    let chunk = match put_content(catalog.log(), &base.encode())?.chunks.as_slice() {
        [chunk] => *chunk,
        _ => {
            return Err(Error::invalid(format!(
                "the state of lineage {lineage} at offset {offset} is too large for a base"
            )));
        }
    };
    // Reads the base back before an event names it, and caches its keys for the leader.
    let entry = BaseEntry { head, chunk };
    read(catalog, &entry)?;
    catalog.known_keys.get(catalog.log(), chunk, || Ok(base.keys))?;
    let replaces = ancestry.key_base().map(|(_, _, before)| before.chunk);
    Ok(Made { entry, replaces })
}

/// Returns the names of reducers that have a snapshot before an offset and are not registered in
/// any version. Snapshots that cannot be read are ignored.
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
                names::snapshots(task, owner, name, version)
            })
            .collect();
        let prefix = names::of_lineage(KeyKind::Snapshot, task, owner);
        catalog.log().walk(&prefix, &mut |key, value| {
            let is_known = known.iter().any(|prefix| key.starts_with(prefix));
            if is_known || !(from..=to).contains(&names::tail_u64(key)) {
                return Ok(());
            }
            let snapshot = snapshot_of(catalog, key, value).ok();
            found.extend(snapshot.map(|snapshot| snapshot.reducer));
            Ok(())
        })?;
    }
    Ok(found)
}
