//! Storing many chunks at once: mostly small ones, from a folder's files. They are compressed
//! together, and share one entry of a pack and one write to sled.

use std::collections::HashSet;

use milepost_codec::{ChunkEntry, ChunkGroup, ChunkId, Result};

use crate::index::{IndexPut, keys};
use crate::local::LocalStore;
use crate::local::chunks::packs::{GROUP_LEVEL, GROUP_RAW, group_up};
use crate::local::location::Location;

impl LocalStore {
    /// Stores chunks of at most 1 MiB, each once.
    ///
    /// Missing chunks are determined first, then packed without a lock. Two concurrent calls may
    /// both store a chunk; the index names one copy, and the next compaction removes the other.
    pub(crate) fn put_together(&self, contents: &[&[u8]]) -> Result<Vec<ChunkId>> {
        self.shared.check_open()?;
        self.shared.check_poison()?;
        let ids: Vec<_> = contents.iter().map(|c| ChunkEntry::id_of(c)).collect();
        let mut missing = Vec::new();
        {
            let _here = self.shared.index.switching.read();
            self.shared.fresh.used(&ids);
            let mut unique = HashSet::with_capacity(ids.len());
            for (id, content) in ids.iter().zip(contents) {
                if unique.insert(*id) && !self.believes(id)? {
                    missing.push((*id, *content));
                }
            }
        }
        for members in group_up(&missing, GROUP_RAW) {
            self.put_group(members)?;
        }
        Ok(ids)
    }

    fn put_group(&self, members: &[(ChunkId, &[u8])]) -> Result<()> {
        let mut entry = Vec::new();
        ChunkGroup::encode(members, GROUP_LEVEL, &mut entry)?;
        let ids: Vec<_> = members.iter().map(|(id, _)| *id).collect();
        let _here = self.shared.index.switching.read();
        self.store_entry(&entry, &ids, true)
    }

    /// Stores an entry of one chunk or of a group; the caller holds `switching`.
    pub(super) fn store_entry(&self, entry: &[u8], ids: &[ChunkId], is_group: bool) -> Result<()> {
        let shared = &self.shared;
        {
            let _indexing = shared.index.indexing.read();
            let entry_at = self.append_to_pack(entry)?;
            let places = ids.iter().zip(0_u16..).map(|(id, n)| {
                let member = is_group.then_some(n);
                (*id, Location { member, ..entry_at })
            });
            let puts: Vec<IndexPut> = (places.clone())
                .map(|(id, place)| (keys::chunk(&id), Some(place.encode())))
                .collect();
            self.poisons(shared.sled(shared.index.kv.apply(puts)))?;
            for (id, place) in places {
                shared.fresh.stored(id, place);
            }
        }
        shared.meters.chunks.add(ids.len() as u64);
        shared.meters.chunk_bytes.add(entry.len() as u64);
        let mut damaged = self.damaged.lock();
        for id in ids {
            damaged.1.remove(id);
            self.mark_intact(*id);
        }
        Ok(())
    }

    /// Returns for each chunk whether it is stored and, as far as known, intact.
    pub(crate) fn has_together(&self, ids: &[ChunkId]) -> Result<Vec<bool>> {
        self.shared.check_open()?;
        let _here = self.shared.index.switching.read();
        self.shared.fresh.used(ids);
        ids.iter().map(|id| self.believes(id)).collect()
    }

    /// Returns `true` if a chunk is stored. The index is trusted, except for chunks written by an
    /// earlier process that did not close the store: these are read once. Verification finds damage
    /// on disk.
    fn believes(&self, id: &ChunkId) -> Result<bool> {
        if self.damaged.lock().1.contains(id) {
            return Ok(false);
        }
        let shared = &self.shared;
        let Some(place) = shared.sled(shared.index.kv.get(&keys::chunk(id)))? else {
            return Ok(false);
        };
        if self.closed_at.is_some() || Location::decode(&place)? >= self.opened_at {
            return Ok(true);
        }
        self.holds(id)
    }

    /// Sorts chunks by their location in packs.
    pub(crate) fn order_together(&self, ids: &mut [ChunkId]) -> Result<()> {
        self.shared.check_open()?;
        let shared = &self.shared;
        let mut placed = Vec::with_capacity(ids.len());
        for id in ids.iter() {
            let place = shared.sled(shared.index.kv.get(&keys::chunk(id)))?;
            let place = place.and_then(|place| Location::decode(&place).ok());
            placed.push((place.is_none(), place, *id));
        }
        placed.sort_unstable();
        for (room, (_, _, id)) in ids.iter_mut().zip(placed) {
            *room = id;
        }
        Ok(())
    }
}
