//! Chunks, stored one at a time and many at once.

use milepost_codec::{CHUNK_RAW_MAX, ChunkEntry, ChunkId};

use crate::testing::conformance::{each, names};

#[test]
fn a_chunk_is_stored_once_and_comes_back_by_its_id() {
    each(|subject| {
        let contents = [vec![], vec![7; 100], vec![9; 1 << 20]];
        let mut ids = Vec::new();
        for content in &contents {
            let id = subject.log.put_chunk(content, false).unwrap();
            assert_eq!(subject.log.put_chunk(content, false).unwrap(), id);
            ids.push(id);
        }
        subject.log.sync_chunks().unwrap();
        subject.append(&names(0..1, 10), &[]);
        subject.settle();
        let size = subject.log.disk_bytes().unwrap().packs;
        for (id, content) in ids.iter().zip(&contents) {
            assert_eq!(subject.log.get_chunk(id).unwrap().as_ref(), Some(content));
            subject.log.put_chunk(content, false).unwrap();
        }
        assert_eq!(subject.log.disk_bytes().unwrap().packs, size, "once");
        let none = milepost_codec::ChunkId([1; 32]);
        assert_eq!(subject.log.get_chunk(&none).unwrap(), None);
        assert_eq!(subject.log.damaged_chunks(), (0, 0));
    });
}

/// Returns compressible contents of many sizes.
fn contents(count: usize) -> Vec<Vec<u8>> {
    let content = |n: usize| format!("{n} of many, ").repeat(n * 37 % 900).into_bytes();
    (0..count).map(content).collect()
}

fn slices(contents: &[Vec<u8>]) -> Vec<&[u8]> {
    contents.iter().map(Vec::as_slice).collect()
}

#[test]
fn chunks_that_are_put_together_are_stored_once_and_read_one_by_one() {
    each(|subject| {
        let contents = contents(200);
        // Each chunk twice in one call, one of them stored before, and all of them again.
        let alone = subject.log.put_chunk(&contents[7], false).unwrap();
        let twice = [&contents[..], &contents[..]].concat();
        let ids = subject.log.put_chunks(&slices(&twice)).unwrap();
        let expected: Vec<_> = twice.iter().map(|c| ChunkEntry::id_of(c)).collect();
        assert_eq!(ids, expected, "in their order");
        assert_eq!(ids[7], alone);
        assert_eq!(subject.log.put_chunks(&slices(&contents)).unwrap(), ids[..200]);
        assert_eq!(subject.log.put_chunk(&contents[9], false).unwrap(), ids[9]);
        subject.log.sync_chunks().unwrap();
        subject.append(&names(0..1, 10), &[]);
        subject.settle();
        let size = subject.log.disk_bytes().unwrap().packs;
        for (id, content) in ids.iter().zip(&contents).rev() {
            assert_eq!(subject.log.get_chunk(id).unwrap().as_ref(), Some(content));
        }
        assert_eq!(subject.log.put_chunks(&slices(&contents)).unwrap(), ids[..200]);
        assert_eq!(subject.log.disk_bytes().unwrap().packs, size, "once");
        assert_eq!(subject.log.damaged_chunks(), (0, 0));
        assert_eq!(subject.log.put_chunks(&[]).unwrap(), []);
    });
}

#[test]
fn it_is_known_which_chunks_are_there() {
    each(|subject| {
        let ids = subject.log.put_chunks(&[b"one", b"two"]).unwrap();
        let three = subject.log.put_chunk(b"three", false).unwrap();
        let none = ChunkId([1; 32]);
        subject.append(&names(0..1, 10), &[]);
        for _ in 0..2 {
            let requested = [ids[1], none, three, ids[0], ids[1]];
            let has = subject.log.has_chunks(&requested).unwrap();
            assert_eq!(has, [true, false, true, true, true]);
            assert!(subject.log.has_chunks(&[]).unwrap().is_empty());
            subject.log.uses_chunks(&requested);
            subject.settle();
        }
    });
}

#[test]
fn the_longest_and_the_shortest_chunk_are_put_with_others() {
    each(|subject| {
        let longest = vec![3; CHUNK_RAW_MAX];
        let contents: [&[u8]; 4] = [b"short", &longest, b"", &longest];
        let ids = subject.log.put_chunks(&contents).unwrap();
        subject.settle();
        for (id, content) in ids.iter().zip(contents) {
            assert_eq!(subject.log.get_chunk(id).unwrap().unwrap(), content);
        }
    });
}

#[test]
fn chunks_are_put_into_an_order_without_losing_one() {
    each(|subject| {
        let contents = contents(300);
        let ids = subject.log.put_chunks(&slices(&contents)).unwrap();
        let mut requested = [&ids[..], &[ChunkId([1; 32])]].concat();
        requested.sort();
        let sorted = requested.clone();
        subject.settle();
        subject.log.order_chunks(&mut requested).unwrap();
        if subject.stage != crate::testing::conformance::Stage::Memory {
            assert_eq!(requested[..300], ids, "as they were stored");
        }
        requested.sort();
        assert_eq!(requested, sorted);
    });
}
