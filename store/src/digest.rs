//! Digests of sets: the number of entries, and the sum of a hash of each. They reveal entries that
//! sled lost, and compare two copies.

use milepost_codec::{Error, Result};

use crate::index::keys::{self, KeyKind};

/// A sum over entries that does not depend on their order, so it can be updated as entries come and
/// go. It finds accidents; the chains find edits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Digest {
    count: u64,
    sum: [u64; 4],
}

impl Digest {
    /// Length of an encoded digest, in bytes.
    pub const LEN: usize = 40;

    /// Adds an entry.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        self.count = self.count.wrapping_add(1);
        for (sum, part) in self.sum.iter_mut().zip(words(key, value)) {
            *sum = sum.wrapping_add(part);
        }
    }

    /// Removes an entry.
    pub fn remove(&mut self, key: &[u8], value: &[u8]) {
        self.count = self.count.wrapping_sub(1);
        for (sum, part) in self.sum.iter_mut().zip(words(key, value)) {
            *sum = sum.wrapping_sub(part);
        }
    }

    /// Adds all entries of another digest.
    pub fn join(&mut self, other: &Self) {
        self.count = self.count.wrapping_add(other.count);
        for (sum, part) in self.sum.iter_mut().zip(other.sum) {
            *sum = sum.wrapping_add(part);
        }
    }

    /// Returns the number of entries.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = self.count.to_le_bytes().to_vec();
        for word in self.sum {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out
    }

    fn decode(bytes: &[u8; Self::LEN]) -> Self {
        let mut words = [0; Self::LEN / 8];
        for (to, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *to = word(bytes);
        }
        let [count, sum @ ..] = words;
        Self { count, sum }
    }
}

/// A part of sled's entries that is checked separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestPart {
    /// Entries that find tasks, lineages and checkpoints: small, and trusted without another check.
    Index,
    /// Idempotency keys: a missing one would deny that an append was made.
    Keys,
    /// Blocks of events: each has its own checks, and a read notices a missing one.
    Blocks,
}

impl DigestPart {
    /// All parts.
    pub const ALL: [Self; 3] = [Self::Index, Self::Keys, Self::Blocks];

    /// Returns the part that an entry belongs to, or `None` if no record accounts for it.
    fn of(key: &[u8]) -> Option<Self> {
        keys::is_counted(key).then(|| match key.first() {
            Some(kind) if *kind == KeyKind::Block as u8 => Self::Blocks,
            Some(kind) if *kind == KeyKind::Key as u8 => Self::Keys,
            _ => Self::Index,
        })
    }

    /// Returns the prefixes of all keys in the part.
    pub fn prefixes(self) -> impl Iterator<Item = [u8; 1]> {
        let kinds = (0..=u8::MAX).map(|kind| [kind]);
        kinds.filter(move |prefix| Self::of(prefix) == Some(self))
    }
}

/// The digests of sled's entries, by part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Digests([Digest; 3]);

impl Digests {
    /// Length of encoded digests, in bytes.
    pub const LEN: usize = 3 * Digest::LEN;

    /// Returns the digest of a part.
    pub fn of(&self, part: DigestPart) -> Digest {
        let [index, keys, blocks] = self.0;
        match part {
            DigestPart::Index => index,
            DigestPart::Keys => keys,
            DigestPart::Blocks => blocks,
        }
    }

    fn part_of(&mut self, key: &[u8]) -> Option<&mut Digest> {
        let [index, keys, blocks] = &mut self.0;
        DigestPart::of(key).map(|part| match part {
            DigestPart::Index => index,
            DigestPart::Keys => keys,
            DigestPart::Blocks => blocks,
        })
    }

    /// Adds an entry, if a record accounts for it.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        if let Some(digest) = self.part_of(key) {
            digest.add(key, value);
        }
    }

    /// Removes an entry, if a record accounted for it.
    pub fn remove(&mut self, key: &[u8], value: &[u8]) {
        if let Some(digest) = self.part_of(key) {
            digest.remove(key, value);
        }
    }

    /// Encodes the digests.
    pub fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(Digest::encode).collect()
    }

    /// Decodes digests.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the bytes have the wrong length.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mismatch = || Error::corrupt("digests of sled", Self::LEN, bytes.len());
        let (digests, []) = bytes.as_chunks::<{ Digest::LEN }>() else {
            return Err(mismatch());
        };
        match digests {
            [index, keys, blocks] => Ok(Self([index, keys, blocks].map(Digest::decode))),
            _ => Err(mismatch()),
        }
    }
}

fn words(key: &[u8], value: &[u8]) -> [u64; 4] {
    let mut hasher = blake3::Hasher::new();
    // The value first: BLAKE3 hashes input that is aligned to its chunks many chunks at a time.
    hasher.update(value).update(key).update(&(key.len() as u64).to_le_bytes());
    let mut out = [0; 4];
    for (out, bytes) in out.iter_mut().zip(hasher.finalize().as_bytes().chunks_exact(8)) {
        *out = word(bytes);
    }
    out
}

fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk::<8>().map_or(0, |b| u64::from_le_bytes(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_in_any_order_and_gone_again_give_the_same() {
        let (mut one, mut other) = (Digest::default(), Digest::default());
        one.add(b"a", b"1");
        one.add(b"b", b"2");
        other.add(b"b", b"2");
        other.add(b"c", b"3");
        other.add(b"a", b"1");
        assert_ne!(one, other);
        other.remove(b"c", b"3");
        assert_eq!(one, other);
        let both = Digests([one, other, Digest::default()]);
        assert_eq!(Digests::decode(&both.encode()).ok(), Some(both));
        let mut shifted = Digest::default();
        shifted.add(b"a1", b"");
        shifted.add(b"b", b"2");
        assert_ne!(one, shifted, "where the key ends is part of it");
    }
}
