//! Blocks of contents: chunks that are addressed by their ids.

use crate::block_file::block::{self, Parts, Sealing};
use crate::chunk::ChunkEntry;
use crate::error::{Error, Result};
use crate::id::{ChunkId, Hash};
use crate::key::StoreKey;
use crate::wire::put_varint;

/// A content in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentEntry {
    /// BLAKE3 of the content.
    pub id: ChunkId,
    /// Set if the content is a list of pieces.
    pub refers: bool,
}

/// A block of contents, unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentBlock {
    /// The entry, and the start and end of the content in `raw`.
    entries: Vec<(ContentEntry, u32, u32)>,
    raw: Vec<u8>,
}

impl ContentBlock {
    /// Appends a block of contents to `out`. Returns the hash of the block.
    ///
    /// # Errors
    ///
    /// `Invalid`: there is no content, there are more than 4096, or together they have more than
    /// 1 MiB.
    pub fn encode(
        contents: &[(ContentEntry, &[u8])],
        of: &Sealing<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Hash> {
        let (mut table, mut raw) = (Vec::new(), Vec::new());
        for (entry, content) in contents {
            table.extend_from_slice(&entry.id.0);
            put_varint(&mut table, content.len() as u64);
            table.push(u8::from(entry.refers));
            raw.extend_from_slice(content);
        }
        block::seal((Parts::Contents, contents.len()), &table, &raw, of, out)
    }

    /// Decodes and checks a block of contents. A content is compared with its id by
    /// [`ContentBlock::get`].
    ///
    /// # Errors
    ///
    /// `Corrupt`: the bytes do not match their hash, or the table does not match the payload.
    pub fn decode(bytes: &[u8], key: Option<&StoreKey>) -> Result<Self> {
        let mut opened = block::open(bytes, Parts::Contents, key)?;
        let table = &mut opened.table;
        let (mut entries, mut at) = (Vec::with_capacity(opened.parts), 0_u32);
        for _ in 0..opened.parts {
            let (id, len) = (ChunkId(table.array()?), table.shortest_u32()?);
            let refers = table.flag()?;
            let end = at.saturating_add(len);
            if end as usize > opened.raw.len() {
                return Err(table.corrupt(format!("{} bytes", opened.raw.len()), "more"));
            }
            entries.push((ContentEntry { id, refers }, at, end));
            at = end;
        }
        table.end()?;
        if at as usize != opened.raw.len() {
            return Err(table.corrupt(format!("contents of {} bytes", opened.raw.len()), at));
        }
        Ok(Self { entries, raw: opened.raw })
    }

    /// Returns an iterator over the entries.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = ContentEntry> {
        self.entries.iter().map(|(entry, ..)| *entry)
    }

    /// Returns the content at `n`, compared with its id.
    ///
    /// # Errors
    ///
    /// `Corrupt`: there is no such content, or it has another id.
    pub fn get(&self, n: usize) -> Result<(ContentEntry, &[u8])> {
        let Some((entry, from, to)) = self.entries.get(n) else {
            let expected = format!("{} contents", n.saturating_add(1));
            return Err(Error::corrupt("block", expected, self.entries.len()));
        };
        let content = self.raw.get(*from as usize..*to as usize).unwrap_or_default();
        if ChunkEntry::id_of(content) != entry.id {
            let place = format!("chunk {} in a block", entry.id);
            return Err(Error::corrupt(place, "content that matches its id", "other bytes"));
        }
        Ok((*entry, content))
    }
}
