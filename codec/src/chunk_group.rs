//! Groups of chunks: small chunks compressed together, as stored in packs. Nothing refers to a
//! group; each member is addressed by its own id.
//!
//! ```text
//!  0  magic     "MPCG"
//!  4  flags     u16: 1 = zstd
//!  6  count     u16, 1 to 4096
//!  8  raw       u32, bytes of the contents together
//! 12  stored    u32, bytes of the payload
//! 16  check     16 bytes: BLAKE3 of bytes 0 to 16, the table and the payload, cut to 16
//! 32  table     count times: id 32 bytes, raw u32, zero u32
//!     payload   the contents one after another, compressed together
//! ```
//!
//! Numbers are little-endian. The check detects a torn entry without decompressing it. A member's
//! content is compared with its id when it is read. Chunks that list pieces are never in a group: a
//! group has no flag for them.

use crate::chunk::{CHUNK_RAW_MAX, ChunkEntry};
use crate::compress::{check, pack_at, unpack};
use crate::error::{Error, Result};
use crate::id::ChunkId;
use crate::wire::Reader;

const MAGIC: &[u8; 4] = b"MPCG";
const CHECKED_LEN: usize = 16;
const ROW_LEN: usize = 40;
const FLAG_PACKED: u16 = 1;

/// Header of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkGroup {
    packed: bool,
    count: u16,
    raw_len: u32,
    stored_len: u32,
    check: [u8; 16],
}

/// The decompressed contents of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupContents {
    /// The id, and the start and end of the content in `raw`.
    members: Vec<(ChunkId, u32, u32)>,
    raw: Vec<u8>,
}

impl ChunkGroup {
    /// The first bytes of an entry.
    pub const MAGIC: &[u8] = MAGIC;

    /// Length of the header, in bytes.
    pub const HEADER_LEN: usize = 32;

    /// Length of a member's row in the table, in bytes.
    pub const ROW_LEN: usize = ROW_LEN;

    /// The most members of a group.
    pub const COUNT_MAX: usize = 4096;

    /// The most bytes of an entry.
    pub const ENTRY_MAX: usize = Self::HEADER_LEN + Self::COUNT_MAX * ROW_LEN + CHUNK_RAW_MAX;

    /// Appends a group to `out`, compressed at a zstd level.
    ///
    /// # Errors
    ///
    /// `Invalid`: there are no members, or more than [`ChunkGroup::COUNT_MAX`], or the contents
    /// together are over [`CHUNK_RAW_MAX`].
    pub fn encode(members: &[(ChunkId, &[u8])], level: i32, out: &mut Vec<u8>) -> Result<()> {
        let raw_len: usize = members.iter().map(|(_, content)| content.len()).sum();
        let count = u16::try_from(members.len()).unwrap_or(u16::MAX);
        if !(1..=Self::COUNT_MAX).contains(&members.len()) || raw_len > CHUNK_RAW_MAX {
            return Err(Error::invalid(format!(
                "a group has 1 to {} chunks and at most {CHUNK_RAW_MAX} bytes, not {} of {raw_len}",
                Self::COUNT_MAX,
                members.len()
            )));
        }
        let mut raw = Vec::with_capacity(raw_len);
        let mut table = Vec::with_capacity(members.len() * ROW_LEN);
        for (id, content) in members {
            raw.extend_from_slice(content);
            table.extend_from_slice(&id.0);
            table.extend_from_slice(&(content.len() as u32).to_le_bytes());
            table.extend_from_slice(&0_u32.to_le_bytes());
        }
        let packed = pack_at(&raw, level);
        let payload = packed.as_deref().unwrap_or(&raw);
        let flags = if packed.is_some() { FLAG_PACKED } else { 0 };
        let start = out.len();
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(&(raw_len as u32).to_le_bytes());
        out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        let sum = check(&[out.split_at(start).1, &table, payload]);
        out.extend_from_slice(&sum);
        out.extend_from_slice(&table);
        out.extend_from_slice(payload);
        Ok(())
    }

    /// Decodes a header, before the rest of the entry is read.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the bytes are not a header, or claim more than a group may have.
    pub fn decode_header(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes, "group of chunks");
        if reader.array::<4>()? != *MAGIC {
            return Err(reader.corrupt("its magic", "other bytes"));
        }
        let (flags, count) = (reader.u16()?, reader.u16()?);
        let (raw_len, stored_len) = (reader.u32()?, reader.u32()?);
        if flags > FLAG_PACKED
            || !(1..=Self::COUNT_MAX).contains(&usize::from(count))
            || raw_len as usize > CHUNK_RAW_MAX
            || stored_len > raw_len
            || (flags & FLAG_PACKED == 0 && stored_len != raw_len)
        {
            let found = format!("{count} chunks of {raw_len} bytes in {stored_len}");
            return Err(reader.corrupt("lengths that fit", found));
        }
        Ok(Self {
            packed: flags & FLAG_PACKED != 0,
            count,
            raw_len,
            stored_len,
            check: reader.array()?,
        })
    }

    /// Returns the number of members.
    pub fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// Returns the length of the table after the header, in bytes.
    pub fn table_len(&self) -> usize {
        usize::from(self.count) * ROW_LEN
    }

    /// Returns the length of the whole entry, in bytes.
    pub fn entry_len(&self) -> usize {
        Self::HEADER_LEN + self.table_len() + self.stored_len as usize
    }

    /// Returns `true` if `entry`, all of its bytes, is complete and undamaged.
    pub fn is_intact(&self, entry: &[u8]) -> bool {
        let (header, rest) = entry.split_at_checked(Self::HEADER_LEN).unwrap_or_default();
        let checked = header.get(..CHECKED_LEN).unwrap_or_default();
        entry.len() == self.entry_len() && check(&[checked, rest]) == self.check
    }

    /// Returns the ids in the table of an entry, in order. Reads the header and the table only, and
    /// does not verify the check.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the header or the table is invalid.
    pub fn ids(entry: &[u8]) -> Result<Vec<ChunkId>> {
        let header = Self::decode_header(entry)?;
        let table = header.table(entry)?;
        Ok(table.into_iter().map(|(id, _, _)| id).collect())
    }

    /// Decompresses an entry, to at most the size that its header claims.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the entry does not match its check, or the table does not match the contents.
    pub fn decode(entry: &[u8]) -> Result<GroupContents> {
        let header = Self::decode_header(entry)?;
        if !header.is_intact(entry) {
            return Err(damaged("bytes that match its check", "other bytes"));
        }
        let members = header.table(entry)?;
        let at = Self::HEADER_LEN + header.table_len();
        let payload = entry.split_at_checked(at).unwrap_or_default().1;
        let raw = match header.packed {
            true => unpack(payload, header.raw_len as usize, "group of chunks")?,
            false => payload.to_vec(),
        };
        Ok(GroupContents { members, raw })
    }

    /// Decodes the table: ids, and the start and end of each content.
    fn table(&self, entry: &[u8]) -> Result<Vec<(ChunkId, u32, u32)>> {
        let table = entry.get(Self::HEADER_LEN..).unwrap_or_default();
        let Some((table, _)) = table.split_at_checked(self.table_len()) else {
            return Err(damaged("a table", format!("{} bytes", table.len())));
        };
        let mut reader = Reader::new(table, "group of chunks");
        let mut members = Vec::with_capacity(usize::from(self.count));
        let mut at = 0_u32;
        for _ in 0..self.count {
            let (id, len, zero) = (ChunkId(reader.array()?), reader.u32()?, reader.u32()?);
            let end = at.checked_add(len).filter(|end| *end <= self.raw_len);
            let Some(end) = end.filter(|_| zero == 0) else {
                return Err(reader.corrupt(format!("contents of {} bytes", self.raw_len), "more"));
            };
            members.push((id, at, end));
            at = end;
        }
        if at != self.raw_len {
            return Err(reader.corrupt(format!("contents of {} bytes", self.raw_len), at));
        }
        Ok(members)
    }
}

impl GroupContents {
    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns `true` if there are no members. A decoded group has at least one.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the total size of the contents, in bytes.
    pub fn raw_len(&self) -> usize {
        self.raw.len()
    }

    /// Returns the size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.raw.len() + self.members.len() * size_of::<(ChunkId, u32, u32)>()
    }

    /// Returns the member at `n`, checked against its id.
    ///
    /// # Errors
    ///
    /// `Corrupt`: there is no such member, or its content has another id.
    pub fn get(&self, n: usize) -> Result<(ChunkId, &[u8])> {
        let Some((id, from, to)) = self.members.get(n) else {
            return Err(damaged(format!("{} members", n + 1), self.members.len()));
        };
        let content = (self.raw.get(*from as usize..*to as usize)).unwrap_or_default();
        if ChunkEntry::id_of(content) != *id {
            let place = format!("chunk {id} in a group");
            return Err(Error::corrupt(place, "content that matches its id", "other bytes"));
        }
        Ok((*id, content))
    }
}

fn damaged(expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Error {
    Error::corrupt("group of chunks", expected, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn group(contents: &[&[u8]]) -> Result<Vec<u8>> {
        let members: Vec<_> = contents.iter().map(|c| (ChunkEntry::id_of(c), *c)).collect();
        let mut out = Vec::new();
        ChunkGroup::encode(&members, 3, &mut out).map(|()| out)
    }

    #[test]
    fn members_come_back_by_their_place() {
        let contents: [&[u8]; 3] = [b"one", b"", &[7; 5000]];
        let entry = group(&contents).unwrap();
        let header = ChunkGroup::decode_header(&entry).unwrap();
        assert_eq!((header.table_len(), header.entry_len()), (120, entry.len()));
        assert!(header.is_intact(&entry));
        let read = ChunkGroup::decode(&entry).unwrap();
        for (n, content) in contents.into_iter().enumerate() {
            assert_eq!(read.get(n).unwrap(), (ChunkEntry::id_of(content), content));
        }
        assert_eq!(read.get(3).unwrap_err().kind(), ErrorKind::Corrupt);
        let ids: Vec<_> = contents.map(ChunkEntry::id_of).into();
        assert_eq!(ChunkGroup::ids(&entry).unwrap(), ids);
    }

    #[test]
    fn a_group_has_limits() {
        let half = vec![1; CHUNK_RAW_MAX / 2];
        assert!(group(&[&half, &half]).is_ok());
        for bad in [vec![], vec![&half[..], &half, b"x"], vec![b"x"; 4097]] {
            assert_eq!(group(&bad).unwrap_err().kind(), ErrorKind::Invalid);
        }
        let largest: Vec<_> = (0..4096_u32).map(|n| blake3::hash(&n.to_le_bytes())).collect();
        let largest: Vec<&[u8]> = largest.iter().map(|hash| &hash.as_bytes()[..]).collect();
        let entry = group(&largest).unwrap();
        assert!(entry.len() <= ChunkGroup::ENTRY_MAX);
        assert_eq!(ChunkGroup::decode(&entry).unwrap().len(), 4096);
    }

    #[test]
    fn a_member_that_is_not_what_its_id_says_is_corrupt_and_the_others_are_not() {
        let members = [(ChunkEntry::id_of(b"one"), &b"two"[..]), (ChunkEntry::id_of(b"x"), b"x")];
        let mut entry = Vec::new();
        ChunkGroup::encode(&members, 3, &mut entry).unwrap();
        let read = ChunkGroup::decode(&entry).unwrap();
        assert_eq!(read.get(0).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(read.get(1).unwrap().1, b"x");
    }
}
