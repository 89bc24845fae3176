//! Limits of the machine on one core, with the libraries that Milepost uses.

use std::hint::black_box;
use std::io::Write as _;

use super::figures::Figures;
use crate::corpus::Rounds;
use crate::measure::seconds;
use crate::rows::folder;

/// Copying, hashing, packing, unpacking, writing.
pub fn limits(figures: &mut Figures, rounds: usize, bytes: u64) {
    let round = Rounds::of(1).round(0);
    let mut text = Vec::new();
    for body in round.iter().cycle() {
        text.extend(body.encode().1);
        if text.len() as u64 >= bytes {
            break;
        }
    }
    let mb = text.len() as f64 / 1e6;
    let mut copy = vec![0_u8; text.len()];
    for _ in 0..rounds {
        let mut add = |what: &str, took: f64| {
            figures.add("limits", what, "one core", "MB/s", mb / took);
        };
        add("copy in memory", seconds(|| copy.copy_from_slice(&text)));
        black_box(&copy);
        add(
            "BLAKE3, all at once",
            seconds(|| {
                black_box(blake3::hash(&text));
            }),
        );
        add(
            "BLAKE3, 600 B at a time",
            seconds(|| {
                text.chunks(600).for_each(|piece| {
                    black_box(blake3::hash(piece));
                });
            }),
        );
        let mut packed = Vec::new();
        add(
            "zstd 1, blocks of 16 KiB",
            seconds(|| {
                packed = text
                    .chunks(16 << 10)
                    .map(|block| zstd::bulk::compress(block, 1).unwrap())
                    .collect();
            }),
        );
        add(
            "unpacked again",
            seconds(|| {
                let mut out = vec![0; 16 << 10];
                for block in &packed {
                    black_box(zstd::bulk::decompress_to_buffer(block, &mut out).unwrap());
                }
            }),
        );
        let dir = folder();
        let mut file = std::fs::File::create(dir.path().join("raw")).unwrap();
        add(
            "written in pieces of 1 MiB, fdatasync behind each",
            seconds(|| {
                for piece in text.chunks(1 << 20) {
                    file.write_all(piece).unwrap();
                    file.sync_data().unwrap();
                }
            }),
        );
    }
}
