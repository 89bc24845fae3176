//! Sequences against a plain vector, with thresholds small enough to cross several levels.

use std::sync::atomic::{AtomicU64, Ordering};

use milepost_codec::ErrorKind;
use proptest::prelude::*;

use super::*;
use crate::chunks::MemoryChunks;
use std::sync::Arc;

/// A chunk for each 32 bytes, a list for each 3 pieces.
type Small = Sequence<String, 32, 3>;

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

fn built(items: &[String], chunks: &dyn Chunks) -> Small {
    let mut sequence = Small::default();
    for item in items {
        sequence.push(item, chunks).unwrap();
    }
    sequence
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("item {n}")).collect()
}

proptest! {
    #[test]
    fn a_sequence_is_a_vector(
        items in prop::collection::vec("[a-c]{0,12}", 0..400),
        at in 0_usize..410,
        cut in 0_usize..400,
    ) {
        let chunks = MemoryChunks::default();
        let cut = cut.min(items.len());
        let mut sequence = built(&items[..cut], &chunks);
        // Encoding and decoding half-way changes nothing.
        sequence = Small::decode(&sequence.encode()).unwrap();
        for item in &items[cut..] {
            sequence.push(item, &chunks).unwrap();
        }
        prop_assert_eq!(sequence.len(), items.len() as u64);
        let all: Vec<_> = sequence.iter(&chunks).map(Result::unwrap).collect();
        prop_assert_eq!(&all, &items);
        prop_assert_eq!(sequence.get(at as u64, &chunks).unwrap(), items.get(at).cloned());
        let from: Vec<_> = sequence.iter_from(at as u64, &chunks).map(Result::unwrap).collect();
        prop_assert_eq!(&from[..], items.get(at..).unwrap_or_default());
        prop_assert_eq!(&sequence, &built(&items, &chunks));
        prop_assert_eq!(sequence.encode(), built(&items, &chunks).encode());
    }

    #[test]
    fn the_common_prefix_is_that_of_the_vectors(
        common in prop::collection::vec("[a-b]{0,9}", 0..200),
        ours in prop::collection::vec("[a-b]{0,9}", 0..60),
        theirs in prop::collection::vec("[a-b]{0,9}", 0..60),
    ) {
        let chunks = MemoryChunks::default();
        let a: Vec<_> = common.iter().chain(&ours).cloned().collect();
        let b: Vec<_> = common.iter().chain(&theirs).cloned().collect();
        let expected = a.iter().zip(&b).take_while(|(x, y)| x == y).count() as u64;
        let found = built(&a, &chunks).common_prefix(&built(&b, &chunks), &chunks).unwrap();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn damaged_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = Small::decode(&bytes);
        let chunks = MemoryChunks::default();
        let good = built(&numbered(100), &chunks).encode();
        let at = bytes.len() % good.len();
        let mut bad = good.clone();
        bad[at] ^= bytes.pop().unwrap_or(1);
        if let Ok(sequence) = Small::decode(&bad) {
            sequence.iter(&chunks).for_each(|_| {});
            let _ = sequence.get(50, &chunks);
        }
    }
}

#[test]
fn what_is_held_stays_small() {
    let chunks = MemoryChunks::default();
    let sequence = built(&numbered(20_000), &chunks);
    assert!(sequence.parts.levels.len() > 5);
    assert!(sequence.parts.levels.iter().all(|pieces| pieces.len() < 3));
    assert!(sequence.encode().len() < 1_000);
    assert_eq!(sequence.refers().len(), sequence.parts.levels.iter().flatten().count());
}

#[test]
fn reading_one_item_reads_one_chunk_a_level() {
    let chunks = Counted::default();
    let sequence = built(&numbered(20_000), &chunks);
    assert_eq!(sequence.get(9_999, &chunks).unwrap().as_deref(), Some("item 9999"));
    assert!(chunks.gets.load(Ordering::Relaxed) <= sequence.parts.levels.len() as u64);
}

#[test]
fn the_common_prefix_reads_no_equal_piece() {
    let chunks = Counted::default();
    let a = built(&numbered(20_000), &chunks);
    let mut b = a.clone();
    assert_eq!(a.common_prefix(&b, &chunks).unwrap(), 20_000);
    assert_eq!(chunks.gets.load(Ordering::Relaxed), 0);
    for item in numbered(2_000) {
        b.push(&item, &chunks).unwrap();
    }
    assert_eq!(a.common_prefix(&b, &chunks).unwrap(), 20_000);
    assert!(chunks.gets.load(Ordering::Relaxed) < 40, "a few chunks a level");
}

#[test]
fn items_longer_than_a_chunk_are_cut_and_come_back() {
    let chunks = MemoryChunks::default();
    let mut sequence = Sequence::new();
    let lens = [5, CHUNK_RAW_MAX - 5, 70_000, CHUNK_RAW_MAX - 4, 3 * CHUNK_RAW_MAX, 1, 0];
    let items: Vec<Vec<u8>> = lens.iter().zip(0..).map(|(len, n)| vec![n; *len]).collect();
    for item in &items {
        sequence.push(item, &chunks).unwrap();
    }
    let sequence: Sequence<Vec<u8>> = Sequence::decode(&sequence.encode()).unwrap();
    for (item, index) in items.iter().zip(0..) {
        assert!(sequence.get(index, &chunks).unwrap().as_ref() == Some(item), "item {index}");
    }
    let mut longer = sequence.clone();
    longer.push(&vec![9], &chunks).unwrap();
    assert_eq!(sequence.common_prefix(&longer, &chunks).unwrap(), items.len() as u64);
}

#[test]
fn a_chunk_of_another_sequence_is_corrupt() {
    let chunks = MemoryChunks::default();
    let mut sequence = built(&numbered(100), &chunks);
    let other = chunks.put(b"\x03abc", false).unwrap();
    for piece in sequence.parts.levels.iter_mut().flatten() {
        piece.id = other;
    }
    let errors: Vec<_> = sequence.iter(&chunks).filter_map(Result::err).collect();
    assert_eq!(errors.len(), 1, "it ends after the first error");
    assert_eq!(errors[0].kind(), ErrorKind::Corrupt);
}
