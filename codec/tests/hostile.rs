//! Arbitrary bytes in every decoder: no panic, an error that names the damage, and no more memory
//! than the input justifies (promise I4).
//!
//! `PROPTEST_RNG_SEED` repeats a run. Content under a hash is damaged before it is sealed in
//! `format/sealed.rs`.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod arbitrary;
mod decoders;
mod samples;

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use arbitrary::config;
use decoders::{DECODERS, Decoder, samples_of};
use milepost_codec::{Body, ErrorKind, Node, NodeKind, Result, put_varint};
use peak_alloc::PeakAlloc;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Held by each test: the allocator counts for the whole process, so one runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Decodes, and asserts what holds for every input.
fn feed(decoder: &Decoder, bytes: &[u8]) -> Result<()> {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let outcome = (decoder.decode)(bytes);
    let peak = MEMORY.peak_usage().saturating_sub(before);
    let (name, len) = (decoder.name, bytes.len());
    assert!(peak <= 64 * len + (64 << 10), "{name}: {peak} bytes allocated for {len}");
    if let Err(error) = &outcome {
        let kind = error.kind();
        let expected = match decoder.request {
            true => kind == ErrorKind::Invalid,
            false => matches!(kind, ErrorKind::Corrupt | ErrorKind::Unsupported),
        };
        assert!(expected, "{name}: {kind:?}: {error}");
    }
    outcome
}

#[test]
fn what_was_written_is_read() {
    let _alone = alone();
    for decoder in DECODERS.iter() {
        for bytes in samples_of(decoder) {
            feed(decoder, &bytes).unwrap();
        }
    }
}

#[test]
fn a_changed_bit_or_a_cut_never_panics() {
    let _alone = alone();
    for decoder in DECODERS.iter() {
        for bytes in samples_of(decoder) {
            for at in 0..bytes.len().min(400) {
                feed(decoder, &bytes[..at]).ok();
                for bit in 0..8 {
                    let mut bad = bytes.clone();
                    bad[at] ^= 1 << bit;
                    let outcome = feed(decoder, &bad);
                    assert!(!decoder.checked || at >= 80 || outcome.is_err(), "{}", decoder.name);
                }
            }
        }
    }
}

#[test]
fn a_huge_length_anywhere_costs_nothing() {
    let _alone = alone();
    let huge = [u64::MAX, 1 << 40, 1 << 32, 1 << 30, 1 << 24];
    for decoder in DECODERS.iter() {
        for bytes in samples_of(decoder) {
            for at in 0..bytes.len().min(400) {
                for length in huge {
                    let mut bad = bytes[..at].to_vec();
                    bad.push(253);
                    bad.extend_from_slice(&length.to_le_bytes());
                    bad.extend_from_slice(&bytes[at + 1..]);
                    feed(decoder, &bad).ok();
                }
            }
        }
    }
}

/// A list claims what its limit allows, and what its first items give back is claimed again.
#[test]
fn claims_within_claims_stay_bounded() {
    let _alone = alone();
    let marked = DECODERS.iter().find(|d| d.name == "event body 17").unwrap();
    let base = DECODERS.iter().find(|d| d.name == "base").unwrap();
    for len in [1 << 10, 5 << 10, 1 << 14, 3 << 15, 1 << 18, 3 << 18] {
        for claim in (4..=132).step_by(4).map(|n| n * len as u64) {
            // A mark's aliases: empty strings, and then one that claims a multiple of the input.
            let mut bytes = vec![0; 6];
            put(&mut bytes, claim / 24);
            bytes.resize(len - 9, 0);
            put(&mut bytes, claim);
            feed(marked, &bytes).ok();

            // A base's states: empty ones, and then one that claims.
            let mut bytes = samples::bases()[1].1.encode();
            bytes.truncate(bytes.len() - 3);
            put(&mut bytes, claim / 88);
            bytes.resize(len - 9, 0);
            put(&mut bytes, claim / 32);
            feed(base, &bytes).ok();
        }
    }
}

#[test]
fn long_honest_lists_are_read() {
    let _alone = alone();
    let marked = DECODERS.iter().find(|d| d.name == "event body 17").unwrap();
    let edited = DECODERS.iter().find(|d| d.name == "event body 10").unwrap();
    for count in [1, 10, 100, 1000, 10_000, 100_000, 1_000_000] {
        let mut bytes = vec![0; 6];
        put(&mut bytes, count);
        bytes.resize(bytes.len() + count as usize, 0);
        feed(marked, &bytes).unwrap();
    }
    for count in [1, 10, 100, 1000, 10_000, 60_000] {
        let mut bytes = Vec::new();
        put(&mut bytes, count);
        for n in 0..count as u16 {
            // Three characters that differ for each, and the value 0.
            let key = char::from_u32(0x1_0000 + u32::from(n)).unwrap().to_string();
            put(&mut bytes, key.len() as u64);
            bytes.extend_from_slice(key.as_bytes());
            bytes.extend_from_slice(b"\x010");
        }
        feed(edited, &bytes).unwrap();
    }
}

#[test]
fn long_honest_trees_are_read() {
    let _alone = alone();
    let find = |name: &str| *DECODERS.iter().find(|d| d.name == name).unwrap();
    for count in [1_u32, 100, 10_000, 80_000] {
        // The shortest entries that there are: symlinks to `t`.
        let mut bytes = vec![2, 1];
        put_varint(&mut bytes, count.into());
        for n in 0..count {
            let name = [n / 262_144, n / 4096 % 64, n / 64 % 64, n % 64].map(|d| d as u8 + 64);
            let name = if count == 1 { &name[3..] } else { &name[..] };
            bytes.push(name.len() as u8);
            bytes.extend_from_slice(name);
            bytes.extend_from_slice(&[2, 0, 1, b't']);
        }
        feed(find("tree node"), &bytes).unwrap();

        // And the shortest actions: to make one.
        let mut bytes = vec![6, 1];
        put_varint(&mut bytes, count.into());
        for _ in 0..count {
            bytes.extend_from_slice(&[0, 1, b'p', 0, 0, 1, 2, 0, 1, b't']);
        }
        feed(find("restore plan"), &bytes).unwrap();
    }
    // Counts that the input cannot hold, each with as much behind it as would nearly do.
    for (tag, each) in [(2_u8, 6), (3, 35), (4, 36), (5, 40), (6, 10)] {
        let name = if tag == 6 { "restore plan" } else { "tree node" };
        for count in [2_usize, 100, 10_000] {
            let mut bytes = vec![tag, 1];
            if (4..=5).contains(&tag) {
                bytes.push(0);
            }
            put_varint(&mut bytes, count as u64);
            bytes.resize(bytes.len() + count * each - 1, 1);
            let error = feed(find(name), &bytes).unwrap_err();
            assert!(error.to_string().contains(&format!("{count} items")), "{error}");
        }
    }
}

/// A directory of symlinks of these names, in this order.
fn directory(names: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![2, 1, names.len() as u8];
    for name in names {
        bytes.push(name.len() as u8);
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(&[2, 0, 1, b't']);
    }
    bytes
}

#[test]
fn names_that_lead_elsewhere_or_stand_out_of_order_are_refused() {
    let _alone = alone();
    let decoder = DECODERS.iter().find(|d| d.name == "tree node").unwrap();
    let bad: [&[&[u8]]; 13] = [
        &[b""],
        &[b"."],
        &[b".."],
        &[b"/"],
        &[b"/etc"],
        &[b"a/../b"],
        &[b"a\0"],
        &[b".git"],
        &[b".GIT"],
        &[b"b", b"a"],
        &[b"a", b"a"],
        &[b"ab", b"a"],
        &[b"a", b"c", b"b"],
    ];
    for names in bad {
        feed(decoder, &directory(names)).unwrap_err();
    }
    feed(decoder, &directory(&[b"...", b".gitignore", b"a", b"ab", b"b", b"\xff"])).unwrap();
}

#[test]
fn a_node_of_a_later_version_is_unsupported_and_one_that_is_another_is_corrupt() {
    let _alone = alone();
    for (name, node) in samples::nodes() {
        let mut bytes = node.encode();
        for version in [0, 2, 255] {
            bytes[1] = version;
            let error = Node::decode(&bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}: {error}");
        }
        let bytes = node.encode();
        let fits: Vec<_> = [
            NodeKind::Capture,
            NodeKind::Tree,
            NodeKind::Leaf,
            NodeKind::List,
            NodeKind::Part,
            NodeKind::Content,
        ]
        .into_iter()
        .filter(|expect| Node::decode_as(&bytes, *expect).is_ok())
        .collect();
        let expected: &[NodeKind] = match name {
            "capture" | "capture, of nothing" => &[NodeKind::Capture],
            "directory" => &[NodeKind::Tree, NodeKind::Leaf],
            "directory, empty" | "leaves" => &[NodeKind::Tree],
            "file" => &[NodeKind::List, NodeKind::Part],
            "long file" => &[NodeKind::List],
            _ => &[],
        };
        assert_eq!(fits, expected, "{name}");
    }
    assert!(Node::decode(&samples::plan().encode()).is_err());
    assert!(Node::decode(b"").is_err());
}

fn put(out: &mut Vec<u8>, number: u64) {
    out.push(253);
    out.extend_from_slice(&number.to_le_bytes());
}

/// Each extra field was once compared with each other one: this took minutes.
#[test]
fn a_message_of_very_many_extra_fields_is_read_in_one_pass() {
    let _alone = alone();
    let fields: Vec<_> = (0..200_000).map(|n| format!("\"{n}\":1")).collect();
    let line = format!("{{\"kind\":\"message\",\"role\":\"r\",{}}}", fields.join(","));
    let body = Body::from_json(&line).unwrap();
    assert_eq!(body.to_json().unwrap(), line);
    let json = DECODERS.iter().find(|d| d.request).unwrap();
    feed(json, line.as_bytes()).unwrap();
    let same = format!("{{\"kind\":\"message\",\"role\":\"r\"{}}}", ",\"\":1".repeat(200_000));
    feed(json, same.as_bytes()).unwrap();
}

/// One way to damage bytes.
#[derive(Debug, Clone)]
enum Damage {
    Flip(Index, u8),
    Set(Index, u8),
    Cut(Index),
    Remove(Index, usize),
    Repeat(Index, usize),
    Length(Index, u64),
    Splice(Index, Index, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    let length = prop_oneof![any::<u64>(), (0..40_u32).prop_map(|n| 1 << n)];
    prop_oneof![
        3 => (at(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        2 => (at(), any::<u8>()).prop_map(|(at, value)| Damage::Set(at, value)),
        1 => at().prop_map(Damage::Cut),
        1 => (at(), 1..20_usize).prop_map(|(at, len)| Damage::Remove(at, len)),
        1 => (at(), 1..200_usize).prop_map(|(at, len)| Damage::Repeat(at, len)),
        2 => (at(), length).prop_map(|(at, length)| Damage::Length(at, length)),
        1 => (at(), at(), at()).prop_map(|(at, other, from)| Damage::Splice(at, other, from)),
    ]
}

fn apply(damage: &Damage, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
    let size = bytes.len();
    if size == 0 {
        return;
    }
    match damage {
        Damage::Flip(at, bit) => bytes[at.index(size)] ^= 1 << bit,
        Damage::Set(at, value) => bytes[at.index(size)] = *value,
        Damage::Cut(at) => bytes.truncate(at.index(size)),
        Damage::Remove(at, len) => {
            let at = at.index(size);
            bytes.drain(at..size.min(at + len));
        }
        Damage::Repeat(at, len) => {
            let at = at.index(size);
            bytes.extend_from_within(at..size.min(at + len));
        }
        Damage::Length(at, length) => {
            let at = at.index(size);
            let mut marker = Vec::new();
            put(&mut marker, *length);
            bytes.splice(at..=at, marker);
        }
        Damage::Splice(at, other, from) => {
            let other = other.get(others);
            bytes.truncate(at.index(size));
            bytes.extend_from_slice(&other[from.index(other.len().max(1)).min(other.len())..]);
        }
    }
}

/// Runs a property as a test that is alone.
fn for_all<S: Strategy>(values: S, property: impl Fn(S::Value)) {
    let _alone = alone();
    let config = ProptestConfig { source_file: Some(file!()), ..config(600) };
    let outcome = TestRunner::new(config).run(&values, |value| {
        property(value);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn arbitrary_bytes_are_refused_or_read_in_bounded_memory() {
    for_all(vec(any::<u8>(), 0..600), |bytes| {
        DECODERS.iter().for_each(|decoder| drop(feed(decoder, &bytes)));
    });
}

#[test]
fn small_bytes_are_refused_or_read_in_bounded_memory() {
    for_all(vec(0..4_u8, 0..600), |bytes| {
        DECODERS.iter().for_each(|decoder| drop(feed(decoder, &bytes)));
    });
}

#[test]
fn damaged_bytes_are_refused_or_read_in_bounded_memory() {
    // Made by the first case, which is alone: what it allocates counts in no other test.
    let all: LazyLock<Vec<_>> =
        LazyLock::new(|| DECODERS.iter().flat_map(|it| samples_of(it)).collect());
    for_all((any::<Index>(), vec(damage(), 1..6)), |(sample, damages)| {
        let mut bytes = sample.get(&all).clone();
        damages.iter().for_each(|damage| apply(damage, &mut bytes, &all));
        DECODERS.iter().for_each(|decoder| drop(feed(decoder, &bytes)));
    });
}

#[test]
fn a_damaged_body_is_refused_or_read_and_can_be_written_again() {
    for_all((arbitrary::known_body(), vec(damage(), 1..4)), |(body, damages)| {
        let (kind, mut bytes) = body.encode();
        damages.iter().for_each(|damage| apply(damage, &mut bytes, &[vec![253]]));
        let name = format!("event body {kind}");
        let decoder = DECODERS.iter().find(|decoder| decoder.name == name).unwrap();
        if feed(decoder, &bytes).is_ok() {
            // The same value, if not the same bytes.
            let read = Body::decode(kind, &bytes).unwrap();
            let (kind, again) = read.encode();
            assert_eq!(Body::decode(kind, &again).unwrap(), read);
        }
    });
}
