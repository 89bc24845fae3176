//! Moving chunks to the newest pack: entries unchanged, and members of small groups gathered into
//! large ones. A pack is emptied when all its chunks are durable at their new location.

use milepost_codec::{ChunkGroup, ChunkId, Error, GroupContents, Result};

use crate::index::{IndexPut, keys};
use crate::local::chunks::packs::{GATHERED_RAW, GROUP_LEVEL, group_up, is_small};
use crate::local::compaction::packs::is_all;
use crate::local::index::local_index::LocalIndex;
use crate::local::location::Location;

/// Bytes of chunks that are moved together, and the maximum gathered in memory.
const BATCH_BYTES: usize = 8 << 20;

/// A chunk of a small group, with its old location.
struct Member {
    id: ChunkId,
    place: Location,
    content: Vec<u8>,
}

/// Chunks that are being moved.
pub(crate) struct ChunkMover<'a> {
    index: &'a LocalIndex,
    /// New locations, which are applied once the chunks are durable there, and the bytes of those
    /// chunks.
    puts: Vec<IndexPut>,
    bytes: usize,
    gathered: Vec<Member>,
    gathered_bytes: usize,
    /// Packs that can be emptied once all this is done.
    emptied: Vec<u32>,
}

impl<'a> ChunkMover<'a> {
    pub(crate) fn new(index: &'a LocalIndex) -> Self {
        Self {
            index,
            puts: Vec::new(),
            bytes: 0,
            gathered: Vec::new(),
            gathered_bytes: 0,
            emptied: Vec::new(),
        }
    }

    /// Moves the kept chunks of an entry; the caller holds `switching`. If all chunks are kept, the
    /// entry is copied unchanged, otherwise the kept ones form a new group, so that removed chunks
    /// leave the disk. Small groups are gathered.
    pub(crate) fn move_entry(&mut self, retained: &[(ChunkId, Location)]) -> Result<()> {
        let Some((id, place)) = retained.first() else {
            return Ok(());
        };
        let packs = &self.index.packs;
        if is_all(self.index, retained) {
            // Damage is not reported here: what no copy has intact is copied unchanged.
            let small = packs.small_group(id, *place);
            if let Some(members) = small.and_then(|group| members(&group, retained).ok()) {
                return self.gather(members);
            }
            let entry_at = packs.append(&packs.intact_bytes(id, *place)?)?;
            let moves = retained.iter().map(|(id, place)| {
                let member = place.member;
                (*id, Location { member, ..entry_at })
            });
            return self.record_moves(moves);
        }
        let group = packs.read_group(id, *place).map_err(|e| {
            e.at("a group of chunks cannot be written again without those that are gone, repair \
                the store first")
        })?;
        let members = members(&group, retained)?;
        let bytes = members.iter().map(|member| member.content.len()).sum();
        if is_small(members.len(), bytes) {
            return self.gather(members);
        }
        let members: Vec<_> =
            (members.iter()).map(|member| (member.id, member.content.as_slice())).collect();
        let moves = append_group(self.index, &members)?;
        self.record_moves(moves)
    }

    /// Marks a pack whose chunks were all taken.
    pub(crate) fn mark_emptied(&mut self, pack: u32) -> Result<()> {
        self.emptied.push(pack);
        match self.gathered.is_empty() {
            true => self.empty_packs(),
            false => Ok(()),
        }
    }

    /// Moves the remaining chunks, and empties the marked packs.
    pub(crate) fn finish(mut self) -> Result<()> {
        {
            let _alone = self.index.switching.write();
            self.write_gathered(true)?;
        }
        self.empty_packs()
    }

    fn gather(&mut self, members: Vec<Member>) -> Result<()> {
        let bytes: usize = members.iter().map(|member| member.content.len()).sum();
        self.gathered_bytes += bytes;
        self.gathered.extend(members);
        match self.gathered_bytes >= BATCH_BYTES {
            true => self.write_gathered(false),
            false => Ok(()),
        }
    }

    /// Appends the gathered chunks in order of their age, so that versions of a file come together.
    /// The last group waits for more chunks, unless `all` is set.
    fn write_gathered(&mut self, all: bool) -> Result<()> {
        let mut gathered = std::mem::take(&mut self.gathered);
        self.gathered_bytes = 0;
        let index = self.index;
        let contents: Vec<_> =
            (gathered.iter()).map(|member| (member.id, member.content.as_slice())).collect();
        let groups: Vec<_> = group_up(&contents, GATHERED_RAW).collect();
        let complete = groups.len().saturating_sub(usize::from(!all));
        let mut written = 0;
        for group in groups.into_iter().take(complete) {
            let places = append_group(index, group)?;
            // A chunk that was stored again since keeps its newer location.
            let mut moves = Vec::with_capacity(places.len());
            for (member, place) in gathered.iter().skip(written).zip(places) {
                let now = index.kv.get(&keys::chunk(&member.id))?;
                if now.as_deref() == Some(&member.place.encode()) {
                    moves.push(place);
                }
            }
            written += group.len();
            self.record_moves(moves)?;
        }
        self.gathered = gathered.split_off(written);
        self.gathered_bytes = self.gathered.iter().map(|m| m.content.len()).sum();
        Ok(())
    }

    fn record_moves(
        &mut self,
        places: impl IntoIterator<Item = (ChunkId, Location)>,
    ) -> Result<()> {
        let mut len = 0;
        for (id, place) in places {
            len = place.len as usize;
            self.puts.push((keys::chunk(&id), Some(place.encode())));
        }
        self.bytes += len;
        match self.bytes >= BATCH_BYTES {
            true => self.apply(),
            false => Ok(()),
        }
    }

    /// Syncs the packs, then applies the new locations.
    fn apply(&mut self) -> Result<()> {
        self.bytes = 0;
        let puts = std::mem::take(&mut self.puts);
        if puts.is_empty() {
            return Ok(());
        }
        self.index.packs.sync()?;
        self.index.kv.apply(puts)
    }

    fn empty_packs(&mut self) -> Result<()> {
        self.apply()?;
        if self.emptied.is_empty() {
            return Ok(());
        }
        self.index.kv.sync()?;
        self.index.packs.sync_copies()?;
        self.emptied.drain(..).try_for_each(|pack| self.index.packs.empty(pack))
    }
}

/// Returns the kept members of a group, each checked.
fn members(group: &GroupContents, retained: &[(ChunkId, Location)]) -> Result<Vec<Member>> {
    let mut members = Vec::with_capacity(retained.len());
    for (id, place) in retained {
        let what = || format!("pack {} at byte {}", place.file, place.at);
        let number = place.member.ok_or_else(|| {
            Error::corrupt(what(), format!("the number of chunk {id} in its group"), "none")
        })?;
        let (found, content) = group.get(number.into())?;
        if found != *id {
            return Err(Error::corrupt(what(), format!("chunk {id}"), found));
        }
        members.push(Member { id: *id, place: *place, content: content.to_vec() });
    }
    Ok(members)
}

fn append_group(
    index: &LocalIndex,
    members: &[(ChunkId, &[u8])],
) -> Result<Vec<(ChunkId, Location)>> {
    let mut entry = Vec::new();
    ChunkGroup::encode(members, GROUP_LEVEL, &mut entry)?;
    let entry_at = index.packs.append(&entry)?;
    let places = (members.iter().zip(0_u16..)).map(|((id, _), n)| {
        let member = Some(n);
        (*id, Location { member, ..entry_at })
    });
    Ok(places.collect())
}
