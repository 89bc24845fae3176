//! Damage under a valid check, as a bug or an attacker with write access could leave it.
//!
//! A check protects against accidents only. So a decoder does not trust the bytes under it either.

use crate::arbitrary::config;
use crate::decoders::{DECODERS, Decoder, samples_of};
use milepost_codec::{ChunkEntry, ErrorKind};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// The place of the check in a stored type.
struct Seal {
    name: &'static str,
    check_at: usize,
    /// Bytes of the check.
    check_len: usize,
}

fn seals() -> Vec<Seal> {
    let seal = |name, check_at| Seal { name, check_at, check_len: 16 };
    vec![
        seal("frame", 0),
        seal("segment header", 64),
        seal("chunk", 48),
        seal("chunk group", 16),
        seal("block file header", 64),
        Seal { check_len: 32, ..seal("block of runs", 32) },
        seal("commit table", 56),
    ]
}

fn decoder(name: &str) -> &'static Decoder {
    DECODERS.iter().find(|decoder| decoder.name == name).unwrap()
}

/// Writes the check that damaged bytes would have.
fn reseal(seal: &Seal, bytes: &mut [u8]) {
    let after = seal.check_at + seal.check_len;
    if bytes.len() < after {
        return;
    }
    let under = match seal.name {
        "frame" if bytes.len() < 64 => return,
        "frame" => {
            let len = u32::from_le_bytes(bytes[20..24].try_into().unwrap()) as usize;
            bytes[16..bytes.len().min(64_usize.saturating_add(len))].to_vec()
        }
        "segment header" | "block file header" => bytes[..64].to_vec(),
        _ => [&bytes[..seal.check_at], &bytes[after..]].concat(),
    };
    let check = blake3::hash(&under);
    bytes[seal.check_at..after].copy_from_slice(&check.as_bytes()[..seal.check_len]);
}

/// A chunk is under its id as well.
fn rename(seal: &Seal, bytes: &mut [u8]) {
    if seal.name == "chunk" && bytes.len() >= ChunkEntry::HEADER_LEN && bytes[4] & 1 == 0 {
        let id = ChunkEntry::id_of(&bytes[ChunkEntry::HEADER_LEN..]);
        bytes[16..48].copy_from_slice(&id.0);
    }
}

fn feed(seal: &Seal, bytes: &[u8]) -> milepost_codec::Result<()> {
    let outcome = (decoder(seal.name).decode)(bytes);
    if let Err(error) = &outcome {
        let known = matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported);
        assert!(known, "{}: {error}", seal.name);
    }
    outcome
}

#[test]
fn sealing_again_what_is_whole_changes_nothing() {
    for seal in seals() {
        for sample in samples_of(decoder(seal.name)) {
            let mut bytes = sample.clone();
            reseal(&seal, &mut bytes);
            assert_eq!(bytes, sample, "{}", seal.name);
        }
    }
}

#[test]
fn a_changed_bit_under_a_valid_check_never_panics() {
    for seal in seals() {
        for sample in samples_of(decoder(seal.name)) {
            for at in 0..sample.len().min(300) {
                for bit in 0..8 {
                    let mut bytes = sample.clone();
                    bytes[at] ^= 1 << bit;
                    rename(&seal, &mut bytes);
                    reseal(&seal, &mut bytes);
                    feed(&seal, &bytes).ok();
                }
            }
        }
    }
}

/// Types with a version, and its position.
const VERSIONED: [(&str, usize); 4] =
    [("segment header", 4), ("block file header", 4), ("block of runs", 4), ("commit table", 4)];

#[test]
fn a_newer_version_is_unsupported_not_corrupt() {
    for (name, version_at) in VERSIONED {
        let seal = seals().into_iter().find(|seal| seal.name == name).unwrap();
        for version in [0, 2, u16::MAX] {
            let mut bytes = samples_of(decoder(name)).remove(0);
            bytes[version_at..version_at + 2].copy_from_slice(&version.to_le_bytes());
            reseal(&seal, &mut bytes);
            assert_eq!(feed(&seal, &bytes).unwrap_err().kind(), ErrorKind::Unsupported, "{name}");
        }
    }
}

#[test]
fn flags_and_lengths_that_do_not_fit_are_refused() {
    // The offsets of the flags and of the raw length, and an undefined flag.
    let fields = [("block of runs", 6, 8, 16), ("chunk", 4, 8, 4), ("chunk group", 4, 8, 2)];
    for (name, flags_at, raw_at, flag) in fields {
        let seal = seals().into_iter().find(|seal| seal.name == name).unwrap();
        let sample = samples_of(decoder(name)).remove(0);
        let mut flagged = sample.clone();
        flagged[flags_at] |= flag;
        reseal(&seal, &mut flagged);
        assert!(feed(&seal, &flagged).is_err(), "{name}: unknown flag");
        for change in [1, 0xFF] {
            let mut resized = sample.clone();
            resized[raw_at] = resized[raw_at].wrapping_add(change);
            reseal(&seal, &mut resized);
            assert!(feed(&seal, &resized).is_err(), "{name}: raw length off by one");
        }
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn damage_under_a_valid_check_never_panics(
        flips in vec((any::<Index>(), any::<u8>()), 1..8),
        cut in any::<Option<Index>>(),
        which in any::<Index>(),
    ) {
        for seal in seals() {
            let samples = samples_of(decoder(seal.name));
            let mut bytes = which.get(&samples).clone();
            bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
            for (at, value) in &flips {
                let len = bytes.len().min(400);
                if let Some(byte) = bytes.get_mut(at.index(len.max(1))) {
                    *byte = *value;
                }
            }
            rename(&seal, &mut bytes);
            reseal(&seal, &mut bytes);
            feed(&seal, &bytes).ok();
        }
    }
}
