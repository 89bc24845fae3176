//! Packs without chunks that nothing names. What is left of a pack is appended to the last one, and the
//! pack is emptied; its file stays, so that none is missed.

use std::collections::{BTreeMap, HashSet};

use milepost_codec::{Base, ChunkGroup, ChunkId, Error, LogKind, Piece, Result, Snapshot};

use super::CompactionStep;
use crate::index::keys::{self, Kind};
use crate::index::{BaseEntry, SnapshotNote};
use crate::log::IndexPut;
use crate::log::local::packs::{GROUP_LEVEL, Place};
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
        chunks.sort_by_key(|(_, place)| *place);
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
    let mut live = 0;
    for entry in entries(chunks) {
        if entry.iter().all(|(id, _)| is_live(id)) && is_all(shared, entry) {
            live += length(entry);
        }
    }
    // Damaged or torn pieces between chunks go too.
    if shared.packs.length_of(pack)? == live {
        return Ok(());
    }
    let (mut puts, mut bytes): (Vec<IndexPut>, u64) = (Vec::new(), 0);
    for entry in entries(chunks) {
        // Whoever stores one of them again does so before this, or finds that it is gone.
        let _alone = shared.switching.write();
        let (mut kept, mut gone): (Vec<_>, Vec<IndexPut>) = (Vec::new(), Vec::new());
        for (id, place) in entry {
            let key = keys::chunk(id);
            if shared.kv.get(&key)?.as_deref() != Some(&place.encode()) {
                continue;
            }
            if is_live(id) {
                kept.push((*id, *place));
            } else {
                forget(id);
                gone.push((key, None));
            }
        }
        shared.kv.apply(gone)?;
        let moved = move_entry(shared, &kept)?;
        bytes += moved.first().map_or(0, |(_, place)| u64::from(place.len));
        puts.extend((moved.iter()).map(|(id, place)| (keys::chunk(id), Some(place.encode()))));
        if bytes >= MOVED {
            move_to(shared, std::mem::take(&mut puts))?;
            bytes = 0;
        }
    }
    move_to(shared, puts)?;
    shared.kv.sync()?;
    shared.packs.empty(pack)
}

/// Chunks of a pack by the entry that they are in: one, or some of a group.
fn entries(chunks: &[(ChunkId, Place)]) -> impl Iterator<Item = &[(ChunkId, Place)]> {
    chunks.chunk_by(|(_, a), (_, b)| a.entry() == b.entry())
}

fn length(entry: &[(ChunkId, Place)]) -> u64 {
    entry.first().map_or(0, |(_, place)| u64::from(place.len))
}

/// Whether these are all that an entry has, so that it can stay as it is.
fn is_all(shared: &Shared, entry: &[(ChunkId, Place)]) -> bool {
    match entry {
        [] => true,
        [(id, place), ..] => (shared.packs.members(id, *place)).is_ok_and(|all| all == entry.len()),
    }
}

/// Appends what is kept of an entry: as it is where that is all, and a group of the others where it is
/// not, so that those that went leave the disk.
fn move_entry(shared: &Shared, kept: &[(ChunkId, Place)]) -> Result<Vec<(ChunkId, Place)>> {
    let Some((id, place)) = kept.first() else {
        return Ok(Vec::new());
    };
    let packs = &shared.packs;
    if is_all(shared, kept) {
        let entry_at = packs.append(&packs.read_bytes(id, *place)?)?;
        let moved = kept.iter().map(|(id, place)| {
            let member = place.member;
            (*id, Place { member, ..entry_at })
        });
        return Ok(moved.collect());
    }
    let group = packs.read_group(id, *place).map_err(|e| {
        e.at("a group of chunks cannot be written again without those that are gone, repair the store first")
    })?;
    let mut members = Vec::with_capacity(kept.len());
    for (id, place) in kept {
        let (found, content) = group.get(place.member.unwrap_or_default().into())?;
        if found != *id {
            let what = format!("pack {} at byte {}", place.pack, place.at);
            return Err(Error::corrupt(what, format!("chunk {id}"), found));
        }
        members.push((*id, content));
    }
    let mut entry = Vec::new();
    ChunkGroup::encode(&members, GROUP_LEVEL, &mut entry)?;
    let entry_at = packs.append(&entry)?;
    let moved = (members.iter().zip(0_u16..)).map(|((id, _), n)| {
        let member = Some(n);
        (*id, Place { member, ..entry_at })
    });
    Ok(moved.collect())
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
        let missing = || Error::corrupt(format!("chunk {chunk} of a base"), "it", "nothing");
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
