//! Packs without chunks that nothing names. What is left of a pack is appended to the last one, and the
//! pack is emptied; its file stays, so that none is missed.

use std::collections::{BTreeMap, HashSet};

use milepost_codec::{Base, ChunkId, LogKind, Piece, Result, Snapshot};

use super::CompactionStep;
use crate::index::keys::{self, Kind};
use crate::index::{BaseEntry, SnapshotNote};
use crate::log::IndexPut;
use crate::log::local::packs::Place;
use crate::log::local::shared::Shared;

/// Chunks that are moved together, in bytes.
const MOVED: u64 = 8 << 20;

/// Goes through the packs before `first`, which all chunks that were stored since are in. `named` are
/// the chunks that live events name; `forget` is told of each that goes.
pub(super) fn compact(
    shared: &Shared,
    mut named: HashSet<ChunkId>,
    first: u32,
    forget: &dyn Fn(&ChunkId),
    tell: &mut dyn FnMut(CompactionStep),
) -> Result<()> {
    of_snapshots(shared, &mut named)?;
    of_bases(shared, &mut named)?;
    let mut packs: BTreeMap<u32, Vec<(ChunkId, Place)>> = BTreeMap::new();
    shared.kv.walk(&keys::all(Kind::Chunk), &mut |key, value| {
        if let (Some(id), Ok(place)) = (keys::chunk_id(key), Place::decode(value))
            && place.pack < first
        {
            packs.entry(place.pack).or_default().push((id, place));
        }
    })?;
    let all = u64::from(first.saturating_sub(1));
    for pack in 1..first {
        let mut chunks = packs.remove(&pack).unwrap_or_default();
        chunks.sort_by_key(|(_, place)| place.at);
        compact_one(shared, pack, &chunks, &named, forget)?;
        tell(CompactionStep::Packs(u64::from(pack), all));
    }
    Ok(())
}

fn compact_one(
    shared: &Shared,
    pack: u32,
    chunks: &[(ChunkId, Place)],
    named: &HashSet<ChunkId>,
    forget: &dyn Fn(&ChunkId),
) -> Result<()> {
    let is_live = |id: &ChunkId| named.contains(id) || shared.fresh.is_used(id);
    let live: u64 = (chunks.iter())
        .filter(|(id, _)| is_live(id))
        .map(|(_, place)| u64::from(place.len))
        .sum();
    // Damaged or torn pieces between chunks go too.
    if shared.packs.length_of(pack)? == live {
        return Ok(());
    }
    let (mut puts, mut bytes): (Vec<IndexPut>, u64) = (Vec::new(), 0);
    for (id, place) in chunks {
        // Whoever stores it again does so before this, or finds that it is gone.
        let _alone = shared.switching.write();
        let key = keys::chunk(id);
        if shared.kv.get(&key)?.as_deref() != Some(&place.encode()) {
            continue;
        }
        if !is_live(id) {
            forget(id);
            shared.kv.apply(vec![(key, None)])?;
            continue;
        }
        let entry = shared.packs.read_bytes(id, *place)?;
        let moved = shared.packs.append(&entry)?;
        puts.push((key, Some(moved.encode())));
        bytes += u64::from(place.len);
        if bytes >= MOVED {
            move_to(shared, std::mem::take(&mut puts))?;
            bytes = 0;
        }
    }
    move_to(shared, puts)?;
    shared.kv.sync()?;
    shared.packs.empty(pack)
}

/// The new places count once the chunks are durable there.
fn move_to(shared: &Shared, puts: Vec<IndexPut>) -> Result<()> {
    if puts.is_empty() {
        return Ok(());
    }
    shared.packs.sync()?;
    shared.kv.apply(puts)
}

/// Chunks that snapshots need. One that cannot be read keeps nothing.
fn of_snapshots(shared: &Shared, named: &mut HashSet<ChunkId>) -> Result<()> {
    let mut notes = Vec::new();
    shared
        .kv
        .walk(&keys::all(Kind::Snapshot), &mut |_, value| {
            notes.extend(SnapshotNote::decode(value).ok());
        })?;
    for note in notes {
        named.insert(note.chunk);
        let snapshot = shared.chunk(&note.chunk).ok().flatten();
        if let Some(snapshot) = snapshot.and_then(|content| Snapshot::decode(&content).ok()) {
            named.extend(&snapshot.state.chunks);
            with_pieces(shared, &snapshot.refers, named)?;
        }
    }
    Ok(())
}

/// Chunks that bases need: they are truth, so one that cannot be read ends it.
fn of_bases(shared: &Shared, named: &mut HashSet<ChunkId>) -> Result<()> {
    let mut bases = Vec::new();
    shared.kv.walk(&keys::all(Kind::Base), &mut |key, value| {
        if matches!(keys::log_of(key).kind, LogKind::Lineage(_)) {
            bases.push(BaseEntry::decode(value));
        }
    })?;
    for entry in bases {
        let chunk = entry?.chunk;
        named.insert(chunk);
        let missing =
            || milepost_codec::Error::corrupt(format!("chunk {chunk} of a base"), "it", "nothing");
        let base = Base::decode(&shared.chunk(&chunk)?.ok_or_else(missing)?)?;
        named.extend(&base.keys.chunks);
        for state in &base.states {
            named.extend(&state.state.chunks);
            with_pieces(shared, &state.refers, named)?;
        }
    }
    Ok(())
}

/// Chunks, and what those refer to that are lists of pieces.
fn with_pieces(shared: &Shared, ids: &[ChunkId], named: &mut HashSet<ChunkId>) -> Result<()> {
    let mut left: Vec<ChunkId> = ids.to_vec();
    while let Some(id) = left.pop() {
        if !named.insert(id) {
            continue;
        }
        let Some(place) = shared.kv.get(&keys::chunk(&id))? else {
            continue;
        };
        if let Ok((content, true)) = shared.packs.read_flagged(&id, Place::decode(&place)?) {
            let pieces = Piece::decode_list(&content)?;
            left.extend(pieces.iter().map(|piece| piece.id));
        }
    }
    Ok(())
}
