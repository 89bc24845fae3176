//! Searches for bytes in files, as stored and unpacked.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The beginning of a zstd frame.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A frame is unpacked up to here. No block of a store has more.
const UNPACKED_MAX: u64 = 64 << 20;

/// Every file below a folder.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// The files below a folder that hold one of some texts, and which one.
pub fn holding<N: AsRef<[u8]>>(root: &Path, needles: &[N]) -> Vec<(PathBuf, usize)> {
    let mut found = Vec::new();
    for path in files(root) {
        // A file may go at any time where the store is open.
        let bytes = fs::read(&path).unwrap_or_default();
        let name = path.to_string_lossy();
        for (n, needle) in needles.iter().enumerate() {
            if has(name.as_bytes(), needle.as_ref()) {
                found.push((path.clone(), n));
            }
        }
        look(&bytes, &mut |bytes| {
            for (n, needle) in needles.iter().enumerate() {
                if has(bytes, needle.as_ref()) {
                    found.push((path.clone(), n));
                }
            }
        });
    }
    found.sort();
    found.dedup();
    found
}

/// Gives bytes, and all that is packed in them.
fn look(bytes: &[u8], give: &mut dyn FnMut(&[u8])) {
    give(bytes);
    for at in places(bytes, &FRAME) {
        let Ok(frame) = zstd::stream::read::Decoder::new(&bytes[at..]) else {
            continue;
        };
        let mut unpacked = Vec::new();
        // The readable part of a truncated frame counts too.
        let _ = frame.single_frame().take(UNPACKED_MAX).read_to_end(&mut unpacked);
        if !unpacked.is_empty() {
            look(&unpacked, give);
        }
    }
}

fn has(bytes: &[u8], needle: &[u8]) -> bool {
    places(bytes, needle).next().is_some()
}

/// The places at which bytes are.
fn places<'a>(bytes: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(rest) = bytes.get(from..).filter(|rest| rest.len() >= needle.len()) {
            // Most of a file holds none of it, and this look is quick.
            let begin = rest.chunks(4096).take_while(|piece| !piece.contains(&needle[0]));
            from += begin.map(<[u8]>::len).sum::<usize>();
            let rest = bytes.get(from..)?;
            let next = rest.iter().take(4096).position(|byte| *byte == needle[0]);
            let Some(next) = next else {
                from += rest.len().min(4096);
                continue;
            };
            from += next + 1;
            if bytes[from - 1..].starts_with(needle) {
                return Some(from - 1);
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_as_it_is_and_packed_twice() {
        let dir = tempfile::tempdir().unwrap();
        let mut long = vec![b'x'; 10_000];
        long.extend_from_slice(b"a needle");
        let packed = zstd::bulk::compress(&long, 1).unwrap();
        let twice = zstd::bulk::compress(&[b"front".to_vec(), packed.clone()].concat(), 1).unwrap();
        let files = [long, packed, twice, b"a needl".to_vec()];
        for (n, bytes) in files.iter().enumerate() {
            fs::write(dir.path().join(n.to_string()), bytes).unwrap();
        }
        let found = holding(dir.path(), &[&b"another"[..], b"a needle"]);
        let expected = [0, 1, 2].map(|n| (dir.path().join(n.to_string()), 1));
        assert_eq!(found, expected);
    }
}
