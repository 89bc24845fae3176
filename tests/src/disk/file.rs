//! One file of the disk: its stored content, and the changes since, by sectors.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "tests")]

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::seed::Random;

/// Unit that a disk writes completely or not at all.
const SECTOR: usize = 512;

#[derive(Debug, Clone)]
enum Change {
    Write { at: usize, data: Vec<u8> },
    Len(usize),
}

#[derive(Debug, Default)]
pub(super) struct FileNode {
    stored: Vec<u8>,
    live: Vec<u8>,
    /// Since the last sync, in order, each with its moment.
    changes: Vec<(u64, Change)>,
    /// Sectors whose last sync failed, with their content on the disk: the kernel takes them for
    /// stored, so no later sync writes them, until they are written to again.
    forgotten: BTreeMap<usize, Vec<u8>>,
}

impl FileNode {
    /// A file that is stored.
    pub(super) fn stored(bytes: Vec<u8>) -> Self {
        Self { live: bytes.clone(), stored: bytes, ..Self::default() }
    }

    pub(super) fn write(&mut self, moment: u64, at: u64, data: &[u8]) {
        let at = at as usize;
        let change = Change::Write { at, data: data.to_vec() };
        change.apply(&mut self.live);
        for sector in change.sectors(0) {
            self.forgotten.remove(&sector);
        }
        self.changes.push((moment, change));
    }

    pub(super) fn truncate(&mut self, moment: u64, len: u64) {
        if len as usize == self.live.len() {
            return;
        }
        let change = Change::Len(len as usize);
        change.apply(&mut self.live);
        self.changes.push((moment, change));
    }

    pub(super) fn sync(&mut self) {
        for (_, change) in self.changes.drain(..) {
            change.apply(&mut self.stored);
        }
        for (sector, bytes) in &self.forgotten {
            let from = sector * SECTOR;
            if from < self.stored.len() {
                let to = (from + SECTOR).min(self.stored.len());
                self.stored[from..to].copy_from_slice(&bytes[..to - from]);
            }
        }
    }

    /// Marks the changes as stored without storing them.
    pub(super) fn sync_failed(&mut self) {
        for (_, change) in &self.changes {
            for sector in change.sectors(0) {
                let mut bytes = vec![0; SECTOR];
                let from = (sector * SECTOR).min(self.stored.len());
                let to = (from + SECTOR).min(self.stored.len());
                bytes[..to - from].copy_from_slice(&self.stored[from..to]);
                self.forgotten.entry(sector).or_insert(bytes);
            }
        }
    }

    pub(super) fn is_pending(&self) -> bool {
        !self.changes.is_empty()
    }

    pub(super) fn pending(&self) -> impl Iterator<Item = u64> {
        self.changes.iter().map(|(moment, _)| *moment)
    }

    /// A moment at which it was changed.
    pub(super) fn moment(&self, random: &mut Random) -> u64 {
        match self.changes.len() as u64 {
            0 => 0,
            len => self.changes[random.below(len) as usize].0,
        }
    }

    pub(super) fn none(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.stored)
    }

    pub(super) fn all(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.live)
    }

    /// Returns the content at a moment: stored and later changes.
    pub(super) fn until(&self, moment: u64) -> Vec<u8> {
        let mut bytes = self.stored.clone();
        for (at, change) in &self.changes {
            if *at <= moment {
                change.apply(&mut bytes);
            }
        }
        bytes
    }

    /// Returns each sector as it was at some moment since the last sync; the length of some moment
    /// too, or the present one.
    pub(super) fn some(&self, random: &mut Random, present_length: bool) -> Vec<u8> {
        // In one image few sectors are lost, in another most.
        let (kept, of) = [(1, 2), (9, 10), (1, 10)][random.below(3) as usize];
        let mut len = self.stored.len();
        let mut lengths = vec![len];
        let mut touched: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, (_, change)) in self.changes.iter().enumerate() {
            for sector in change.sectors(len) {
                touched.entry(sector).or_default().push(index);
            }
            len = change.length(len);
            lengths.push(len);
        }
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let mut bytes = self.stored.clone();
        bytes.resize(longest, 0);
        for (sector, changes) in touched {
            let count = if random.below(of) < kept {
                changes.len()
            } else {
                random.below(changes.len() as u64) as usize
            };
            let from = sector * SECTOR;
            let to = (from + SECTOR).min(longest);
            for index in &changes[..count] {
                self.changes[*index].1.apply_within(&mut bytes, from, to);
            }
        }
        let len = if present_length || random.below(2) == 0 {
            self.live.len()
        } else {
            lengths[random.below(lengths.len() as u64) as usize]
        };
        bytes.resize(len, 0);
        bytes
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write { at, data } => {
                if bytes.len() < at + data.len() {
                    bytes.resize(at + data.len(), 0);
                }
                bytes[*at..at + data.len()].copy_from_slice(data);
            }
            Self::Len(len) => bytes.resize(*len, 0),
        }
    }

    /// Applies the part of a change that concerns some bytes of the file.
    fn apply_within(&self, bytes: &mut [u8], from: usize, to: usize) {
        match self {
            Self::Write { at, data } => {
                let (start, end) = ((*at).max(from), (at + data.len()).min(to));
                if start < end {
                    bytes[start..end].copy_from_slice(&data[start - at..end - at]);
                }
            }
            Self::Len(len) => bytes[(*len).clamp(from, to)..to].fill(0),
        }
    }

    fn length(&self, before: usize) -> usize {
        match self {
            Self::Write { at, data } => before.max(at + data.len()),
            Self::Len(len) => *len,
        }
    }

    /// The sectors it changes; a cut changes those up to the length before.
    fn sectors(&self, before: usize) -> BTreeSet<usize> {
        let (from, to) = match self {
            Self::Write { at, data } => (*at, at + data.len()),
            Self::Len(len) => (*len, before.max(*len)),
        };
        (from / SECTOR..to.div_ceil(SECTOR)).collect()
    }
}
