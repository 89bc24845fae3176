//! Iteration over the pieces and over the items of a sequence.

use std::marker::PhantomData;
use std::sync::Arc;

use milepost_codec::{CHUNK_RAW_MAX, Error, Piece, Reader, Result};

use super::{Item, SequenceParts};
use crate::chunks::Chunks;

/// An element of a walk.
#[derive(Clone, Copy)]
pub(super) enum Node<'a> {
    /// A piece and its level.
    Piece(usize, Piece),
    /// The tail and its number of items.
    Tail(&'a [u8], u64),
}

/// Walks over pieces from the oldest to the tail. The caller may open a piece.
pub(super) struct Walk<'a> {
    /// The levels not visited yet. The highest holds the oldest items.
    levels: &'a [Vec<Piece>],
    /// The remaining pieces of the current level.
    current: std::slice::Iter<'a, Piece>,
    /// The remaining pieces of the opened lists, with the level of these pieces.
    opened: Vec<(usize, std::vec::IntoIter<Piece>)>,
    tail: Option<(&'a [u8], u64)>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(parts: &'a SequenceParts) -> Self {
        Self {
            levels: &parts.levels,
            current: [].iter(),
            opened: Vec::new(),
            tail: Some((&parts.tail, parts.tail_items)),
        }
    }

    pub(super) fn next(&mut self) -> Option<Node<'a>> {
        while let Some((level, pieces)) = self.opened.last_mut() {
            if let Some(piece) = pieces.next() {
                return Some(Node::Piece(*level, piece));
            }
            self.opened.pop();
        }
        loop {
            if let Some(piece) = self.current.next() {
                return Some(Node::Piece(self.levels.len(), *piece));
            }
            let Some((highest, below)) = self.levels.split_last() else {
                break;
            };
            (self.current, self.levels) = (highest.iter(), below);
        }
        self.tail.take().map(|(bytes, items)| Node::Tail(bytes, items))
    }

    /// Opens a piece of a level above 0. It must be the piece that `next` returned last.
    pub(super) fn open(&mut self, level: usize, piece: &Piece, chunks: &dyn Chunks) -> Result<()> {
        let content = chunks.get(&piece.id)?;
        let pieces = Piece::decode_list(&content).map_err(|e| e.at(name(piece)))?;
        if sums(&pieces) != Some((piece.items, piece.bytes)) {
            let expected = format!("{} items in {} bytes", piece.items, piece.bytes);
            return Err(Error::corrupt(name(piece), expected, "pieces of others"));
        }
        self.opened.push((level.saturating_sub(1), pieces.into_iter()));
        Ok(())
    }
}

/// Returns the sums of items and bytes, or `None` on overflow.
pub(super) fn sums(pieces: &[Piece]) -> Option<(u64, u64)> {
    pieces.iter().try_fold((0_u64, 0_u64), |(items, bytes), piece| {
        Some((items.checked_add(piece.items)?, bytes.checked_add(piece.bytes)?))
    })
}

fn name(piece: &Piece) -> String {
    format!("sequence chunk {}", piece.id)
}

/// Reads the framed items of a piece of level 0.
fn load(piece: &Piece, chunks: &dyn Chunks) -> Result<Arc<[u8]>> {
    let content = chunks.get(&piece.id)?;
    if piece.bytes <= CHUNK_RAW_MAX as u64 {
        return match content.len() as u64 == piece.bytes {
            true => Ok(content),
            false => {
                Err(Error::corrupt(name(piece), format!("{} bytes", piece.bytes), content.len()))
            }
        };
    }
    let segments = Piece::decode_list(&content).map_err(|e| e.at(name(piece)))?;
    let mut framed = Vec::new();
    for segment in &segments {
        framed.extend_from_slice(&chunks.get(&segment.id)?);
        if framed.len() as u64 > piece.bytes {
            break;
        }
    }
    match framed.len() as u64 == piece.bytes {
        true => Ok(framed.into()),
        false => Err(Error::corrupt(name(piece), format!("{} bytes", piece.bytes), framed.len())),
    }
}

/// Checks that `framed` contains exactly `items` items.
pub(super) fn check_items(framed: &[u8], items: u64) -> Result<()> {
    let (mut reader, mut found) = (Reader::new(framed, "sequence"), 0_u64);
    while !reader.is_empty() {
        let len = reader.varint_len()?;
        reader.take(len)?;
        found += 1;
    }
    if found != items {
        return Err(Error::corrupt("sequence", format!("{items} items"), found));
    }
    Ok(())
}

/// The bytes of framed items.
enum Run<'a> {
    Chunk(Arc<[u8]>),
    Tail(&'a [u8]),
}

impl Run<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Chunk(bytes) => bytes,
            Self::Tail(bytes) => bytes,
        }
    }
}

/// Reads the bytes of one item after another.
pub(super) struct ItemReader<'a> {
    walk: Walk<'a>,
    chunks: &'a dyn Chunks,
    /// The number of items still to skip.
    skip: u64,
    run: Run<'a>,
    /// The number of bytes read from the run, and the number of items left in it.
    at: usize,
    remaining: u64,
}

impl<'a> ItemReader<'a> {
    pub(super) fn new(walk: Walk<'a>, skip: u64, chunks: &'a dyn Chunks) -> Self {
        Self { walk, chunks, skip, run: Run::Tail(&[]), at: 0, remaining: 0 }
    }

    /// Advances to the next run that has an item to read. Returns `false` at the end.
    fn next_run(&mut self) -> Result<bool> {
        while let Some(node) = self.walk.next() {
            let items = match node {
                Node::Piece(_, piece) => piece.items,
                Node::Tail(_, items) => items,
            };
            if let Some(skip) = self.skip.checked_sub(items) {
                self.skip = skip;
                continue;
            }
            self.run = match node {
                Node::Piece(0, piece) => Run::Chunk(load(&piece, self.chunks)?),
                Node::Piece(level, piece) => {
                    self.walk.open(level, &piece, self.chunks)?;
                    continue;
                }
                Node::Tail(bytes, _) => Run::Tail(bytes),
            };
            (self.at, self.remaining) = (0, items);
            return Ok(true);
        }
        Ok(false)
    }

    /// Returns the next item's bytes, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>> {
        loop {
            while self.remaining == 0 {
                if !self.next_run()? {
                    return Ok(None);
                }
            }
            let bytes = self.run.bytes();
            let mut reader = Reader::new(bytes.get(self.at..).unwrap_or_default(), "sequence");
            let len = reader.varint_len()?;
            let start = bytes.len().saturating_sub(reader.rest().len());
            self.at = start.saturating_add(len);
            self.remaining -= 1;
            if self.remaining == 0 && self.at != bytes.len() {
                return Err(Error::corrupt("sequence", "no bytes after the last item", "more"));
            }
            if self.skip == 0 {
                return Ok(self.run.bytes().get(start..self.at));
            }
            self.skip -= 1;
        }
    }
}

/// Iterator over the items of a sequence, read on demand. It ends after the first error.
pub struct SequenceIter<'a, T> {
    items: Option<ItemReader<'a>>,
    item: PhantomData<fn() -> T>,
}

impl<'a, T> SequenceIter<'a, T> {
    pub(super) fn new(items: ItemReader<'a>) -> Self {
        Self { items: Some(items), item: PhantomData }
    }
}

impl<T> std::fmt::Debug for SequenceIter<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SequenceIter").finish_non_exhaustive()
    }
}

impl<T: Item> Iterator for SequenceIter<'_, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        let item = match self.items.as_mut()?.next() {
            Ok(Some(bytes)) => Some(T::decode(bytes)),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        };
        if !matches!(item, Some(Ok(_))) {
            self.items = None;
        }
        item
    }
}
