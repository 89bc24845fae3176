//! Chunk lists of files with several chunks.

use super::Node;
use super::tag::{FILE, LONG_FILE, VERSION, id};
use crate::chunk::{CHUNK_RAW_MAX, ChunkEntry};
use crate::error::Result;
use crate::id::ChunkId;
use crate::wire::{Reader, put_varint};

/// The most chunks in a list, at 36 bytes each. The list is a chunk itself.
const CHUNKS_MAX: usize = 29_000;

/// The most lists in a list, at 40 bytes each.
const LISTS_MAX: usize = 26_000;

const _: () =
    assert!(CHUNKS_MAX * 36 + 32 <= CHUNK_RAW_MAX && LISTS_MAX * 40 + 32 <= CHUNK_RAW_MAX);

/// The parts of a file, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileList {
    /// Length of the file in bytes: the sum of the parts.
    pub len: u64,
    /// 2 to 29,000 chunks, or 2 to 26,000 lists of them.
    pub parts: Vec<FilePart>,
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePart {
    /// The chunk: content, or a list in a long file.
    pub id: ChunkId,
    /// Length of the part in bytes: 1 to 1 MiB for a chunk of content.
    pub len: u64,
}

impl FileList {
    /// Creates the list of `parts`.
    pub fn new(parts: Vec<FilePart>) -> Self {
        let len = parts.iter().map(|part| part.len).sum();
        Self { len, parts }
    }

    pub(super) fn write(&self, long: bool, out: &mut Vec<u8>) {
        out.extend([if long { LONG_FILE } else { FILE }, VERSION]);
        put_varint(out, self.len);
        put_varint(out, self.parts.len() as u64);
        for part in &self.parts {
            out.extend_from_slice(&part.id.0);
            match long {
                true => out.extend_from_slice(&part.len.to_le_bytes()),
                false => out.extend_from_slice(&(part.len as u32).to_le_bytes()),
            }
        }
    }

    pub(super) fn read(mut reader: Reader<'_>, long: bool) -> Result<Self> {
        let (each, most, part_max) = match long {
            true => (40, LISTS_MAX, (CHUNKS_MAX * CHUNK_RAW_MAX) as u64),
            false => (36, CHUNKS_MAX, CHUNK_RAW_MAX as u64),
        };
        let len = reader.shortest()?;
        let count = reader.count(each)?;
        if !(2..=most).contains(&count) {
            return Err(reader.corrupt(format!("2 to {most} parts"), count));
        }
        let (mut parts, mut sum) = (Vec::with_capacity(count), 0_u64);
        for _ in 0..count {
            let id = id(&mut reader)?;
            let part = match long {
                true => reader.u64()?,
                false => u64::from(reader.u32()?),
            };
            if part == 0 || part > part_max {
                return Err(reader.corrupt(format!("a part of 1 to {part_max} bytes"), part));
            }
            // No overflow: the sum is at most 26,000 times 29,000 MiB.
            sum += part;
            parts.push(FilePart { id, len: part });
        }
        if sum != len {
            return Err(reader.corrupt(format!("parts of {len} bytes"), format!("{sum} bytes")));
        }
        reader.end()?;
        Ok(Self { len, parts })
    }
}

/// Encodes the lists of a file of two or more chunks. Calls `put` with the id and content of each
/// list, parts first, and returns the root's id.
pub fn encode_file(chunks: &[FilePart], put: &mut dyn FnMut(ChunkId, Vec<u8>)) -> ChunkId {
    let mut put_node = |node: Node| {
        let content = node.encode();
        let id = ChunkEntry::id_of(&content);
        put(id, content);
        id
    };
    if chunks.len() <= CHUNKS_MAX {
        return put_node(Node::File(FileList::new(chunks.to_vec())));
    }
    let (mut lists, mut rest) = (Vec::new(), chunks);
    while !rest.is_empty() {
        // Avoids a last list of one part.
        let take = match rest.len() {
            n if n == CHUNKS_MAX + 1 => CHUNKS_MAX - 1,
            n => n.min(CHUNKS_MAX),
        };
        let (front, back) = rest.split_at_checked(take).unwrap_or((rest, &[]));
        let list = FileList::new(front.to_vec());
        let len = list.len;
        let id = put_node(Node::File(list));
        lists.push(FilePart { id, len });
        rest = back;
    }
    put_node(Node::LongFile(FileList::new(lists)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn parts(count: usize) -> Vec<FilePart> {
        let part = |n: usize| FilePart {
            id: ChunkEntry::id_of(&n.to_le_bytes()),
            len: 1 + n as u64 % CHUNK_RAW_MAX as u64,
        };
        (0..count).map(part).collect()
    }

    #[test]
    fn a_list_is_cut_where_it_is_too_long_for_a_chunk() {
        for count in
            [2, CHUNKS_MAX, CHUNKS_MAX + 1, CHUNKS_MAX + 2, 2 * CHUNKS_MAX, 2 * CHUNKS_MAX + 1]
        {
            let chunks = parts(count);
            let mut all = HashMap::new();
            let id = encode_file(&chunks, &mut |id, content| {
                assert!(content.len() <= CHUNK_RAW_MAX);
                all.insert(id, Node::decode(&content).unwrap());
            });
            let read = match &all[&id] {
                Node::File(list) => list.parts.clone(),
                Node::LongFile(list) => {
                    let mut read = Vec::new();
                    for part in &list.parts {
                        let Node::File(inner) = &all[&part.id] else { panic!("{count}") };
                        assert_eq!(inner.len, part.len);
                        read.extend(inner.parts.clone());
                    }
                    read
                }
                node => panic!("{node:?}"),
            };
            assert_eq!(read, chunks, "{count}");
            assert_eq!(matches!(all[&id], Node::LongFile(_)), count > CHUNKS_MAX);
        }
    }

    #[test]
    fn a_list_that_lies_about_its_length_is_refused() {
        let list = FileList::new(parts(3));
        assert!(Node::decode(&Node::File(list.clone()).encode()).is_ok());
        for len in [0, list.len - 1, list.len + 1, u64::MAX] {
            let list = FileList { len, ..list.clone() };
            assert!(Node::decode(&Node::File(list.clone()).encode()).is_err());
            assert!(Node::decode(&Node::LongFile(list).encode()).is_err());
        }
        for bad in [0, CHUNK_RAW_MAX as u64 + 1] {
            let mut list = parts(3);
            list[1].len = bad;
            assert!(Node::decode(&Node::File(FileList::new(list)).encode()).is_err());
        }
        assert!(Node::decode(&Node::File(FileList::new(parts(1))).encode()).is_err());
    }
}
