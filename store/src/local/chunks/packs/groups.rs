//! Groups of chunks: compressed together, read one by one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use milepost_codec::{CHUNK_RAW_MAX, ChunkGroup, ChunkId, GroupContents, Result};
use parking_lot::Mutex;

use crate::local::chunks::packs::{ChunkLocation, Packs};

/// The zstd level of groups. Source code packs 15 % smaller than at level 1, at 60 % of the speed.
/// For 105 MB of crates, in groups of 256 KiB, level 3 gives 21.6 % at 130 MB/s, level 4 20.3 % at
/// 74, level 5 19.9 % at 64, level 7 19.4 % at 45. For generated text, level 3 gives 30.1 % at 90
/// MB/s, level 5 28.9 % at 32.
pub(crate) const GROUP_LEVEL: i32 = 3;

/// The maximum bytes of contents in a group when it is stored. Reading one member unpacks all of
/// them. With 256 KiB the same crates pack to 21.6 %, with 512 KiB to 20.5 % and with 1 MiB to 19.1
/// %; generated text packs to 30.1, 29.3 and 29.0 %. With 1 MiB, restoring five files of a capture
/// takes nearly twice the time.
pub(crate) const GROUP_RAW: usize = 512 << 10;

/// The maximum bytes of contents in a group that a compaction gathers: the limit of the format.
pub(crate) const GATHERED_RAW: usize = CHUNK_RAW_MAX;

/// The maximum contents of a small group, in bytes and in members. A compaction gathers small
/// groups.
const SMALL_RAW: usize = 128 << 10;
const SMALL_COUNT: usize = ChunkGroup::COUNT_MAX / 4;

// Gathering fills a group until one more member would exceed the limit: the result is not small.
const _: () = assert!(GATHERED_RAW > 2 * SMALL_RAW);

/// The maximum bytes of groups that stay unpacked in memory, unless a limit is set.
const UNPACKED_MAX: usize = 16 << 20;

/// Splits chunks into groups of up to `most` bytes of contents, in the given order. A chunk larger
/// than that becomes a group of one member.
pub(crate) fn group_up<'a, 'b>(
    members: &'b [(ChunkId, &'a [u8])],
    most: usize,
) -> impl Iterator<Item = &'b [(ChunkId, &'a [u8])]> {
    let mut rest = members;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |(_, content): &&(ChunkId, &[u8])| {
            bytes += content.len();
            bytes <= most
        };
        if rest.is_empty() {
            return None;
        }
        let count = rest.iter().take_while(fits).count();
        let count = count.clamp(1, ChunkGroup::COUNT_MAX);
        let (group, following) = rest.split_at_checked(count)?;
        rest = following;
        Some(group)
    })
}

/// Returns `true` if a group with `count` members of `bytes` bytes together is small. Gathering
/// fills groups beyond that size, so gathered chunks are not gathered again.
pub(crate) fn is_small(count: usize, bytes: usize) -> bool {
    count <= SMALL_COUNT && bytes <= SMALL_RAW
}

/// The groups that were unpacked last, most recently used first.
#[derive(Debug)]
pub(crate) struct Unpacked {
    cached: Mutex<VecDeque<(ChunkLocation, Arc<GroupContents>)>>,
    limit: AtomicUsize,
}

impl Default for Unpacked {
    fn default() -> Self {
        Self { cached: Mutex::default(), limit: UNPACKED_MAX.into() }
    }
}

impl Unpacked {
    /// Sets the maximum bytes of groups; there is always room for one.
    pub(crate) fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes.max(CHUNK_RAW_MAX), Ordering::Relaxed);
    }

    /// Returns a group, and reads it if it is not cached. `place` is the location of any member.
    pub(crate) fn get(
        &self,
        place: ChunkLocation,
        read: impl FnOnce() -> Result<GroupContents>,
    ) -> Result<Arc<GroupContents>> {
        let place = place.entry();
        {
            let mut cached = self.cached.lock();
            if let Some(at) = cached.iter().position(|(location, _)| *location == place)
                && let Some(found) = cached.remove(at)
            {
                let group = Arc::clone(&found.1);
                cached.push_front(found);
                return Ok(group);
            }
        }
        // Two threads may read the same group at once; that is better than all threads waiting for
        // one.
        let group = Arc::new(read()?);
        let mut cached = self.cached.lock();
        cached.push_front((place, Arc::clone(&group)));
        let (mut bytes, limit) = (0, self.limit.load(Ordering::Relaxed));
        cached.retain(|(_, group)| {
            bytes += group.bytes();
            bytes <= limit
        });
        Ok(group)
    }

    /// Removes the groups of a pack.
    pub(crate) fn forget(&self, pack: u32) {
        self.cached.lock().retain(|(place, _)| place.pack != pack);
    }
}

impl Packs {
    /// Reads and unpacks the group that a chunk is in.
    pub(crate) fn read_group(&self, id: &ChunkId, place: ChunkLocation) -> Result<GroupContents> {
        let entry = self.read_bytes(id, place)?;
        ChunkGroup::decode(&entry)
            .map_err(|e| e.at(format!("pack {} at byte {}", place.pack, place.at)))
    }

    /// Returns the group that a chunk is in, if the group is small and intact.
    pub(crate) fn small_group(&self, id: &ChunkId, place: ChunkLocation) -> Option<GroupContents> {
        // An entry longer than this is also longer unpacked.
        let most = ChunkGroup::HEADER_LEN + SMALL_COUNT * ChunkGroup::ROW_LEN + SMALL_RAW;
        if place.member.is_none() || place.len as usize > most {
            return None;
        }
        let group = self.read_group(id, place).ok()?;
        is_small(group.len(), group.raw_len()).then_some(group)
    }

    /// Returns the number of chunks in the entry that a chunk is in, according to its header.
    pub(crate) fn members(&self, id: &ChunkId, place: ChunkLocation) -> Result<usize> {
        if place.member.is_none() {
            return Ok(1);
        }
        let len = ChunkGroup::HEADER_LEN as u32;
        let header = self.read_bytes(id, ChunkLocation { len, ..place })?;
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
        let sizes = [200_000, 200_000, 200_000, 600_000, 1, 524_288, 5, 524_283, 1];
        let contents: Vec<Vec<u8>> = sizes.iter().map(|len| vec![7; *len]).collect();
        let members: Vec<_> =
            (contents.iter()).map(|c| (ChunkEntry::id_of(c), c.as_slice())).collect();
        let groups: Vec<Vec<usize>> = group_up(&members, GROUP_RAW)
            .map(|group| group.iter().map(|(_, c)| c.len()).collect())
            .collect();
        let expected: [&[usize]; 6] =
            [&[200_000, 200_000], &[200_000], &[600_000], &[1], &[524_288], &[5, 524_283]];
        assert_eq!(groups[..6], expected);
        assert_eq!(groups[6..], [[1]]);
        let many = vec![(ChunkEntry::id_of(b""), &b""[..]); 5000];
        let counts: Vec<_> = group_up(&many, GROUP_RAW).map(<[_]>::len).collect();
        assert_eq!(counts, [4096, 904]);
        assert_eq!(group_up(&[], GROUP_RAW).count(), 0);
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
            let place = ChunkLocation { pack, at, len: 1, member: Some(9) };
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
        assert_eq!(unpacked.cached.lock().len(), 15);
        assert_eq!(get(6, 1), 0, "it was used since");
        unpacked.forget(1);
        assert!(unpacked.cached.lock().is_empty());
    }
}
