//! Chunks that were not synced when the process died: a power cut may have lost them. No event
//! names one of them, since chunks of bodies are synced first; snapshots may.

use milepost_codec::{ChunkId, Result, Snapshot};

use crate::index::keys::{self, KeyKind};
use crate::index::{IndexPut, SnapshotNote};
use crate::local::chunks::packs::Packs;
use crate::local::index::kv::Kv;
use crate::local::location::Location;
use crate::local::markers::applied::AppliedPosition;

/// Removes lost content from the index: damaged chunks after the synced position, and snapshots
/// that need them.
pub(crate) fn remove_lost(kv: &Kv, packs: &Packs, applied: &AppliedPosition) -> Result<()> {
    let mut removals: Vec<IndexPut> = Vec::new();
    kv.walk(&keys::all(KeyKind::Chunk), &mut |key, value| {
        let place = Location::decode(value).ok().filter(|place| *place >= applied.synced);
        if let (Some(place), Some(id)) = (place, keys::chunk_id(key))
            && packs.read(&id, place).is_err()
        {
            removals.push((key.to_vec(), None));
        }
    })?;
    kv.apply(std::mem::take(&mut removals))?;
    kv.walk(&keys::all(KeyKind::Snapshot), &mut |key, value| {
        let is_intact = SnapshotNote::decode(value)
            .is_ok_and(|note| has_all_chunks(kv, packs, applied, &note.chunk).unwrap_or(false));
        if !is_intact {
            removals.push((key.to_vec(), None));
        }
    })?;
    kv.apply(removals)
}

/// Returns `true` if a snapshot has all chunks that it needs, or the sources of pieces. A synced
/// snapshot has: its chunks were stored first.
fn has_all_chunks(kv: &Kv, packs: &Packs, applied: &AppliedPosition, id: &ChunkId) -> Result<bool> {
    let Some(place) = kv.get(&keys::chunk(id))? else {
        return Ok(false);
    };
    let place = Location::decode(&place)?;
    if place < applied.synced {
        return Ok(true);
    }
    let snapshot = Snapshot::decode(&packs.read(id, place)?)?;
    for needed in snapshot.state.chunks.iter().chain(&snapshot.refers) {
        let sources = keys::piece_sources(needed);
        let has_source = || kv.scan(&sources, &keys::after_prefix(&sources), false, 1);
        if kv.get(&keys::chunk(needed))?.is_none() && has_source()?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}
