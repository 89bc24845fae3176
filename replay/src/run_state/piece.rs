//! Pieces of a run's sequences, made again of the events that they hold.

use milepost_codec::{
    Body, CHUNK_RAW_MAX, Error, GuidanceGiven, PieceSource, Reader, Result, put_varint,
};

use super::entry::{Entry, encode_body};
use crate::event::Event;
use crate::sequence::Item;

const WHAT: &str = "piece";

/// Returns the item that an event adds to a sequence of a run's state, and whether that is the
/// guidance; `None` if it adds none.
pub(super) fn item_of(event: &Event) -> Option<(bool, Vec<u8>)> {
    let mut item = Vec::new();
    match &event.body {
        None => {
            let (kind, offset) = (event.header.kind, event.offset);
            if !matches!(Body::name_of(kind), "message" | "tool_called" | "tool_returned") {
                return None;
            }
            Entry::Erased { offset, kind }.encode(&mut item);
        }
        Some(
            body @ (Body::GuidanceGiven(_)
            | Body::Message(_)
            | Body::ToolCalled(_)
            | Body::ToolReturned(_)),
        ) => encode_body(&mut item, event.offset, body),
        Some(_) => return None,
    }
    Some((matches!(event.body, Some(Body::GuidanceGiven(_))), item))
}

/// Returns the events from which a piece of a run's messages or guidance is made, given its items
/// as [`Chunks::put_piece`](crate::Chunks::put_piece) gets them.
///
/// # Errors
///
/// `Corrupt`: these are not items of a run's state.
pub fn piece_source(items: &[u8]) -> Result<PieceSource> {
    let mut found: Option<PieceSource> = None;
    let mut reader = Reader::new(items, WHAT);
    while !reader.is_empty() {
        let len = reader.varint_len()?;
        let mut item = Reader::new(reader.take(len)?, WHAT);
        let (offset, form, kind) = (item.varint()?, item.u8()?, item.varint()?);
        if form > 1 {
            return Err(Error::corrupt(WHAT, "a form of 0 or 1", form));
        }
        let guidance = kind == u64::from(GuidanceGiven::KIND);
        let source = found.get_or_insert(PieceSource { guidance, first: offset, last: offset });
        source.last = offset;
    }
    found.ok_or_else(|| Error::corrupt(WHAT, "items", "none"))
}

/// Returns the items of a piece, given the events from the first to the last of its source, in
/// order. Ends after the first item with which they are longer than a chunk, as no piece is.
///
/// # Errors
///
/// The first error of the iterator.
pub fn piece_items(
    source: &PieceSource,
    events: impl Iterator<Item = Result<Event>>,
) -> Result<Vec<u8>> {
    let mut items = Vec::new();
    for event in events {
        if let Some((guidance, item)) = item_of(&event?)
            && guidance == source.guidance
        {
            put_varint(&mut items, item.len() as u64);
            items.extend_from_slice(&item);
        }
        if items.len() > CHUNK_RAW_MAX {
            break;
        }
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use milepost_codec::{ChunkId, Header, LineageId, Message, Offset};

    use super::*;
    use crate::chunks::{Chunks, MemoryChunks};
    use crate::reducer::Reducer;
    use crate::run_state::RunReducer;

    /// Collects the pieces.
    #[derive(Default)]
    struct Collected(MemoryChunks, Mutex<Vec<Vec<u8>>>);

    impl Chunks for Collected {
        fn put(&self, content: &[u8], pieces: bool) -> Result<ChunkId> {
            self.0.put(content, pieces)
        }

        fn put_piece(&self, items: &[u8]) -> Result<ChunkId> {
            self.1.lock().unwrap().push(items.to_vec());
            self.put(items, false)
        }

        fn get(&self, id: &ChunkId) -> Result<std::sync::Arc<[u8]>> {
            self.0.get(id)
        }
    }

    fn events() -> Vec<Event> {
        let event = |offset: Offset| {
            let text = format!("{offset} ").repeat((offset % 31) as usize * 40);
            let body = match offset % 5 {
                0 => Body::GuidanceGiven(GuidanceGiven { text, data: None }),
                _ => Body::Message(Message::text("user", &text)),
            };
            let header = Header { kind: body.kind(), ..Header::default() };
            let erased = offset % 7 == 3;
            Event { lineage: LineageId(0), offset, header, body: (!erased).then_some(body) }
        };
        (0..1000).map(event).collect()
    }

    #[test]
    fn each_piece_is_made_again_of_the_events_of_its_source() {
        let (events, chunks) = (events(), Collected::default());
        let mut state = RunReducer.initial();
        for event in &events {
            RunReducer.apply(&mut state, event, &chunks).unwrap();
        }
        let pieces = chunks.1.into_inner().unwrap();
        let mut guidance = 0;
        for items in &pieces {
            let source = piece_source(items).unwrap();
            guidance += usize::from(source.guidance);
            let of = &events[source.first as usize..=source.last as usize];
            assert_eq!(piece_items(&source, of.iter().cloned().map(Ok)).unwrap(), *items);
        }
        assert!(guidance > 0 && pieces.len() > guidance + 3, "{guidance} of {}", pieces.len());
    }

    #[test]
    fn a_snapshot_has_no_item_in_it_and_gives_the_state() {
        let (events, chunks) = (events(), Collected::default());
        let mut state = RunReducer.initial();
        let mut tails = 0;
        for event in &events {
            RunReducer.apply(&mut state, event, &chunks).unwrap();
            let (bytes, refers) = RunReducer.encode_snapshot(&state, &chunks).unwrap();
            assert!(bytes.len() < 2000, "{} bytes", bytes.len());
            assert!(refers.iter().all(|id| chunks.get(id).is_ok()));
            tails += refers.len() - state.refers().len();
            assert_eq!(RunReducer.decode_snapshot(&bytes, &chunks).unwrap(), state);
            // Without the pieces it is not a state, and a state is not a snapshot.
            let missing = MemoryChunks::default();
            let has_tails = refers.len() > state.refers().len();
            assert_eq!(RunReducer.decode_snapshot(&bytes, &missing).is_err(), has_tails);
        }
        assert!(tails > 1500, "{tails}");
    }

    #[test]
    fn what_is_no_piece_has_no_source() {
        for bytes in [&b""[..], b"\x01", b"\x02\x00\x01", b"\xff\xff\xff", &[9; 40]] {
            assert!(piece_source(bytes).is_err(), "{bytes:?}");
        }
    }
}
