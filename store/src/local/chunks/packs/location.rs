//! Locations of chunks in packs: the values of their index entries.

use milepost_codec::{Error, Result};

/// The location of a chunk: a pack, a byte, and the member if the entry is a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChunkLocation {
    pub(crate) pack: u32,
    pub(crate) at: u64,
    /// Bytes of the entry.
    pub(crate) len: u32,
    /// The index of the member, in a group.
    pub(crate) member: Option<u16>,
}

impl ChunkLocation {
    /// Returns the location of the whole entry.
    pub(crate) fn entry(&self) -> Self {
        Self { member: None, ..*self }
    }

    /// Returns 16 bytes, or 18 for a member.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = self.pack.to_le_bytes().to_vec();
        out.extend_from_slice(&self.at.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
        if let Some(member) = self.member {
            out.extend_from_slice(&member.to_le_bytes());
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let (pack, rest) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (at, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
        let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let member = match rest {
            [] => None,
            [low, high] => Some(u16::from_le_bytes([*low, *high])),
            _ => return Err(damaged()),
        };
        Ok(Self {
            pack: u32::from_le_bytes(*pack),
            at: u64::from_le_bytes(*at),
            len: u32::from_le_bytes(*len),
            member,
        })
    }
}

fn damaged() -> Error {
    Error::corrupt("place of a chunk", "16 or 18 bytes", "others")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_with_its_member_or_without() {
        for member in [None, Some(0), Some(4095)] {
            let place = ChunkLocation { pack: 7, at: 1 << 40, len: 300, member };
            let bytes = place.encode();
            assert_eq!(bytes.len(), if member.is_some() { 18 } else { 16 });
            assert_eq!(ChunkLocation::decode(&bytes).unwrap(), place);
            assert_eq!(place.entry().member, None);
        }
        for len in [0, 15, 17, 19] {
            assert!(ChunkLocation::decode(&vec![0; len]).is_err());
        }
    }
}
