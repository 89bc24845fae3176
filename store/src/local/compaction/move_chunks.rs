//! Chunks on their way to the newest pack: entries as they are, and members of small groups, which
//! are gathered into large ones. A pack is emptied when all that it had is durable where it went.

use milepost_codec::{ChunkGroup, ChunkId, Error, GroupContents, Result};

use crate::index::IndexPut;
use crate::index::keys;
use crate::local::chunks::packs::{ChunkLocation, GATHERED_RAW, GROUP_LEVEL, group_up, is_small};
use crate::local::compaction::packs::is_all;
use crate::local::inner::Inner;

/// Chunks that are moved together, in bytes; also the most that is gathered in memory.
const MOVED: usize = 8 << 20;

/// A chunk out of a small group, and where it was.
struct Member {
    id: ChunkId,
    place: ChunkLocation,
    content: Vec<u8>,
}

/// What is on its way.
pub(crate) struct ChunkMover<'a> {
    shared: &'a Inner,
    /// Places that count once the chunks are durable there, and bytes of those chunks.
    puts: Vec<IndexPut>,
    bytes: usize,
    gathered: Vec<Member>,
    gathered_bytes: usize,
    /// Packs that nothing is named in once all this is done.
    left: Vec<u32>,
}

impl<'a> ChunkMover<'a> {
    pub(crate) fn new(shared: &'a Inner) -> Self {
        Self {
            shared,
            puts: Vec::new(),
            bytes: 0,
            gathered: Vec::new(),
            gathered_bytes: 0,
            left: Vec::new(),
        }
    }

    /// Takes what is kept of an entry; who calls it holds `switching`. It is appended as it is
    /// where that is all, and as a group of the others where it is not, so that those that went
    /// leave the disk; a small group is gathered.
    pub(crate) fn take(&mut self, kept: &[(ChunkId, ChunkLocation)]) -> Result<()> {
        let Some((id, place)) = kept.first() else {
            return Ok(());
        };
        let packs = &self.shared.packs;
        if is_all(self.shared, kept) {
            // Of one that is damaged nobody says here that it is.
            let small = packs.small_group(id, *place);
            if let Some(members) = small.and_then(|group| members(&group, kept).ok()) {
                return self.gather(members);
            }
            let entry_at = packs.append(&packs.read_bytes(id, *place)?)?;
            let moved = kept.iter().map(|(id, place)| {
                let member = place.member;
                (*id, ChunkLocation { member, ..entry_at })
            });
            return self.moved(moved);
        }
        let group = packs.read_group(id, *place).map_err(|e| {
            e.at("a group of chunks cannot be written again without those that are gone, repair the store first")
        })?;
        let members = members(&group, kept)?;
        let bytes = members.iter().map(|member| member.content.len()).sum();
        if is_small(members.len(), bytes) {
            return self.gather(members);
        }
        let members: Vec<_> =
            (members.iter()).map(|member| (member.id, member.content.as_slice())).collect();
        let moved = append_group(self.shared, &members)?;
        self.moved(moved)
    }

    /// All that a pack had was taken.
    pub(crate) fn empties(&mut self, pack: u32) -> Result<()> {
        self.left.push(pack);
        match self.gathered.is_empty() {
            true => self.settle(),
            false => Ok(()),
        }
    }

    /// Nothing more is to come.
    pub(crate) fn finish(mut self) -> Result<()> {
        {
            let _alone = self.shared.switching.write();
            self.write_gathered(true)?;
        }
        self.settle()
    }

    fn gather(&mut self, members: Vec<Member>) -> Result<()> {
        let bytes: usize = members.iter().map(|member| member.content.len()).sum();
        self.gathered_bytes += bytes;
        self.gathered.extend(members);
        match self.gathered_bytes >= MOVED {
            true => self.write_gathered(false),
            false => Ok(()),
        }
    }

    /// Appends what was gathered, in the order of time: so versions of a file come together. The
    /// last group waits for more, unless it is the end.
    fn write_gathered(&mut self, all: bool) -> Result<()> {
        let mut gathered = std::mem::take(&mut self.gathered);
        self.gathered_bytes = 0;
        let shared = self.shared;
        let contents: Vec<_> =
            (gathered.iter()).map(|member| (member.id, member.content.as_slice())).collect();
        let groups: Vec<_> = group_up(&contents, GATHERED_RAW).collect();
        let whole = groups.len().saturating_sub(usize::from(!all));
        let mut done = 0;
        for group in groups.into_iter().take(whole) {
            let places = append_group(shared, group)?;
            // One that was stored again meanwhile is where it was stored.
            let mut moved = Vec::with_capacity(places.len());
            for (member, place) in gathered.iter().skip(done).zip(places) {
                let now = shared.kv.get(&keys::chunk(&member.id))?;
                if now.as_deref() == Some(&member.place.encode()) {
                    moved.push(place);
                }
            }
            done += group.len();
            self.moved(moved)?;
        }
        self.gathered = gathered.split_off(done);
        self.gathered_bytes = self.gathered.iter().map(|m| m.content.len()).sum();
        Ok(())
    }

    fn moved(&mut self, places: impl IntoIterator<Item = (ChunkId, ChunkLocation)>) -> Result<()> {
        let mut len = 0;
        for (id, place) in places {
            len = place.len as usize;
            self.puts.push((keys::chunk(&id), Some(place.encode())));
        }
        self.bytes += len;
        match self.bytes >= MOVED {
            true => self.apply(),
            false => Ok(()),
        }
    }

    /// The new places count once the chunks are durable there.
    fn apply(&mut self) -> Result<()> {
        self.bytes = 0;
        let puts = std::mem::take(&mut self.puts);
        if puts.is_empty() {
            return Ok(());
        }
        self.shared.packs.sync()?;
        self.shared.kv.apply(puts)
    }

    fn settle(&mut self) -> Result<()> {
        self.apply()?;
        if self.left.is_empty() {
            return Ok(());
        }
        self.shared.kv.sync()?;
        self.left.drain(..).try_for_each(|pack| self.shared.packs.empty(pack))
    }
}

/// Those of a group that are kept, each checked.
fn members(group: &GroupContents, kept: &[(ChunkId, ChunkLocation)]) -> Result<Vec<Member>> {
    let mut members = Vec::with_capacity(kept.len());
    for (id, place) in kept {
        let (found, content) = group.get(place.member.unwrap_or_default().into())?;
        if found != *id {
            let what = format!("pack {} at byte {}", place.pack, place.at);
            return Err(Error::corrupt(what, format!("chunk {id}"), found));
        }
        members.push(Member { id: *id, place: *place, content: content.to_vec() });
    }
    Ok(members)
}

fn append_group(
    shared: &Inner,
    members: &[(ChunkId, &[u8])],
) -> Result<Vec<(ChunkId, ChunkLocation)>> {
    let mut entry = Vec::new();
    ChunkGroup::encode(members, GROUP_LEVEL, &mut entry)?;
    let entry_at = shared.packs.append(&entry)?;
    let places = (members.iter().zip(0_u16..)).map(|((id, _), n)| {
        let member = Some(n);
        (*id, ChunkLocation { member, ..entry_at })
    });
    Ok(places.collect())
}
