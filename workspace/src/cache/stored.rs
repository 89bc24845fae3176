//! File format of the stat cache: `workspace/HEX.stat` in the store, one for each folder. Numbers
//! are encoded as in the rest of the format.
//!
//! ```text
//! "MPWS" | version u8 | device u64 | inode u64 | capture 32 bytes
//! folders: varint count, then each, paths ascending:
//!   path: varint length, bytes | files: varint count, then each, names ascending:
//!     name: u8 length, bytes
//!     inode, size, mode varint | mtime, ctime: i64 seconds, u32 nanoseconds
//!     hash 32 bytes | list: 0, or 1 and 32 bytes | needs: varint count, 32 bytes each
//! BLAKE3 of all before it, 32 bytes
//! ```

use std::path::{Path, PathBuf};

use milepost::Result;
use milepost_codec::{ChunkId, Reader, put_varint};

use super::Cache;
use super::block::Block;

const MAGIC: &[u8; 4] = b"MPWS";
const VERSION: u8 = 1;
const CHECK_LEN: usize = 32;

/// Device and inode of a folder.
pub(crate) type Identity = (u64, u64);

/// Returns the path of a folder's cache.
pub(crate) fn path_of(store: &Path, folder: Identity) -> PathBuf {
    store.join(format!("{:016x}{:016x}.stat", folder.0, folder.1))
}

impl Cache {
    /// Reads the cache of a folder. Returns `None` if it is missing or not usable.
    pub(crate) fn read(path: &Path, folder: Identity) -> Option<Self> {
        Self::decode(&std::fs::read(path).ok()?, folder)
    }

    fn decode(bytes: &[u8], folder: Identity) -> Option<Self> {
        let (front, check) = bytes.split_last_chunk::<CHECK_LEN>()?;
        if blake3::hash(front).as_bytes() != check {
            return None;
        }
        let mut reader = Reader::new(front, "stat cache");
        let expected = (*MAGIC, VERSION, folder.0, folder.1);
        let found = (|| {
            Ok::<_, milepost::Error>((reader.array()?, reader.u8()?, reader.u64()?, reader.u64()?))
        })();
        if found.ok()? != expected {
            return None;
        }
        let mut cache = Self::default();
        cache.belongs_to(ChunkId(reader.array().ok()?));
        for _ in 0..reader.varint().ok()? {
            let len = reader.varint_len().ok()?;
            let path = reader.take(len).ok()?;
            let count = reader.varint().ok()?;
            cache.put(path, Block::read(&mut reader, count)?);
        }
        reader.is_empty().then_some(cache)
    }

    fn encode(&self, folder: Identity) -> Vec<u8> {
        let folders = self.folders.iter();
        let len = folders.map(|(path, block)| path.len() + block.bytes().len() + 20);
        let mut out = Vec::with_capacity(128 + len.sum::<usize>());
        out.extend_from_slice(MAGIC);
        out.push(VERSION);
        out.extend_from_slice(&folder.0.to_le_bytes());
        out.extend_from_slice(&folder.1.to_le_bytes());
        out.extend_from_slice(&self.capture().map_or([0; 32], |capture| capture.0));
        put_varint(&mut out, self.folders.len() as u64);
        for (path, block) in &self.folders {
            put_varint(&mut out, path.len() as u64);
            out.extend_from_slice(path);
            put_varint(&mut out, block.count());
            out.extend_from_slice(block.bytes());
        }
        let check = *blake3::hash(&out).as_bytes();
        out.extend_from_slice(&check);
        out
    }

    /// Replaces the cache file. The file is not synced: its checksum detects a lost write.
    pub(crate) fn write(&self, path: &Path, folder: Identity) -> Result<()> {
        milepost::internals::replace_file(path, &self.encode(folder), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::tests::{built, check};

    #[test]
    fn what_was_written_is_read_again() {
        check(&Cache::decode(&built().encode((1, 2)), (1, 2)).unwrap());
    }

    #[test]
    fn one_that_is_damaged_cut_or_of_another_folder_is_as_good_as_none() {
        let good = built().encode((1, 2));
        for folder in [(1, 3), (2, 2), (0, 0)] {
            assert!(Cache::decode(&good, folder).is_none());
        }
        for at in 0..good.len() {
            assert!(Cache::decode(&good[..at], (1, 2)).is_none());
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(Cache::decode(&bad, (1, 2)).is_none(), "byte {at}");
        }
        // Damage with a matching checksum must not panic.
        for at in 0..good.len() - CHECK_LEN {
            for bit in [1, 0x80] {
                let mut bad = good[..good.len() - CHECK_LEN].to_vec();
                bad[at] ^= bit;
                let check = *blake3::hash(&bad).as_bytes();
                bad.extend_from_slice(&check);
                if let Some(cache) = Cache::decode(&bad, (1, 2)) {
                    cache.folder(b"b").file(b"zzz");
                }
            }
        }
    }
}
