//! Chunks of the local store: each is stored once in a pack and found through the index.

pub(crate) mod gc_roots;
pub(crate) mod packs;
pub(crate) mod write;

use milepost_codec::{ChunkEntry, ChunkId, Result};

use crate::commit_log::ChunkStore;
use crate::content::fingerprint;
use crate::index::keys;
use crate::local::LocalStore;
use crate::local::gc_barrier::ChunkWrite;
use crate::local::location::Location;

/// The maximum number of ids in the set of intact chunks. The set is cleared when it is full.
const INTACT_MAX: usize = 1 << 16;

/// The maximum number of contents that are noted, of 9 to 18 bytes each. The set is cleared when it
/// is full.
const CAME_MAX: usize = 1 << 16;

impl ChunkStore for LocalStore {
    fn put_chunk(&self, content: &[u8], pieces: bool) -> Result<ChunkId> {
        self.shared.check_open()?;
        self.shared.check_poison()?;
        let id = ChunkEntry::id_of(content);
        let _here = self.shared.switching.read();
        self.shared.fresh.used(id);
        if self.holds(&id)? && self.is_apart(&id)? {
            return Ok(id);
        }
        let mut entry = Vec::new();
        ChunkEntry::encode(content, pieces, &mut entry)?;
        self.store_entry(&entry, &[id], false)?;
        Ok(id)
    }

    fn comes_again(&self, content: &[u8]) -> bool {
        self.came.as_ref().is_some_and(|came| {
            let mut came = came.lock();
            if came.len() >= CAME_MAX {
                came.clear();
            }
            !came.insert(fingerprint(content))
        })
    }

    fn put_chunks(&self, contents: &[&[u8]]) -> Result<Vec<ChunkId>> {
        self.put_together(contents)
    }

    fn has_chunks(&self, ids: &[ChunkId]) -> Result<Vec<bool>> {
        self.has_together(ids)
    }

    fn uses_chunks(&self, ids: &[ChunkId]) {
        self.shared.fresh.all_used(ids);
    }

    fn notes_uses(&self) -> bool {
        self.shared.fresh.is_recording()
    }

    fn order_chunks(&self, ids: &mut [ChunkId]) -> Result<()> {
        self.order_together(ids)
    }

    fn get_chunk(&self, id: &ChunkId) -> Result<Option<Vec<u8>>> {
        self.shared.check_open()?;
        self.shared.fresh.used(*id);
        let Some(read) = self.read_placed(id, |place| self.shared.packs.read(id, place))? else {
            return Ok(None);
        };
        if read.is_err() {
            let mut damaged = self.damaged.lock();
            damaged.0 += u64::from(damaged.1.insert(*id));
            self.intact_chunks.lock().remove(id);
        }
        self.shared.packed(read).map(Some)
    }

    fn lists_pieces(&self, id: &ChunkId) -> Result<bool> {
        self.shared.check_open()?;
        match self.read_placed(id, |place| self.shared.packs.read_flagged(id, place))? {
            Some(read) => self.shared.packed(read).map(|(_, pieces)| pieces),
            None => Ok(false),
        }
    }

    fn damaged_chunks(&self) -> (u64, usize) {
        let damaged = self.damaged.lock();
        (damaged.0, damaged.1.len())
    }

    fn storing(&self) -> Option<Box<dyn std::any::Any + Send>> {
        Some(Box::new(ChunkWrite::begin(&self.shared.fresh)))
    }

    fn sync_chunks(&self) -> Result<()> {
        self.poisons(self.shared.packs.sync())
    }
}

impl LocalStore {
    /// Reads a chunk, twice if a compaction moves it. Returns `None` for a missing one.
    fn read_placed<T>(
        &self,
        id: &ChunkId,
        read: impl Fn(Location) -> Result<T>,
    ) -> Result<Option<Result<T>>> {
        let mut before = None;
        loop {
            let Some(place) = self.shared.sled(self.shared.kv.get(&keys::chunk(id)))? else {
                return Ok(None);
            };
            let read = read(Location::decode(&place)?);
            if read.is_ok() || before.as_ref() == Some(&place) {
                return Ok(Some(read));
            }
            before = Some(place);
        }
    }

    /// Returns `true` if a chunk is stored and intact. The index alone does not prove it: a crash
    /// may have lost unsynced bytes of a pack. So a chunk is read the first time.
    pub(crate) fn holds(&self, id: &ChunkId) -> Result<bool> {
        if self.intact_chunks.lock().contains(id) {
            return Ok(true);
        }
        let Some(place) = self.shared.sled(self.shared.kv.get(&keys::chunk(id)))? else {
            return Ok(false);
        };
        let place = Location::decode(&place)?;
        let is_intact = self.shared.packs.read(id, place).is_ok();
        if is_intact {
            self.mark_intact(*id);
        }
        Ok(is_intact)
    }

    /// Returns `true` if a chunk is in no group: members of groups have no second copy.
    fn is_apart(&self, id: &ChunkId) -> Result<bool> {
        let place = self.shared.sled(self.shared.kv.get(&keys::chunk(id)))?;
        let place = place.as_deref().map(Location::decode).transpose()?;
        Ok(place.is_some_and(|place| place.member.is_none()))
    }

    /// Appends an entry. If a pack cannot be opened, nothing is written and only this append fails.
    pub(crate) fn append_to_pack(&self, entry: &[u8]) -> Result<Location> {
        let packs = &self.shared.packs;
        packs.append(entry).inspect_err(|error| {
            if packs.has_failed() {
                self.shared.poison(error);
            }
        })
    }

    pub(crate) fn mark_intact(&self, id: ChunkId) {
        let mut intact = self.intact_chunks.lock();
        if intact.len() >= INTACT_MAX {
            intact.clear();
        }
        intact.insert(id);
    }
}
