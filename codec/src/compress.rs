//! Bounded zstd: decompresses at most the length that a header claims, after a check of the claim.

use std::cell::RefCell;

use crate::error::{Error, Result};
use crate::key::StoreKey;

/// Level 1 compresses real agent events 3.6 times at 350 to 430 MB/s; higher levels gain little.
const LEVEL: i32 = 1;

thread_local! {
    // Creating a context costs more than compressing a small block.
    static PACKER: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
    // A compressor and its level.
    static GROUP_PACKER: RefCell<Option<(i32, zstd::bulk::Compressor<'static>)>> =
        const { RefCell::new(None) };
    static UNPACKER: RefCell<Option<zstd::bulk::Decompressor<'static>>> =
        const { RefCell::new(None) };
}

/// Compresses at [`LEVEL`]. Returns `None` if the result is not smaller.
pub(crate) fn pack(raw: &[u8]) -> Option<Vec<u8>> {
    PACKER.with_borrow_mut(|packer| {
        if packer.is_none() {
            *packer = zstd::bulk::Compressor::new(LEVEL).ok();
        }
        let packed = packer.as_mut()?.compress(raw).ok()?;
        (packed.len() < raw.len()).then_some(packed)
    })
}

/// Compresses at a given level. Returns `None` if the result is not smaller.
pub(crate) fn pack_at(raw: &[u8], level: i32) -> Option<Vec<u8>> {
    GROUP_PACKER.with_borrow_mut(|packer| {
        if packer.as_ref().is_none_or(|(at, _)| *at != level) {
            let compressor = zstd::bulk::Compressor::new(level).ok();
            *packer = compressor.map(|compressor| (level, compressor));
        }
        let packed = packer.as_mut()?.1.compress(raw).ok()?;
        (packed.len() < raw.len()).then_some(packed)
    })
}

/// Decompresses exactly `raw_len` bytes. The caller has checked `raw_len` against a limit.
pub(crate) fn unpack(packed: &[u8], raw_len: usize, what: &str) -> Result<Vec<u8>> {
    let unpacked = UNPACKER.with_borrow_mut(|unpacker| {
        if unpacker.is_none() {
            *unpacker = zstd::bulk::Decompressor::new().ok();
        }
        unpacker.as_mut()?.decompress(packed, raw_len).ok()
    });
    match unpacked {
        Some(raw) if raw.len() == raw_len => Ok(raw),
        Some(raw) => Err(Error::corrupt(what, format!("{raw_len} bytes"), raw.len())),
        None => Err(Error::corrupt(what, "zstd data", "bytes that do not unpack")),
    }
}

/// Returns the check of the concatenated parts: the first 16 bytes of BLAKE3, keyed in a keyed
/// store.
pub fn check_of(key: Option<&StoreKey>, parts: &[&[u8]]) -> [u8; 16] {
    check_keyed(key, parts)
}

pub(crate) fn check(parts: &[&[u8]]) -> [u8; 16] {
    check_keyed(None, parts)
}

/// Computes [`check`] with the key of a keyed store.
pub(crate) fn check_keyed(key: Option<&StoreKey>, parts: &[&[u8]]) -> [u8; 16] {
    let mut out = [0; 16];
    out.copy_from_slice(hash_keyed(key, parts).split_at(16).0);
    out
}

/// Returns BLAKE3 of the concatenated parts, keyed in a keyed store.
pub(crate) fn hash_keyed(key: Option<&StoreKey>, parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = match key {
        Some(key) => blake3::Hasher::new_keyed(key.check()),
        None => blake3::Hasher::new(),
    };
    for part in parts {
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}
