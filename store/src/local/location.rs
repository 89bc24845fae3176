//! Locations in packs and block files: the values of index entries.

use milepost_codec::{Error, Result};

/// The location of a chunk in a pack, or of a run in a block file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Location {
    /// The number of the file.
    pub(crate) file: u32,
    /// The first byte of the entry.
    pub(crate) at: u64,
    /// Bytes of the entry: a chunk, a group of chunks, or a block.
    pub(crate) len: u32,
    /// The index of the chunk in a group, or of the run in a block.
    pub(crate) member: Option<u16>,
}

impl Location {
    /// Returns the location of the whole entry.
    pub(crate) fn entry(&self) -> Self {
        Self { member: None, ..*self }
    }

    /// Returns 16 bytes, or 18 for a member of an entry.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = self.file.to_le_bytes().to_vec();
        out.extend_from_slice(&self.at.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
        if let Some(member) = self.member {
            out.extend_from_slice(&member.to_le_bytes());
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let (file, rest) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (at, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
        let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let member = match rest {
            [] => None,
            [low, high] => Some(u16::from_le_bytes([*low, *high])),
            _ => return Err(damaged()),
        };
        Ok(Self {
            file: u32::from_le_bytes(*file),
            at: u64::from_le_bytes(*at),
            len: u32::from_le_bytes(*len),
            member,
        })
    }
}

fn damaged() -> Error {
    Error::corrupt("location in a file", "16 or 18 bytes", "others")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_with_its_member_or_without() {
        for member in [None, Some(0), Some(4095)] {
            let place = Location { file: 7, at: 1 << 40, len: 300, member };
            let bytes = place.encode();
            assert_eq!(bytes.len(), if member.is_some() { 18 } else { 16 });
            assert_eq!(Location::decode(&bytes).unwrap(), place);
            assert_eq!(place.entry().member, None);
        }
        for len in [0, 15, 17, 19] {
            assert!(Location::decode(&vec![0; len]).is_err());
        }
    }
}
