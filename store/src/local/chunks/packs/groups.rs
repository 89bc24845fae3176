//! Groups of chunks: compressed together, read one by one.

use milepost_codec::{CHUNK_RAW_MAX, ChunkGroup, ChunkId, GroupContents, Result};

use crate::local::chunks::packs::Packs;
use crate::local::location::Location;

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

impl Packs {
    /// Reads and unpacks the group that a chunk is in.
    pub(crate) fn read_group(&self, id: &ChunkId, place: Location) -> Result<GroupContents> {
        let entry = self.read_bytes(id, place)?;
        ChunkGroup::decode(&entry)
            .map_err(|e| e.at(format!("pack {} at byte {}", place.file, place.at)))
    }

    /// Returns the group that a chunk is in, if the group is small and intact.
    pub(crate) fn small_group(&self, id: &ChunkId, place: Location) -> Option<GroupContents> {
        // An entry longer than this is also longer unpacked.
        let most = ChunkGroup::HEADER_LEN + SMALL_COUNT * ChunkGroup::ROW_LEN + SMALL_RAW;
        if place.member.is_none() || place.len as usize > most {
            return None;
        }
        let group = self.read_group(id, place).ok()?;
        is_small(group.len(), group.raw_len()).then_some(group)
    }

    /// Returns the number of chunks in the entry that a chunk is in, according to its header.
    pub(crate) fn members(&self, id: &ChunkId, place: Location) -> Result<usize> {
        if place.member.is_none() {
            return Ok(1);
        }
        let len = ChunkGroup::HEADER_LEN as u32;
        let header = self.read_bytes(id, Location { len, ..place })?;
        let header = ChunkGroup::decode_header(&header)
            .map_err(|e| e.at(format!("pack {} at byte {}", place.file, place.at)))?;
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
}
