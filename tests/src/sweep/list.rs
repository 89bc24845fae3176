//! Cases of a store: every file, every kind of damage, every byte of each header.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::cases::{Case, Damage, PAGE, kind_of};
use super::stores::{Left, Stores};
use crate::archive;
use crate::folder;
use crate::seed::Random;

/// A bit is flipped in each byte at a multiple of this, a prime, so that it meets all places of
/// what repeats.
const STRIDE: usize = 997;

/// Number of places at which each file is cut.
const CUTS: u64 = 64;

/// Pages of each kind of damage for each file, at most.
const PAGES: u64 = 24;

/// The files of a store, in order.
pub fn files(root: &Path) -> Vec<String> {
    fn walk(root: &Path, under: &str, found: &mut Vec<String>) {
        for entry in fs::read_dir(root.join(under)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = if under.is_empty() { name } else { format!("{under}/{name}") };
            if entry.file_type().unwrap().is_dir() {
                walk(root, &path, found);
            } else {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(root, "", &mut found);
    found.sort();
    found
}

/// All cases of a store. `seed` chooses bits, noise, and which pages.
pub fn all(stores: &Stores, left: Left, seed: u64) -> Vec<Case> {
    let root = stores.store(left);
    let files = files(&root);
    let mut cases = Vec::new();
    for file in &files {
        let bytes = fs::read(root.join(file)).unwrap();
        let salt = file.bytes().fold(seed, |n, b| n.rotate_left(7) ^ u64::from(b));
        let mut random = Random::new(salt);
        let mut damages = within(file, &bytes, &mut random);
        damages.push(Damage::Remove);
        let others = files.iter().filter(|other| *other > file);
        for with in others.filter(|other| kind_of(other) == kind_of(file)) {
            damages.push(Damage::Swap { with: with.clone() });
        }
        for (copy, older) in stores.older(left).iter().enumerate() {
            if older.join(file).exists() {
                damages.push(Damage::Older { copy });
            }
        }
        for damage in damages {
            let case = Case { left, file: file.clone(), damage };
            // Zeros over zeros are no damage.
            if case.content(stores, &bytes).as_ref() != Some(&bytes) {
                cases.push(case);
            }
        }
    }
    cases
}

fn within(file: &str, bytes: &[u8], random: &mut Random) -> Vec<Damage> {
    let len = bytes.len() as u64;
    let mut damages = Vec::new();
    // Every byte of the smallest files.
    let stride = if len <= PAGE { 1 } else { STRIDE };
    for at in (0..len).step_by(stride) {
        let bit = random.below(8) as u8;
        damages.push(Damage::Flip { at, bit });
    }
    for header in headers(file, bytes) {
        for at in header {
            let bit = random.below(8) as u8;
            damages.push(Damage::Header { at, bit });
        }
    }
    let mut cuts: Vec<_> = (0..CUTS).map(|n| len * n / CUTS).collect();
    cuts.push(len.saturating_sub(1));
    cuts.dedup();
    damages.extend(cuts.into_iter().map(|len| Damage::Cut { len }));
    let pages = len.div_ceil(PAGE);
    for n in 0..pages.min(PAGES) {
        // Half of them where something is, as far as the zeros at the end tell.
        let used = bytes.iter().rposition(|b| *b != 0).unwrap_or(0) as u64 / PAGE + 1;
        let among = if n % 2 == 0 { used } else { pages };
        let at = random.below(among) * PAGE;
        damages.push(Damage::Zeros { at });
        let seed = random.below(1 << 32);
        damages.push(Damage::Noise { at, seed });
        // Not all that is lost is lost at a page's beginning.
        let at = random.below(len);
        damages.push(Damage::Zeros { at });
        let (from, to) = (random.below(used) * PAGE, random.below(among) * PAGE);
        damages.push(Damage::Misdirected { from, to });
    }
    damages
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}

/// Returns the positions of headers in a file (`docs/FORMAT.md`).
fn headers(file: &str, bytes: &[u8]) -> Vec<Range<u64>> {
    let span = |at: usize, len: usize| at as u64..(at + len).min(bytes.len()) as u64;
    let mut found = Vec::new();
    match kind_of(file) {
        "segment" => {
            found.push(span(0, 80));
            found.extend(frames(bytes).map(|(_, frame)| frame.start..frame.start + 64));
        }
        "spare segment" => found.push(span(0, 80)),
        "pack" | "copy of a pack" => {
            let mut at = 0;
            while let Some(stored) = number(bytes, at + 12) {
                found.push(span(at, 64));
                at += 64 + stored as usize;
            }
        }
        "archive" | "block file" => {
            found.push(span(0, 80));
            let heads = archive::parts(bytes).into_iter().map(|part| part.head);
            found.extend(heads.map(|head| span(head.start, head.len())));
        }
        "sled db" | "sled conf" | "sled snap" => found.push(span(0, 64)),
        _ => {}
    }
    found
}

/// Returns the frames of a segment: commit and position.
fn frames(bytes: &[u8]) -> impl Iterator<Item = (u64, Range<u64>)> {
    let mut at = PAGE as usize;
    std::iter::from_fn(move || {
        let header = bytes.get(at..at + 64)?;
        if header[16..20] != *b"MPFR" {
            return None;
        }
        let len = number(header, 20)? as usize;
        let seq = u64::from_le_bytes(*header[24..].first_chunk::<8>()?);
        let start = at;
        at += (64 + len).next_multiple_of(8);
        Some((seq, start as u64..at as u64))
    })
}

/// Bytes with one copy: frames of the journal that are not applied, and entries of packs that are
/// not copied.
#[derive(Debug, Default)]
pub struct OnlyCopies(BTreeMap<String, Range<u64>>);

impl OnlyCopies {
    pub fn of(stores: &Stores, left: Left) -> Self {
        let (root, applied) = (stores.store(left), stores.applied(left));
        let mut found = BTreeMap::new();
        for file in files(&root) {
            if kind_of(&file) == "pack" {
                let len = |path: PathBuf| fs::metadata(path).map_or(0, |meta| meta.len());
                let pack = root.join(&file);
                let (copied, end) = (len(folder::copy_of(&pack)), len(pack));
                if copied < end {
                    found.insert(file, copied..end);
                }
                continue;
            }
            if kind_of(&file) != "segment" {
                continue;
            }
            let bytes = fs::read(root.join(&file)).unwrap();
            let mut waiting = frames(&bytes).filter(|(seq, _)| *seq > applied);
            if let Some((_, first)) = waiting.next() {
                let end = waiting.last().map_or(first.end, |(_, last)| last.end);
                found.insert(file, first.start..end);
            }
        }
        Self(found)
    }

    /// Returns `true` if a case damages bytes with one copy. The header of a segment counts as
    /// such: it tells which frames belong to the segment.
    pub fn hit_by(&self, case: &Case) -> bool {
        let hits = |file: &String| {
            self.0.get(file).is_some_and(|only| match case.span() {
                None => true,
                Some(span) => {
                    let is_header = kind_of(file) == "segment" && span.start < 80;
                    is_header || (span.start < only.end && only.start < span.end)
                }
            })
        };
        let other = match &case.damage {
            Damage::Swap { with } => hits(with),
            _ => false,
        };
        hits(&case.file) || other
    }
}

/// Some cases of each kind of damage to each kind of file: all of a few, and every k-th of many.
/// `seed` says where it begins; `times` as many are taken.
pub fn sample(cases: Vec<Case>, seed: u64, times: usize) -> Vec<Case> {
    let mut groups: BTreeMap<_, Vec<Case>> = BTreeMap::new();
    for case in cases {
        let group = groups.entry((case.kind(), case.damage.kind())).or_default();
        group.push(case);
    }
    let mut random = Random::new(seed);
    let mut chosen = Vec::new();
    for group in groups.into_values() {
        let k = (group.len() / (times + times * group.len().isqrt() / 6)).max(1);
        let first = random.below(k as u64) as usize;
        chosen.extend(group.into_iter().skip(first).step_by(k));
    }
    chosen
}
