//! The permission bits of one file or folder: those that are stored, and those given since.
#![allow(clippy::indexing_slicing, missing_docs, reason = "tests")]

use crate::seed::Random;

#[derive(Debug)]
pub(super) struct Bits {
    stored: u32,
    /// Since the last sync, in order, each with its moment.
    changes: Vec<(u64, u32)>,
}

impl Bits {
    /// Those that it was made with, which come with it.
    pub(super) fn stored(mode: u32) -> Self {
        let (stored, changes) = (mode & 0o7777, Vec::new());
        Self { stored, changes }
    }

    pub(super) fn set(&mut self, moment: u64, mode: u32) {
        self.changes.push((moment, mode & 0o7777));
    }

    pub(super) fn sync(&mut self) {
        self.stored = self.all();
        self.changes.clear();
    }

    pub(super) fn is_pending(&self) -> bool {
        !self.changes.is_empty()
    }

    pub(super) fn pending(&self) -> impl Iterator<Item = u64> {
        self.changes.iter().map(|(moment, _)| *moment)
    }

    pub(super) fn none(&self) -> u32 {
        self.stored
    }

    pub(super) fn all(&self) -> u32 {
        self.changes.last().map_or(self.stored, |(_, bits)| *bits)
    }

    pub(super) fn until(&self, moment: u64) -> u32 {
        let mut changes = self.changes.iter().rev();
        let last = changes.find(|(at, _)| *at <= moment);
        last.map_or(self.stored, |(_, bits)| *bits)
    }

    /// Any that it had since the last sync.
    pub(super) fn some(&self, random: &mut Random) -> u32 {
        match random.below(self.changes.len() as u64 + 1) {
            0 => self.stored,
            n => self.until(self.changes[n as usize - 1].0),
        }
    }
}
