//! The hash chain: each event's hash commits to everything before it (promise I3).

use crate::id::{Hash, LogId, Offset, Origin, Seed};
use crate::key::StoreKey;

const DOMAIN_ROOT: &[u8; 16] = b"milepost.root.1\0";
const DOMAIN_EVENT: &[u8; 16] = b"milepost.event.1";
const DOMAIN_BODY: &[u8; 16] = b"milepost.body.1\0";
const DOMAIN_SALT: &[u8; 16] = b"milepost.salt.1\0";

/// Place of a record's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum BodyForm {
    /// In the record.
    Inline = 0,
    /// In chunks; the record lists them.
    Chunked = 1,
    /// Erased; the record keeps the hash.
    Erased = 2,
}

/// Returns the salt of one body: 16 bytes, derived from the seed of its append and its place in it.
/// A salt reveals neither the seed nor another salt.
pub fn salt(seed: Seed, index: u64) -> [u8; 16] {
    let mut input = [0_u8; 40];
    let (domain, rest) = input.split_at_mut(16);
    domain.copy_from_slice(DOMAIN_SALT);
    let (key, place) = rest.split_at_mut(16);
    key.copy_from_slice(&seed.0);
    place.copy_from_slice(&index.to_le_bytes());
    let mut out = [0; 16];
    out.copy_from_slice(blake3::hash(&input).as_bytes().split_at(16).0);
    out
}

/// Returns the hash of a body. After body and salt are erased, the salt prevents a guess of a short
/// body from its hash.
pub fn body_hash(salt: &[u8; 16], form: BodyForm, payload: &[u8]) -> Hash {
    let mut head = [0_u8; 33];
    let (domain, rest) = head.split_at_mut(16);
    domain.copy_from_slice(DOMAIN_BODY);
    let (salted, tail) = rest.split_at_mut(16);
    salted.copy_from_slice(salt);
    tail.fill(form as u8);
    if payload.len() <= 991 {
        // One contiguous input avoids the overhead of the incremental hasher.
        let mut input = [0_u8; 1024];
        let (front, back) = input.split_at_mut(33);
        front.copy_from_slice(&head);
        if let Some(room) = back.get_mut(..payload.len()) {
            room.copy_from_slice(payload);
        }
        return Hash(*blake3::hash(input.split_at(33 + payload.len()).0).as_bytes());
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(&head).update(payload);
    Hash(*hasher.finalize().as_bytes())
}

/// Computes the chain hashes of one log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    origin: Origin,
    number: u32,
    key: Option<StoreKey>,
}

impl Chain {
    /// Creates the chain of a log whose history began with `origin`.
    pub fn new(origin: Origin, log: LogId) -> Self {
        Self { origin, number: log.kind.number(), key: None }
    }

    /// Sets the key of a keyed store.
    #[must_use]
    pub fn keyed(mut self, key: Option<&StoreKey>) -> Self {
        self.key = key.copied();
        self
    }

    fn hash(&self, input: &[u8]) -> Hash {
        Hash(match &self.key {
            Some(key) => *blake3::keyed_hash(key.chain(), input).as_bytes(),
            None => *blake3::hash(input).as_bytes(),
        })
    }

    /// Returns the hash before the first event of a root. It commits to the origin and the log.
    pub fn root(&self) -> Hash {
        let mut input = [0_u8; 36];
        let (domain, rest) = input.split_at_mut(16);
        domain.copy_from_slice(DOMAIN_ROOT);
        let (origin, number) = rest.split_at_mut(16);
        origin.copy_from_slice(&self.origin.0);
        number.copy_from_slice(&self.number.to_le_bytes());
        self.hash(&input)
    }

    /// Returns the hash after the event at `offset`. It commits to the origin, the lineage, the
    /// offset, the previous hash, the header and the hash of the body.
    pub fn next(&self, offset: Offset, prev: &Hash, header: &[u8], body: &Hash) -> Hash {
        let mut input = [0_u8; 512];
        let fixed = 112;
        let parts: [&[u8]; 7] = [
            DOMAIN_EVENT,
            &self.origin.0,
            &self.number.to_le_bytes(),
            &offset.to_le_bytes(),
            &prev.0,
            &(header.len() as u32).to_le_bytes(),
            &body.0,
        ];
        let mut rest = input.as_mut_slice();
        for part in parts {
            let (front, back) = rest.split_at_mut(part.len());
            front.copy_from_slice(part);
            rest = back;
        }
        if let Some(room) = rest.get_mut(..header.len()) {
            room.copy_from_slice(header);
            return self.hash(input.split_at(fixed + header.len()).0);
        }
        let mut hasher = match &self.key {
            Some(key) => blake3::Hasher::new_keyed(key.chain()),
            None => blake3::Hasher::new(),
        };
        hasher.update(input.split_at(fixed).0).update(header);
        Hash(*hasher.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{LineageId, TaskNo};

    #[test]
    fn short_and_long_inputs_hash_alike() {
        let salt = [7; 16];
        for len in [0, 1, 990, 991, 992, 5000] {
            let payload = vec![3_u8; len];
            let mut hasher = blake3::Hasher::new();
            hasher.update(DOMAIN_BODY).update(&salt).update(&[0]).update(&payload);
            let expected = Hash(*hasher.finalize().as_bytes());
            assert_eq!(body_hash(&salt, BodyForm::Inline, &payload), expected, "{len} bytes");
        }
        let chain = Chain::new(Origin([1; 16]), LogId::lineage(TaskNo(1), LineageId(2)));
        for len in [0, 399, 400, 401, 3000] {
            let header = vec![9_u8; len];
            let mut hasher = blake3::Hasher::new();
            hasher.update(DOMAIN_EVENT).update(&[1; 16]).update(&2_u32.to_le_bytes());
            hasher.update(&5_u64.to_le_bytes()).update(&[4; 32]);
            hasher.update(&(len as u32).to_le_bytes()).update(&[6; 32]).update(&header);
            let expected = Hash(*hasher.finalize().as_bytes());
            let found = chain.next(5, &Hash([4; 32]), &header, &Hash([6; 32]));
            assert_eq!(found, expected, "{len} bytes");
        }
    }

    #[test]
    fn salts_of_one_seed_differ() {
        assert_ne!(salt(Seed([1; 16]), 0), salt(Seed([1; 16]), 1));
        assert_ne!(salt(Seed([1; 16]), 0), salt(Seed([2; 16]), 0));
    }
}
