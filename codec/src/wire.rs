//! Byte conventions of all stored types, and all calls of bincode.
//!
//! Structures are encoded in field order: integers above one byte as variable-length integers
//! (below 251 one byte; 251, 252, 253 announce 2, 4, 8 little-endian bytes; signed ones zigzagged
//! first), strings and byte strings as length and bytes, options as 0 or 1 and the value, sequences
//! as count and items, enumerations as their variant index from 0.

use bincode::{Decode, Encode};

use crate::error::{Error, ErrorKind, Result};

/// The version of the formats that this crate writes. A reader refuses a higher one.
pub const FORMAT_VERSION: u16 = 1;

/// Encodes plain data, which cannot fail. `T` has no maps of unspecified order.
pub fn encode<T: Encode>(value: &T) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    encode_into(value, &mut out);
    out
}

pub(crate) fn encode_into<T: Encode>(value: &T, out: &mut Vec<u8>) {
    let encoded = bincode::encode_into_std_write(value, out, bincode::config::standard());
    assert!(encoded.is_ok(), "plain data encodes into memory");
}

/// Encodes plain data into `room`. Returns the bytes written.
///
/// # Panics
///
/// Panics if the room is too small.
pub fn encode_in<'a, T: Encode>(value: &T, room: &'a mut [u8]) -> &'a [u8] {
    let written = bincode::encode_into_slice(value, &mut *room, bincode::config::standard());
    let written = written.expect("the room is large enough");
    room.get(..written).expect("what was written is in the room")
}

/// Decodes `T` from the start of `bytes`. Also returns the number of bytes read.
///
/// bincode allocates the claimed length before it reads the items, up to a limit fixed at compile
/// time. The limit is therefore chosen by the size of the input: a hostile length fails instead of
/// allocating more than about 64 times the input. A valid list needs at most 24 times (empty
/// strings). The steps of the ladder double that, and items already read may return 16 times to the
/// limit for the next claim.
pub(crate) fn decode_prefix<T: Decode<()>>(bytes: &[u8], what: &str) -> Result<(T, usize)> {
    macro_rules! ladder {
        ($($limit:literal)*) => {
            match bytes.len().saturating_mul(24).saturating_add(512) {
                $(n if n <= $limit => bincode::decode_from_slice(
                    bytes, bincode::config::standard().with_limit::<$limit>()),)*
                _ => bincode::decode_from_slice(
                    bytes, bincode::config::standard().with_limit::<0x1_0000_0000>()),
            }
        };
    }
    let decoded = ladder!(
        0x1000 0x8000 0x1_0000 0x2_0000 0x4_0000 0x8_0000 0x10_0000 0x20_0000 0x40_0000 0x80_0000
        0x100_0000 0x200_0000 0x400_0000 0x800_0000 0x1000_0000 0x2000_0000 0x4000_0000
    );
    decoded.map_err(|e| {
        Error::corrupt(
            what,
            "a complete value",
            format!("{} bytes that do not decode", bytes.len()),
        )
        .with_source(e.to_string())
    })
}

/// Decodes `T` from all of `bytes`.
///
/// # Errors
///
/// `Corrupt`: the bytes are no `T`, or there are more.
pub fn decode<T: Decode<()>>(bytes: &[u8], what: &str) -> Result<T> {
    let (value, used) = decode_prefix(bytes, what)?;
    if used != bytes.len() {
        let left = bytes.len().saturating_sub(used);
        return Err(Error::corrupt(what, "no bytes after it", format!("{left} more")));
    }
    Ok(value)
}

/// Appends a variable-length integer: below 251 one byte; 251, 252 and 253 announce 2, 4 and 8
/// little-endian bytes.
pub fn put_varint(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=250 => out.push(value as u8),
        251..=0xFFFF => {
            out.push(251);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x1_0000..=0xFFFF_FFFF => {
            out.push(252);
            out.extend_from_slice(&(value as u32).to_le_bytes());
        }
        _ => {
            out.push(253);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// Returns the number of bytes that [`put_varint`] appends.
pub(crate) fn varint_len(value: u64) -> usize {
    match value {
        0..=250 => 1,
        251..=0xFFFF => 3,
        0x1_0000..=0xFFFF_FFFF => 5,
        _ => 9,
    }
}

/// A cursor over untrusted bytes. Every read is bounds-checked; nothing is copied.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// Creates a reader at the start of `bytes`. Errors use `what` as the name of the data.
    pub fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { bytes, what }
    }

    /// Returns the unread bytes.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns `true` if all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Reads `len` bytes. This and all reads below fail with `Corrupt` if there are fewer.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let Some((head, tail)) = self.bytes.split_at_checked(len) else {
            let found = format!("{} left", self.bytes.len());
            return Err(Error::corrupt(self.what, format!("{len} bytes"), found));
        };
        self.bytes = tail;
        Ok(head)
    }

    /// Reads `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.take(N)?;
        let mut out = [0; N];
        out.copy_from_slice(bytes);
        Ok(out)
    }

    /// Reads one byte.
    pub fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[b]| b)
    }

    /// Reads two bytes, little-endian.
    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Reads four bytes, little-endian.
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads eight bytes, little-endian.
    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a variable-length integer, see [`put_varint`].
    pub fn varint(&mut self) -> Result<u64> {
        match self.u8()? {
            n @ 0..=250 => Ok(u64::from(n)),
            251 => self.u16().map(u64::from),
            252 => self.u32().map(u64::from),
            253 => self.u64(),
            n => Err(Error::corrupt(self.what, "an integer up to 64 bits", format!("marker {n}"))),
        }
    }

    /// Reads a variable-length integer in its shortest form. Hashed contents have exactly one form.
    pub(crate) fn shortest(&mut self) -> Result<u64> {
        let before = self.bytes.len();
        let n = self.varint()?;
        let took = before.saturating_sub(self.bytes.len());
        if took != varint_len(n) {
            let expected = format!("{n} in {} bytes", varint_len(n));
            return Err(Error::corrupt(self.what, expected, took));
        }
        Ok(n)
    }

    /// Reads a variable-length integer of at most 32 bits in its shortest form.
    pub(crate) fn shortest_u32(&mut self) -> Result<u32> {
        let n = self.shortest()?;
        u32::try_from(n).map_err(|_| self.corrupt("a 32-bit number", n))
    }

    /// Reads a count of items of at least `least` bytes each. The items must fit into the unread
    /// bytes.
    pub(crate) fn count(&mut self, least: usize) -> Result<usize> {
        let count = self.shortest()?;
        match usize::try_from(count) {
            Ok(n) if n.saturating_mul(least) <= self.bytes.len() => Ok(n),
            _ => {
                let found = format!("{} bytes left", self.bytes.len());
                Err(Error::corrupt(self.what, format!("{count} items"), found))
            }
        }
    }

    /// Reads the flag of an option.
    pub(crate) fn flag(&mut self) -> Result<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            n => Err(Error::corrupt(self.what, "0 or 1", n)),
        }
    }

    /// Checks that all bytes were read.
    pub(crate) fn end(&self) -> Result<()> {
        match self.bytes.len() {
            0 => Ok(()),
            left => Err(self.corrupt("no bytes after it", format!("{left} more"))),
        }
    }

    /// Creates a `Corrupt` error about the data being read.
    pub(crate) fn corrupt(
        &self,
        expected: impl std::fmt::Display,
        found: impl std::fmt::Display,
    ) -> Error {
        Error::corrupt(self.what, expected, found)
    }

    /// Reads a length, which must fit into the unread bytes.
    pub fn varint_len(&mut self) -> Result<usize> {
        let len = self.varint()?;
        match usize::try_from(len) {
            Ok(len) if len <= self.bytes.len() => Ok(len),
            _ => {
                let found = format!("{} left", self.bytes.len());
                Err(Error::corrupt(self.what, format!("{len} bytes"), found))
            }
        }
    }

    /// Reads a variable-length integer of at most 32 bits.
    pub fn varint_u32(&mut self) -> Result<u32> {
        let n = self.varint()?;
        u32::try_from(n).map_err(|_| Error::corrupt(self.what, "a 32-bit number", n))
    }
}

/// Refuses a format version that this crate does not support.
pub(crate) fn check_version(what: &str, version: u16) -> Result<()> {
    if version == 0 || version > FORMAT_VERSION {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "{what} has format {version}, this version of Milepost reads up to {FORMAT_VERSION}"
            ),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_take_the_documented_bytes() {
        for (value, len) in [(0, 1), (250, 1), (251, 3), (65535, 3), (65536, 5), (1 << 40, 9)] {
            let mut ours = Vec::new();
            put_varint(&mut ours, value);
            assert_eq!(ours.len(), len);
            assert_eq!(varint_len(value), len);
            assert_eq!(Reader::new(&ours, "test").shortest().unwrap(), value);
            assert_eq!(ours, encode(&value), "bincode and we agree on {value}");
            assert_eq!(Reader::new(&ours, "test").varint().unwrap(), value);
        }
    }

    #[test]
    fn a_hostile_length_is_refused_before_it_is_allocated() {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, u64::MAX);
        assert_eq!(decode::<Vec<u8>>(&bytes, "test").unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(decode::<String>(&bytes, "test").unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(decode::<Vec<u64>>(&bytes, "test").unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn a_number_that_is_longer_than_it_has_to_be_has_no_shortest_form() {
        for bytes in [&[251, 250, 0][..], &[252, 1, 0, 0, 0], &[253, 0, 0, 0, 0, 1, 0, 0]] {
            assert!(Reader::new(bytes, "test").shortest().is_err());
        }
        assert_eq!(Reader::new(&[251, 251, 0], "test").shortest().unwrap(), 251);
    }

    #[test]
    fn bytes_after_the_value_are_refused() {
        assert!(decode::<u8>(&[1, 2], "test").is_err());
    }
}
