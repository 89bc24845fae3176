//! Reads of chunks: checked, and unpacked once for several reads.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use milepost_codec::{
    CHUNK_RAW_MAX, ChunkEntry, ChunkGroup, ChunkId, Error, GroupContents, Result,
};

use crate::cache::InMemory;
use crate::local::chunks::packs::Packs;
use crate::local::location::Location;

/// The maximum stored bytes of an ungrouped chunk that stays unpacked: repeated bodies. Large ones
/// are read once.
const CACHED_MAX: u32 = 64 << 10;

/// An unpacked entry of a pack.
#[derive(Debug)]
pub(super) enum UnpackedEntry {
    Group(GroupContents),
    Chunk((ChunkEntry, Vec<u8>)),
}

impl InMemory for UnpackedEntry {
    fn bytes(&self) -> usize {
        match self {
            Self::Group(group) => group.bytes(),
            Self::Chunk((_, content)) => content.len() + size_of::<Self>(),
        }
    }
}

impl Packs {
    /// Reads a chunk's content and checks it.
    pub(crate) fn read(&self, id: &ChunkId, place: Location) -> Result<Vec<u8>> {
        self.read_flagged(id, place).map(|(content, _)| content)
    }

    /// Reads a chunk's content, checks it, and returns whether it lists pieces.
    pub(crate) fn read_flagged(&self, id: &ChunkId, place: Location) -> Result<(Vec<u8>, bool)> {
        let what = || format!("pack {} at byte {}", place.file, place.at);
        let other = |found: ChunkId| Error::corrupt(what(), format!("chunk {id}"), found);
        if place.member.is_none() && place.len > CACHED_MAX {
            let (header, content) = self.read_entry(id, place)?;
            return Ok((content, header.pieces));
        }
        let unpack = || {
            Ok(Arc::new(match place.member {
                Some(_) => UnpackedEntry::Group(self.read_group(id, place)?),
                None => UnpackedEntry::Chunk(self.read_entry(id, place)?),
            }))
        };
        match (&*self.unpacked.get(place.entry(), unpack)?, place.member) {
            (UnpackedEntry::Group(group), Some(member)) => {
                let (found, content) = group.get(member.into()).map_err(|e| e.at(what()))?;
                if found == *id { Ok((content.to_vec(), false)) } else { Err(other(found)) }
            }
            (UnpackedEntry::Chunk((header, content)), None) if header.id == *id => {
                Ok((content.clone(), header.pieces))
            }
            (UnpackedEntry::Chunk((header, _)), _) => Err(other(header.id)),
            (UnpackedEntry::Group(_), None) => {
                Err(Error::corrupt(what(), format!("chunk {id}"), "a group of chunks"))
            }
        }
    }

    /// Reads a chunk that is in no group, and checks it. The copy is read if the pack is damaged.
    fn read_entry(&self, id: &ChunkId, place: Location) -> Result<(ChunkEntry, Vec<u8>)> {
        let in_pack = self.decode_entry(id, place, self.read_bytes(id, place));
        let Err(error) = in_pack else { return in_pack };
        match self.decode_entry(id, place, self.read_copied(id, place)) {
            Ok(copied) => {
                tracing::warn!("the copy of a pack is read: {error}");
                Ok(copied)
            }
            Err(_) => Err(error),
        }
    }

    fn decode_entry(
        &self,
        id: &ChunkId,
        place: Location,
        entry: Result<Vec<u8>>,
    ) -> Result<(ChunkEntry, Vec<u8>)> {
        let what = || format!("pack {} at byte {}", place.file, place.at);
        let (header, content) = ChunkEntry::decode(&entry?).map_err(|e| e.at(what()))?;
        match header.id == *id {
            true => Ok((header, content)),
            false => Err(Error::corrupt(what(), format!("chunk {id}"), header.id)),
        }
    }

    /// Returns `true` if a chunk is intact on disk. Bypasses the cache of unpacked entries, and
    /// clears the cache for the pack if the chunk is damaged.
    pub(crate) fn is_intact(&self, id: &ChunkId, place: Location) -> bool {
        let found = match place.member {
            None => {
                let entry = self.decode_entry(id, place, self.read_bytes(id, place));
                entry.map(|(header, _)| header.id)
            }
            Some(member) => {
                let group = self.read_group(id, place);
                group.and_then(|group| group.get(member.into()).map(|(found, _)| found))
            }
        };
        let is_intact = found.is_ok_and(|found| found == *id);
        if !is_intact {
            self.unpacked.forget(|entry| entry.file == place.file);
        }
        is_intact
    }

    /// Returns the bytes of the entry that a chunk is in.
    pub(crate) fn read_bytes(&self, id: &ChunkId, place: Location) -> Result<Vec<u8>> {
        let file = self.reader(place.file)?;
        let what = || format!("pack {} at byte {}", place.file, place.at);
        let most = match place.member {
            Some(_) => ChunkGroup::ENTRY_MAX,
            None => ChunkEntry::HEADER_LEN + CHUNK_RAW_MAX,
        };
        if place.len as usize > most {
            return Err(Error::corrupt(what(), "the length of a chunk", place.len));
        }
        let mut entry = vec![0; place.len as usize];
        file.read_exact_at(&mut entry, place.at).map_err(|error| {
            let found = match error.kind() {
                io::ErrorKind::UnexpectedEof => "the end of the file".to_owned(),
                _ => format!("bytes that cannot be read: {error}"),
            };
            Error::corrupt(what(), format!("chunk {id}"), found)
        })?;
        Ok(entry)
    }
}
