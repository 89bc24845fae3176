//! Append-only sequences longer than memory.
//!
//! The newest items are a tail in memory. A tail of `SEAL` bytes is sealed into a chunk, and its
//! [`Piece`] is added to level 0. `FAN` pieces of one level are sealed into a chunk that lists
//! them, and its piece is added to the level above. Memory thus holds the tail and fewer than `FAN`
//! pieces a level, and the same items always give the same chunks:
//!
//! ```text
//! level 1   [ list of FAN pieces ]  [ list ]
//! level 0                                     [ items ]  [ items ]  [ items ]
//! tail                                                                         item item item
//! ```
//!
//! A chunk of items, like the tail, contains each item's length (varint) and bytes. An item that
//! does not fit into a chunk is a piece of its own at level 0, longer than a chunk: its chunk lists
//! the segments of the item.
//!
//! ```text
//! levels    varint, then from level 0 on
//!   pieces  varint, then for each: id (32 bytes), items (varint), bytes (varint)
//! items     varint, in the tail
//! tail      varint length, and the bytes
//! ```

mod iter;

use std::fmt;
use std::marker::PhantomData;

use milepost_codec::{CHUNK_RAW_MAX, ChunkId, Error, Piece, Reader, Result, put_varint};

use crate::chunks::Chunks;
pub use iter::SequenceIter;
use iter::{ItemReader, Node, Walk};

const WHAT: &str = "sequence";

/// The most levels. More levels would hold more items than 64 bits can count.
const LEVELS_MAX: usize = 64;

/// An item of a [`Sequence`].
pub trait Item: Sized {
    /// Appends the item's bytes to `out`. Equal items give equal bytes on every machine.
    fn encode(&self, out: &mut Vec<u8>);

    /// Decodes an item from exactly its bytes.
    fn decode(bytes: &[u8]) -> Result<Self>;
}

impl Item for Vec<u8> {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        Ok(bytes.to_vec())
    }
}

impl Item for String {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes);
        text.map(Self::from).map_err(|e| Error::corrupt("text item", "UTF-8", e))
    }
}

/// An append-only sequence that is stored in chunks and streamed.
///
/// Memory is bounded by `SEAL` bytes and `FAN` pieces a level at any length; a reader holds one
/// chunk a level. Two sequences of the same items are equal and have the same encoding.
///
/// # Example
///
/// ```
/// use milepost_replay::{MemoryChunks, Sequence};
///
/// let chunks = MemoryChunks::default();
/// let mut names = Sequence::new();
/// for n in 0..10_000 {
///     names.push(&format!("item {n}"), &chunks)?;
/// }
/// assert_eq!(names.len(), 10_000);
/// assert_eq!(names.get(7_000, &chunks)?.as_deref(), Some("item 7000"));
/// let last: Vec<String> = names.iter_from(9_999, &chunks).collect::<Result<_, _>>()?;
/// assert_eq!(last, ["item 9999"]);
/// # Ok::<(), milepost_replay::Error>(())
/// ```
pub struct Sequence<T, const SEAL: usize = 0x1_0000, const FAN: usize = 256> {
    parts: SequenceParts,
    item: PhantomData<fn() -> T>,
}

/// The part of a sequence in memory, for any type of items.
#[derive(Clone, PartialEq, Eq, Default)]
struct SequenceParts {
    levels: Vec<Vec<Piece>>,
    sealed: u64,
    tail: Vec<u8>,
    tail_items: u64,
}

impl<T: Item> Sequence<T> {
    /// Creates an empty sequence.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<T: Item, const SEAL: usize, const FAN: usize> Sequence<T, SEAL, FAN> {
    /// Checks the parameters: a tail below `SEAL` is smaller than a chunk, and a list of pieces (at
    /// most 50 bytes each) fits into one chunk.
    const SHAPE_FITS: () =
        assert!(SEAL > 0 && SEAL <= CHUNK_RAW_MAX && FAN > 1 && FAN <= CHUNK_RAW_MAX / 64);

    /// Appends an item.
    ///
    /// # Errors
    ///
    /// Errors of [`Chunks::put`]. After an error the sequence must not be used.
    pub fn push(&mut self, item: &T, chunks: &dyn Chunks) -> Result<()> {
        let mut bytes = Vec::new();
        item.encode(&mut bytes);
        self.push_encoded(&bytes, chunks)
    }

    /// Appends an encoded item.
    pub(crate) fn push_encoded(&mut self, item: &[u8], chunks: &dyn Chunks) -> Result<()> {
        let () = Self::SHAPE_FITS;
        let parts = &mut self.parts;
        let mut head = Vec::with_capacity(9);
        put_varint(&mut head, item.len() as u64);
        let len = head.len().saturating_add(item.len());
        if !parts.tail.is_empty() && parts.tail.len().saturating_add(len) > CHUNK_RAW_MAX {
            parts.seal_tail(FAN, chunks)?;
        }
        if len > CHUNK_RAW_MAX {
            head.extend_from_slice(item);
            return parts.seal_large(&head, FAN, chunks);
        }
        parts.tail.extend_from_slice(&head);
        parts.tail.extend_from_slice(item);
        parts.tail_items += 1;
        if parts.tail.len() >= SEAL { parts.seal_tail(FAN, chunks) } else { Ok(()) }
    }

    /// Returns the number of items.
    pub fn len(&self) -> u64 {
        self.parts.sealed.saturating_add(self.parts.tail_items)
    }

    /// Returns `true` if there is no item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the item at `index`, or `None` past the end. Reads one chunk a level.
    pub fn get(&self, index: u64, chunks: &dyn Chunks) -> Result<Option<T>> {
        self.iter_from(index, chunks).next().transpose()
    }

    /// Iterates over all items and reads them on demand. Ends after the first error.
    pub fn iter<'a>(&'a self, chunks: &'a dyn Chunks) -> SequenceIter<'a, T> {
        self.iter_from(0, chunks)
    }

    /// Iterates over the items from `index` on, without reading the pieces before it.
    pub fn iter_from<'a>(&'a self, index: u64, chunks: &'a dyn Chunks) -> SequenceIter<'a, T> {
        SequenceIter::new(self.items_from(index, chunks))
    }

    fn items_from<'a>(&'a self, index: u64, chunks: &'a dyn Chunks) -> ItemReader<'a> {
        ItemReader::new(Walk::new(&self.parts), index, chunks)
    }

    /// Returns the stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        self.parts.encode(&self.parts.tail)
    }

    /// Returns the stored bytes with the id of a piece in place of the tail, and that id. The tail
    /// is put into `chunks`.
    pub(crate) fn encode_apart(&self, chunks: &dyn Chunks) -> Result<(Vec<u8>, Option<ChunkId>)> {
        if self.parts.tail.is_empty() {
            return Ok((self.encode(), None));
        }
        let id = chunks.put_piece(&self.parts.tail)?;
        Ok((self.parts.encode(&id.0), Some(id)))
    }

    /// Decodes what [`Sequence::encode_apart`] encoded.
    pub(crate) fn decode_apart(bytes: &[u8], chunks: &dyn Chunks) -> Result<Self> {
        let mut parts = SequenceParts::decode(bytes, FAN)?;
        if let Some(id) = parts.tail.first_chunk::<32>() {
            parts.tail = chunks.get(&ChunkId(*id))?.to_vec();
        }
        Self::checked(parts)
    }

    /// Decodes a sequence. Fails with `Corrupt` if no series of pushes gives these bytes, as far as
    /// this is visible without reading chunks.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        Self::checked(SequenceParts::decode(bytes, FAN)?)
    }

    fn checked(parts: SequenceParts) -> Result<Self> {
        if parts.tail.len() >= SEAL {
            return Err(Error::corrupt(WHAT, "a tail that is not full", parts.tail.len()));
        }
        iter::check_items(&parts.tail, parts.tail_items)?;
        Ok(Self { parts, item: PhantomData })
    }

    /// Returns the total size of the sealed items, in bytes.
    pub fn bytes_in_chunks(&self) -> u64 {
        self.parts.levels.iter().flatten().map(|piece| piece.bytes).sum()
    }

    /// Returns the chunks that the sequence refers to. Chunks that list pieces refer to more
    /// chunks.
    pub fn refers(&self) -> Vec<ChunkId> {
        self.parts.levels.iter().flatten().map(|piece| piece.id).collect()
    }

    /// Returns the number of equal items at the start of both sequences. Equal pieces are skipped
    /// without being read.
    pub fn common_prefix(&self, other: &Self, chunks: &dyn Chunks) -> Result<u64> {
        let (mut ours, mut theirs) = (Walk::new(&self.parts), Walk::new(&other.parts));
        let (mut a, mut b) = (ours.next(), theirs.next());
        let mut same = 0_u64;
        while let (Some(Node::Piece(l, p)), Some(Node::Piece(m, q))) = (a, b) {
            if l == m && p == q {
                same = same.saturating_add(p.items);
                (a, b) = (ours.next(), theirs.next());
                continue;
            }
            if l == 0 && m == 0 {
                break;
            }
            if l >= m {
                ours.open(l, &p, chunks)?;
                a = ours.next();
            }
            if m >= l {
                theirs.open(m, &q, chunks)?;
                b = theirs.next();
            }
        }
        // Equal items are cut into equal pieces: the first difference is in these pieces or right
        // after them.
        let mut ours = self.items_from(same, chunks);
        let mut theirs = other.items_from(same, chunks);
        while let (Some(a), Some(b)) = (ours.next()?, theirs.next()?)
            && a == b
        {
            same = same.saturating_add(1);
        }
        Ok(same)
    }
}

impl SequenceParts {
    /// Returns the stored bytes, with these in place of the tail.
    fn encode(&self, tail: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(tail.len().saturating_add(64));
        put_varint(&mut out, self.levels.len() as u64);
        for pieces in &self.levels {
            put_varint(&mut out, pieces.len() as u64);
            for piece in pieces {
                out.extend_from_slice(&piece.id.0);
                put_varint(&mut out, piece.items);
                put_varint(&mut out, piece.bytes);
            }
        }
        put_varint(&mut out, self.tail_items);
        put_varint(&mut out, tail.len() as u64);
        out.extend_from_slice(tail);
        out
    }

    /// Decodes the stored bytes. The tail may be anything.
    fn decode(bytes: &[u8], fan: usize) -> Result<Self> {
        let mut reader = Reader::new(bytes, WHAT);
        let mut parts = Self::default();
        let levels = reader.varint_len()?;
        if levels > LEVELS_MAX {
            return Err(Error::corrupt(WHAT, format!("at most {LEVELS_MAX} levels"), levels));
        }
        for _ in 0..levels {
            let pieces = reader.varint_len()?;
            if pieces >= fan {
                return Err(Error::corrupt(WHAT, format!("under {fan} pieces"), pieces));
            }
            let level = (0..pieces).map(|_| parts.decode_piece(&mut reader));
            let level = level.collect::<Result<Vec<_>>>()?;
            parts.levels.push(level);
        }
        if parts.levels.last().is_some_and(Vec::is_empty) {
            return Err(Error::corrupt(WHAT, "pieces at the highest level", "none"));
        }
        parts.tail_items = reader.varint()?;
        let len = reader.varint_len()?;
        parts.tail = reader.take(len)?.to_vec();
        if !reader.is_empty() || parts.sealed.checked_add(parts.tail_items).is_none() {
            return Err(Error::corrupt(WHAT, "nothing after the tail", reader.rest().len()));
        }
        Ok(parts)
    }

    fn seal_tail(&mut self, fan: usize, chunks: &dyn Chunks) -> Result<()> {
        let id = chunks.put_piece(&self.tail)?;
        let piece = Piece { id, items: self.tail_items, bytes: self.tail.len() as u64 };
        self.tail.clear();
        self.tail_items = 0;
        self.add_piece(piece, fan, chunks)
    }

    fn seal_large(&mut self, framed: &[u8], fan: usize, chunks: &dyn Chunks) -> Result<()> {
        let segments = framed.chunks(CHUNK_RAW_MAX).map(|segment| {
            let id = chunks.put(segment, false)?;
            Ok(Piece { id, items: 0, bytes: segment.len() as u64 })
        });
        let segments = segments.collect::<Result<Vec<_>>>()?;
        let id = chunks.put(&Piece::encode_list(&segments), true)?;
        self.add_piece(Piece { id, items: 1, bytes: framed.len() as u64 }, fan, chunks)
    }

    fn add_piece(&mut self, piece: Piece, fan: usize, chunks: &dyn Chunks) -> Result<()> {
        self.sealed = self.sealed.saturating_add(piece.items);
        let (mut piece, mut level) = (piece, 0);
        loop {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            let Some(pieces) = self.levels.get_mut(level) else {
                return Ok(());
            };
            pieces.push(piece);
            if pieces.len() < fan {
                return Ok(());
            }
            let id = chunks.put(&Piece::encode_list(pieces), true)?;
            let (items, bytes) = iter::sums(pieces).unwrap_or((u64::MAX, u64::MAX));
            piece = Piece { id, items, bytes };
            pieces.clear();
            level += 1;
        }
    }

    fn decode_piece(&mut self, reader: &mut Reader<'_>) -> Result<Piece> {
        let id = ChunkId(reader.array()?);
        let piece = Piece { id, items: reader.varint()?, bytes: reader.varint()? };
        match self.sealed.checked_add(piece.items) {
            Some(sealed) if piece.items > 0 => {
                self.sealed = sealed;
                Ok(piece)
            }
            _ => Err(Error::corrupt("sequence", "a count of items", piece.items)),
        }
    }
}

impl<T, const SEAL: usize, const FAN: usize> Default for Sequence<T, SEAL, FAN> {
    fn default() -> Self {
        Self { parts: SequenceParts::default(), item: PhantomData }
    }
}

impl<T, const SEAL: usize, const FAN: usize> Clone for Sequence<T, SEAL, FAN> {
    fn clone(&self) -> Self {
        Self { parts: self.parts.clone(), item: PhantomData }
    }
}

impl<T, const SEAL: usize, const FAN: usize> PartialEq for Sequence<T, SEAL, FAN> {
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}

impl<T, const SEAL: usize, const FAN: usize> Eq for Sequence<T, SEAL, FAN> {}

impl<T, const SEAL: usize, const FAN: usize> fmt::Debug for Sequence<T, SEAL, FAN> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SequenceParts { levels, sealed, tail, tail_items } = &self.parts;
        let pieces: Vec<_> = levels.iter().map(Vec::len).collect();
        f.debug_struct("Sequence")
            .field("items", &sealed.saturating_add(*tail_items))
            .field("pieces", &pieces)
            .field("tail_bytes", &tail.len())
            .finish()
    }
}

#[cfg(test)]
mod tests;
