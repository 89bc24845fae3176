//! What is recorded: the folders of some trees, read as far as they are asked for.

use milepost::{ErrorKind, Result};
use milepost_codec::{ChunkId, Entry, EntryKind};

use crate::chunks::Chunks;
use crate::tree;

/// The folders of the trees beside those that a walk is in.
pub(super) struct Lasts(Vec<Last>);

impl Lasts {
    /// At the roots of trees.
    pub(super) fn new(roots: &[ChunkId]) -> Self {
        Self(roots.iter().map(|root| Last::new(*root)).collect())
    }

    /// Goes into a folder.
    pub(super) fn enter(&mut self, name: &[u8]) {
        for last in &mut self.0 {
            last.enter(name.into());
        }
    }

    /// Leaves the last folder that was entered.
    pub(super) fn leave(&mut self) {
        self.0.iter_mut().for_each(Last::leave);
    }

    /// Whether a tree has an entry of this name, in the folder where the walk is.
    pub(super) fn has(&mut self, name: &[u8], chunks: &dyn Chunks) -> Result<bool> {
        for last in &mut self.0 {
            if last.has(name, chunks)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The folders of one tree.
struct Last {
    root: ChunkId,
    /// From the root down.
    levels: Vec<Level>,
}

#[derive(Default)]
struct Level {
    name: Box<[u8]>,
    /// Its entries, where they were asked for.
    read: Option<Vec<Entry>>,
}

impl Last {
    fn new(root: ChunkId) -> Self {
        Self { root, levels: vec![Level::default()] }
    }

    fn enter(&mut self, name: Box<[u8]>) {
        self.levels.push(Level { name, read: None });
    }

    fn leave(&mut self) {
        self.levels.pop();
    }

    fn has(&mut self, name: &[u8], chunks: &dyn Chunks) -> Result<bool> {
        let read = self.levels.iter().rposition(|level| level.read.is_some());
        for at in read.map_or(0, |at| at + 1)..self.levels.len() {
            let entries = self.read(at, chunks)?;
            if let Some(level) = self.levels.get_mut(at) {
                level.read = Some(entries);
            }
        }
        let here = self.levels.last().and_then(|level| level.read.as_deref());
        Ok(find(here.unwrap_or_default(), name).is_some())
    }

    /// The entries of a level, where those of the one above are known.
    fn read(&self, at: usize, chunks: &dyn Chunks) -> Result<Vec<Entry>> {
        let above = at.checked_sub(1).and_then(|above| self.levels.get(above));
        let id = match (above, self.levels.get(at)) {
            (Some(above), Some(level)) => {
                match find(above.read.as_deref().unwrap_or_default(), &level.name) {
                    Some(EntryKind::Directory { id }) => Some(*id),
                    _ => None,
                }
            }
            _ => Some(self.root),
        };
        match id.map(|id| tree::entries(chunks, &id)) {
            None => Ok(Vec::new()),
            // What was lost is no reason to have no capture ever again: it is as if it were not
            // recorded.
            Some(Err(e)) if matches!(e.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) => {
                Ok(Vec::new())
            }
            Some(entries) => entries,
        }
    }
}

fn find<'a>(entries: &'a [Entry], name: &[u8]) -> Option<&'a EntryKind> {
    let found = entries.binary_search_by(|entry| entry.name.as_bytes().cmp(name));
    Some(&entries.get(found.ok()?)?.item.kind)
}
