//! A long conversation: its memory stays small, and it can be read from anywhere.

use milepost_codec::{Body, ChunkId, Header, LineageId, Message};
use milepost_replay::{
    ChangeKind, Chunks, Entry, Event, MemoryChunks, MessageRange, Reducer, Result, RunReducer,
    diff_states, fold,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
struct Counted {
    inner: MemoryChunks,
    gets: AtomicU64,
}

impl Chunks for Counted {
    fn put(&self, content: &[u8], pieces: bool) -> Result<ChunkId> {
        self.inner.put(content, pieces)
    }

    fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        self.inner.get(id)
    }
}

fn message(offset: u64) -> Result<Event> {
    let text = format!("message {offset} {}", "and so on ".repeat(100));
    let body = Body::Message(Message::text("user", &text));
    let header = Header { kind: body.kind(), ..Header::default() };
    Ok(Event { lineage: LineageId(0), offset, header, body: Some(body) })
}

#[test]
fn fifty_thousand_messages_are_held_in_little_and_read_from_anywhere() {
    let chunks = Counted::default();
    let count = 50_000;
    let state = fold(&RunReducer, RunReducer.initial(), (0..count).map(message), &chunks).unwrap();
    let bytes = RunReducer.encode(&state).unwrap();
    assert!(bytes.len() < 100_000, "{} bytes for 50 MB of messages", bytes.len());
    let state = RunReducer.decode(&bytes).unwrap();
    assert_eq!(state.messages.len(), count);

    chunks.gets.store(0, Ordering::Relaxed);
    for index in [0, 1, 12_345, count - 1] {
        let entry = state.messages.get(index, &chunks).unwrap().unwrap();
        assert_eq!(entry.offset(), index);
        assert!(matches!(entry, Entry::Message { .. }));
    }
    assert!(chunks.gets.load(Ordering::Relaxed) <= 12);
    assert!(state.messages.get(count, &chunks).unwrap().is_none());
    let shown = state.to_json(&chunks, MessageRange::Last(3)).unwrap();
    assert_eq!(shown["messages"][0]["offset"], count - 3);
    let streamed = state.messages.iter(&chunks).zip(0..);
    assert_eq!(streamed.filter(|(e, n)| e.as_ref().unwrap().offset() == *n).count(), 50_000);

    chunks.gets.store(0, Ordering::Relaxed);
    let more = (count..count + 2).map(message);
    let later = fold(&RunReducer, RunReducer.decode(&bytes).unwrap(), more, &chunks).unwrap();
    let changes = diff_states(&state, &later, &chunks).unwrap();
    let added = changes.iter().filter(|change| change.kind == ChangeKind::Add).count();
    assert_eq!((added, changes.len()), (2, 3));
    assert!(chunks.gets.load(Ordering::Relaxed) <= 6);
}
