//! Chunks that stand together: compressed as one, read one by one.

use std::collections::VecDeque;
use std::sync::Arc;

use milepost_codec::{ChunkGroup, ChunkId, GroupContents, Result};
use parking_lot::Mutex;

use super::{Packs, Place};

/// The level of zstd that groups are packed at. Source code packs 15 % smaller than at level 1, at 60 % of
/// the speed.
pub(crate) const GROUP_LEVEL: i32 = 3;

/// The most bytes of contents that are put into one group. More packs little smaller, and all of it is
/// unpacked for one of its members.
const GROUP_RAW: usize = 256 << 10;

/// The most bytes of groups that are kept unpacked.
const UNPACKED_MAX: usize = 16 << 20;

/// Cuts chunks into groups, in the order that they are in. One that is too large for a group with another
/// is one of its own.
pub(crate) fn group_up<'a, 'b>(
    members: &'b [(ChunkId, &'a [u8])],
) -> impl Iterator<Item = &'b [(ChunkId, &'a [u8])]> {
    let mut rest = members;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |(_, content): &&(ChunkId, &[u8])| {
            bytes += content.len();
            bytes <= GROUP_RAW
        };
        if rest.is_empty() {
            return None;
        }
        let count = rest.iter().take_while(fits).count();
        let count = count.clamp(1, ChunkGroup::COUNT_MAX);
        let (group, left) = rest.split_at_checked(count)?;
        rest = left;
        Some(group)
    })
}

/// The groups that were unpacked last, the one that was used last in front.
#[derive(Debug, Default)]
pub(super) struct Unpacked {
    kept: Mutex<VecDeque<(Place, Arc<GroupContents>)>>,
}

impl Unpacked {
    /// A group, read where it is not kept. `place` is of any of its members.
    pub(super) fn get(
        &self,
        place: Place,
        read: impl FnOnce() -> Result<GroupContents>,
    ) -> Result<Arc<GroupContents>> {
        let place = place.entry();
        {
            let mut kept = self.kept.lock();
            if let Some(at) = kept.iter().position(|(known, _)| *known == place)
                && let Some(found) = kept.remove(at)
            {
                let group = Arc::clone(&found.1);
                kept.push_front(found);
                return Ok(group);
            }
        }
        // Two may read the same at once: better than that all wait for one.
        let group = Arc::new(read()?);
        let mut kept = self.kept.lock();
        kept.push_front((place, Arc::clone(&group)));
        let mut bytes = 0;
        kept.retain(|(_, group)| {
            bytes += group.bytes();
            bytes <= UNPACKED_MAX
        });
        Ok(group)
    }

    /// Lets go of what was in a pack.
    pub(super) fn forget(&self, pack: u32) {
        self.kept.lock().retain(|(place, _)| place.pack != pack);
    }
}

impl Packs {
    /// Reads and unpacks the group that a chunk is in.
    pub(crate) fn read_group(&self, id: &ChunkId, place: Place) -> Result<GroupContents> {
        let entry = self.read_bytes(id, place)?;
        ChunkGroup::decode(&entry)
            .map_err(|e| e.at(format!("pack {} at byte {}", place.pack, place.at)))
    }

    /// How many chunks are in the entry that a chunk is in, as its header says.
    pub(crate) fn members(&self, id: &ChunkId, place: Place) -> Result<usize> {
        if place.member.is_none() {
            return Ok(1);
        }
        let len = ChunkGroup::HEADER_LEN as u32;
        let header = self.read_bytes(id, Place { len, ..place })?;
        let header = ChunkGroup::decode_header(&header)
            .map_err(|e| e.at(format!("pack {} at byte {}", place.pack, place.at)))?;
        Ok(header.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use milepost_codec::ChunkEntry;

    #[test]
    fn contents_are_grouped_up_to_a_limit_in_their_order() {
        let sizes = [
            100_000, 100_000, 100_000, 300_000, 1, 262_144, 5, 262_139, 1,
        ];
        let contents: Vec<Vec<u8>> = sizes.iter().map(|len| vec![7; *len]).collect();
        let members: Vec<_> = (contents.iter())
            .map(|c| (ChunkEntry::id_of(c), c.as_slice()))
            .collect();
        let groups: Vec<Vec<usize>> = group_up(&members)
            .map(|group| group.iter().map(|(_, c)| c.len()).collect())
            .collect();
        let expected: [&[usize]; 6] = [
            &[100_000, 100_000],
            &[100_000],
            &[300_000],
            &[1],
            &[262_144],
            &[5, 262_139],
        ];
        assert_eq!(groups[..6], expected);
        assert_eq!(groups[6..], [[1]]);
        let many = vec![(ChunkEntry::id_of(b""), &b""[..]); 5000];
        let counts: Vec<_> = group_up(&many).map(<[_]>::len).collect();
        assert_eq!(counts, [4096, 904]);
        assert_eq!(group_up(&[]).count(), 0);
    }

    #[test]
    fn what_was_unpacked_last_is_kept_up_to_a_limit() {
        let content = vec![0; 1 << 20];
        let members = [(ChunkEntry::id_of(&content), content.as_slice())];
        let mut entry = Vec::new();
        ChunkGroup::encode(&members, 1, &mut entry).unwrap();
        let unpacked = Unpacked::default();
        let reads = std::cell::Cell::new(0);
        let get = |at: u64, pack| {
            let place = Place {
                pack,
                at,
                len: 1,
                member: Some(9),
            };
            let read = || {
                reads.set(reads.get() + 1);
                ChunkGroup::decode(&entry)
            };
            unpacked.get(place, read).unwrap();
            reads.take()
        };
        assert_eq!((0..20).map(|at| get(at, 1)).sum::<i32>(), 20);
        assert_eq!((get(19, 1), get(6, 1)), (0, 0));
        assert_eq!(get(0, 1), 1, "the first went");
        assert_eq!(unpacked.kept.lock().len(), 15);
        assert_eq!(get(6, 1), 0, "it was used since");
        unpacked.forget(1);
        assert!(unpacked.kept.lock().is_empty());
    }
}
