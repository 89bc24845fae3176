//! Recorded trees: their folders are read lazily.

use milepost::{ErrorKind, Result};
use milepost_codec::{ChunkId, Entry, EntryKind};

use crate::chunks::Chunks;
use crate::tree;

/// Folders of the recorded trees that correspond to the walk's.
pub(super) struct Lasts(Vec<Last>);

impl Lasts {
    /// Starts at the roots of the trees.
    pub(super) fn new(roots: &[ChunkId]) -> Self {
        Self(roots.iter().map(|root| Last::new(*root)).collect())
    }

    /// Enters a folder.
    pub(super) fn enter(&mut self, name: &[u8]) {
        for last in &mut self.0 {
            last.enter(name.into());
        }
    }

    /// Leaves the folder entered last.
    pub(super) fn leave(&mut self) {
        self.0.iter_mut().for_each(Last::leave);
    }

    /// Returns `true` if a tree has an entry with this name in the current folder.
    pub(super) fn has(&mut self, name: &[u8], chunks: &dyn Chunks) -> Result<bool> {
        for last in &mut self.0 {
            if last.has(name, chunks)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Folders of one tree.
struct Last {
    root: ChunkId,
    /// Levels from the root down.
    levels: Vec<Level>,
}

#[derive(Default)]
struct Level {
    name: Box<[u8]>,
    /// The entries, once they are needed.
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

    /// Reads the entries of a level; the entries of the level above must be known.
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
            // Lost entries count as not recorded: they must not prevent all later captures.
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
