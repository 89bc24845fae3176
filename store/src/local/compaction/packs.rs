//! Removal of unnamed chunks from packs, and gathering of small groups. The remaining chunks of a
//! pack are appended to the last one, and the pack is emptied. Its file stays, so that it is not
//! reported as missing.

use std::collections::{BTreeMap, HashSet};

use milepost_codec::{Base, ChunkId, Error, LogKind, Piece, Result, Snapshot};

use crate::index::keys::{self, KeyKind};
use crate::index::{BaseEntry, IndexPut, SnapshotNote};
use crate::local::compaction::move_chunks::ChunkMover;
use crate::local::gc_barrier::GcBarrier;
use crate::local::index::local_index::LocalIndex;
use crate::local::location::Location;
use crate::projection::CompactionStep;

/// Small groups of a pack are gathered if they take at least this many bytes, and at least this
/// fraction of the pack (1/8). A compaction leaves at most one small group, which takes less, so
/// the next one has nothing to gather.
const GATHERED_MIN: u64 = 512 << 10;
const GATHERED_PART: u64 = 8;

/// Estimates the bytes of packs that chunks take. A member of a group counts as an equal share.
pub(crate) fn bytes_of(index: &LocalIndex, ids: &HashSet<ChunkId>) -> Result<u64> {
    let mut entries: BTreeMap<Location, (ChunkId, Location, u64)> = BTreeMap::new();
    for id in ids {
        if let Some(place) = index.kv.get(&keys::chunk(id))? {
            let place = Location::decode(&place)?;
            let entry = entries.entry(place.entry()).or_insert((*id, place, 0));
            entry.2 += 1;
        }
    }
    let mut bytes = 0;
    for (id, place, removed) in entries.into_values() {
        let all = index.packs.members(&id, place)?.max(1) as u64;
        bytes += u64::from(place.len) * removed.min(all) / all;
    }
    Ok(bytes)
}

/// Compacts the packs before `first`; chunks stored since the start are in `first` or later.
/// `reachable` holds the chunks that live events name. `forget` is called for each removed chunk.
pub(crate) fn compact(
    index: &LocalIndex,
    fresh: &GcBarrier,
    mut reachable: HashSet<ChunkId>,
    first: u32,
    forget: &dyn Fn(&ChunkId),
    report: &mut dyn FnMut(CompactionStep) -> Result<()>,
) -> Result<()> {
    of_snapshots(index, &mut reachable)?;
    of_bases(index, &mut reachable)?;
    let mut packs = named(index, first)?;
    let all = u64::from(first.saturating_sub(1));
    let mut mover = ChunkMover::new(index);
    for pack in 1..first {
        // The index names no chunk of an empty pack.
        let chunks = packs.entry(pack).or_default();
        chunks.sort_by_key(|(_, place)| *place);
        compact_one(index, fresh, pack, chunks, &reachable, forget, &mut mover)?;
        if let Err(ended) = report(CompactionStep::Packs(u64::from(pack), all)) {
            mover.finish()?;
            return Err(ended);
        }
    }
    mover.finish()
}

/// Returns the chunks that the index names in each pack before `first`. `Corrupt`: a location
/// cannot be read, so the chunk would be removed with its pack.
pub(crate) fn named(
    index: &LocalIndex,
    first: u32,
) -> Result<BTreeMap<u32, Vec<(ChunkId, Location)>>> {
    let mut packs: BTreeMap<u32, Vec<(ChunkId, Location)>> = BTreeMap::new();
    let mut damaged = None;
    index.kv.walk(&keys::all(KeyKind::Chunk), &mut |key, value| match (
        keys::chunk_id(key),
        Location::decode(value),
    ) {
        (Some(id), Ok(place)) if place.file < first => {
            packs.entry(place.file).or_default().push((id, place));
        }
        (_, Err(error)) => damaged = Some(error),
        _ => {}
    })?;
    damaged.map_or(Ok(packs), Err)
}

fn compact_one(
    index: &LocalIndex,
    fresh: &GcBarrier,
    pack: u32,
    chunks: &[(ChunkId, Location)],
    reachable: &HashSet<ChunkId>,
    forget: &dyn Fn(&ChunkId),
    mover: &mut ChunkMover<'_>,
) -> Result<()> {
    let is_live = |id: &ChunkId| reachable.contains(id) || fresh.is_used(id);
    let (mut live, mut small) = (0, 0);
    for entry in entries(chunks) {
        if entry.iter().all(|(id, _)| is_live(id)) && is_all(index, entry) {
            live += length(entry);
            small += if is_small(index, entry) { length(entry) } else { 0 };
        }
    }
    let len = index.packs.length_of(pack)?;
    let gathers = small >= GATHERED_MIN.max(len / GATHERED_PART);
    // Damaged or torn bytes between chunks are removed too.
    if len == live && !gathers {
        return Ok(());
    }
    for entry in entries(chunks) {
        // A thread that stores one of these chunks again does so before, or finds it missing.
        let _alone = index.switching.write();
        let (mut retained, mut removals): (Vec<_>, Vec<IndexPut>) = (Vec::new(), Vec::new());
        for (id, place) in entry {
            let key = keys::chunk(id);
            if index.kv.get(&key)?.as_deref() != Some(&place.encode()) {
                continue;
            }
            if is_live(id) {
                retained.push((*id, *place));
            } else {
                forget(id);
                removals.push((key, None));
            }
        }
        index.kv.apply(removals)?;
        mover.move_entry(&retained)?;
    }
    mover.mark_emptied(pack)
}

/// Splits the chunks of a pack by entry: one chunk, or members of a group.
fn entries(chunks: &[(ChunkId, Location)]) -> impl Iterator<Item = &[(ChunkId, Location)]> {
    chunks.chunk_by(|(_, a), (_, b)| a.entry() == b.entry())
}

fn length(entry: &[(ChunkId, Location)]) -> u64 {
    entry.first().map_or(0, |(_, place)| u64::from(place.len))
}

fn is_small(index: &LocalIndex, entry: &[(ChunkId, Location)]) -> bool {
    let small = |(id, place): &(ChunkId, Location)| index.packs.small_group(id, *place).is_some();
    entry.first().is_some_and(small)
}

/// Returns `true` if these are all chunks of an entry, so that it can stay unchanged.
pub(crate) fn is_all(index: &LocalIndex, entry: &[(ChunkId, Location)]) -> bool {
    match entry {
        [] => true,
        [(id, place), ..] => (index.packs.members(id, *place)).is_ok_and(|all| all == entry.len()),
    }
}

/// Adds the chunks that snapshots need. An unreadable snapshot keeps only its own chunk.
fn of_snapshots(index: &LocalIndex, reachable: &mut HashSet<ChunkId>) -> Result<()> {
    let mut notes = Vec::new();
    index.kv.walk(&keys::all(KeyKind::Snapshot), &mut |_, value| {
        notes.extend(SnapshotNote::decode(value).ok());
    })?;
    for note in notes {
        reachable.insert(note.chunk);
        let snapshot = index.chunk(&note.chunk).ok().flatten();
        if let Some(snapshot) = snapshot.and_then(|content| Snapshot::decode(&content).ok()) {
            reachable.extend(&snapshot.state.chunks);
            with_pieces(index, &snapshot.refers, reachable)?;
        }
    }
    Ok(())
}

/// Reads all bases and their idempotency keys, so that a compaction fails before it changes
/// anything if one is damaged.
pub(crate) fn check_bases(index: &LocalIndex) -> Result<()> {
    for base in bases(index)? {
        for chunk in &base.keys.chunks {
            of_base(index, chunk)?;
        }
    }
    Ok(())
}

/// Adds the chunks that bases need. Bases cannot be rebuilt, so an unreadable one is an error.
fn of_bases(index: &LocalIndex, reachable: &mut HashSet<ChunkId>) -> Result<()> {
    index.kv.walk(&keys::all(KeyKind::Base), &mut |_, value| {
        reachable.extend(BaseEntry::decode(value).map(|entry| entry.chunk));
    })?;
    for base in bases(index)? {
        reachable.extend(&base.keys.chunks);
        for state in &base.states {
            reachable.extend(&state.state.chunks);
            with_pieces(index, &state.refers, reachable)?;
        }
    }
    Ok(())
}

/// Reads all bases.
fn bases(index: &LocalIndex) -> Result<Vec<Base>> {
    let mut entries = Vec::new();
    index.kv.walk(&keys::all(KeyKind::Base), &mut |key, value| {
        if matches!(keys::log_of(key).kind, LogKind::Lineage(_)) {
            entries.push(BaseEntry::decode(value));
        }
    })?;
    let read = |entry: Result<BaseEntry>| Base::decode(&of_base(index, &entry?.chunk)?);
    entries.into_iter().map(read).collect()
}

/// Reads a chunk of a base.
fn of_base(index: &LocalIndex, chunk: &ChunkId) -> Result<Vec<u8>> {
    let missing = || Error::corrupt(format!("chunk {chunk} of a base"), "it", "nothing");
    index.chunk(chunk)?.ok_or_else(missing)
}

/// Adds chunks and, for lists of pieces, the chunks that they refer to.
fn with_pieces(
    index: &LocalIndex,
    ids: &[ChunkId],
    reachable: &mut HashSet<ChunkId>,
) -> Result<()> {
    let mut pending: Vec<ChunkId> = ids.to_vec();
    while let Some(id) = pending.pop() {
        if !reachable.insert(id) {
            continue;
        }
        let Some(place) = index.kv.get(&keys::chunk(&id))? else {
            continue;
        };
        if let Ok((content, true)) = index.packs.read_flagged(&id, Location::decode(&place)?) {
            let pieces = Piece::decode_list(&content)?;
            pending.extend(pieces.iter().map(|piece| piece.id));
        }
    }
    Ok(())
}
