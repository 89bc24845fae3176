//! New subtrees, and the contents of a folder that a file replaces.

use std::collections::BTreeMap;

use milepost::Result;
use milepost_codec::{ChunkId, Entry, EntryKind, Item, Name, TreePath, encode_directory};

use super::authors::Treatment;
use super::three_way::{Maker, recorded};
use super::{Choice, ConflictWhy, PathConflict, PlannedPath};
use crate::error::is_lost;
use crate::tree::{entries, parts, same, tree_of};

/// Number of files whose chunks are looked up together.
const BATCH: usize = 1024;

/// Disk space of a file besides its bytes: the inode and the rest of the last block.
const EACH: u64 = 4 << 10;

impl Maker<'_> {
    /// Plans a subtree of the target at a path where nothing of it exists yet, without paths that
    /// the choices exclude. Returns `None` if nothing is left.
    pub(super) fn new_tree(&mut self, path: &TreePath, item: &Item) -> Result<Option<Item>> {
        let choice = self.trees.choices.of(path);
        let no_theirs = !self.has_theirs_below(path);
        if choice == Some(Choice::KeepMine) && (no_theirs || !item.kind.is_directory()) {
            self.list_kept(path);
            return Ok(None);
        }
        let treatment = self.treatment(path);
        let is_left = treatment == Some(Treatment::Leave);
        if is_left && !item.kind.is_directory() {
            self.list_left(path, Some(item), None);
            return Ok(None);
        }
        if let Some(Treatment::Ask(why)) = treatment {
            self.conflict(path, why, None);
        }
        let created = self.preview.creates.len();
        self.preview.creates.push(PlannedPath::new(path, item));
        self.preview.needs += EACH;
        let Some(id) = tree_of(Some(item)) else {
            self.new_file(path, item, choice)?;
            return Ok(Some(item.clone()));
        };
        let list = match entries(self.trees.contents, &id) {
            Ok(list) => list,
            Err(error) if is_lost(&error) => {
                self.missing(path, &error.to_string());
                return Ok(Some(item.clone()));
            }
            Err(error) => return Err(error.at(path)),
        };
        for entry in &list {
            self.budget.take(&entry.item)?;
        }
        let (count, mut to) = (list.len(), Vec::new());
        let mut other = false;
        for entry in list {
            if let Some(item) = self.new_tree(&path.join(&entry.name)?, &entry.item)? {
                other |= item != entry.item;
                to.push(Entry { name: entry.name, item });
            }
        }
        if is_left && to.is_empty() {
            self.preview.creates.truncate(created);
            self.preview.needs -= EACH;
            self.list_left(path, Some(item), None);
            return Ok(None);
        }
        if !other && to.len() == count {
            return Ok(Some(item.clone()));
        }
        let id = encode_directory(&to, self.put);
        let kind = EntryKind::Directory { id };
        Ok(Some(Item { mode: item.mode, kind }))
    }

    fn new_file(&mut self, path: &TreePath, item: &Item, choice: Option<Choice>) -> Result<()> {
        if item.kind.is_unstable() && choice != Some(Choice::Theirs) {
            self.conflict(path, ConflictWhy::Unstable, None);
        }
        let bytes = item.kind.file_len().unwrap_or_default();
        self.preview.bytes += bytes;
        self.preview.needs += bytes;
        match parts(self.trees.contents, item) {
            Ok(parts) => {
                let ids = parts.iter().map(|part| part.id).collect();
                self.needed_chunks.push((path.clone(), ids));
            }
            Err(error) if is_lost(&error) => self.missing(path, &error.to_string()),
            Err(error) => return Err(error.at(path)),
        }
        if self.needed_chunks.len() >= BATCH {
            self.check_needed_chunks()?;
        }
        Ok(())
    }

    /// Looks up the chunks of new files. Missing ones are conflicts.
    pub(super) fn check_needed_chunks(&mut self) -> Result<()> {
        let needed_chunks = std::mem::take(&mut self.needed_chunks);
        let ids: Vec<_> = needed_chunks.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
        let mut found = self.trees.contents.has(&ids)?.into_iter();
        for (path, ids) in needed_chunks {
            let missing_chunks = found.by_ref().take(ids.len()).filter(|found| !found).count();
            if missing_chunks > 0 {
                self.missing(&path, &format!("{missing_chunks} of {} chunks", ids.len()));
            }
        }
        Ok(())
    }

    fn missing(&mut self, path: &TreePath, what: &str) {
        let text = format!("stored contents of it are damaged or gone: {what}");
        let conflict = PathConflict::saying(Some(path), ConflictWhy::Missing, text);
        self.preview.conflicts.push(conflict);
    }

    /// Returns `true` if a folder contains a path that the last tree lacks. Reports changed paths
    /// as conflicts of their own.
    pub(super) fn has_foreign(
        &mut self,
        path: &TreePath,
        last: Option<ChunkId>,
        present: &Item,
    ) -> Result<bool> {
        let Some(now) = tree_of(Some(present)) else {
            return Ok(false);
        };
        if last == Some(now) {
            return Ok(false);
        }
        let contents = self.trees.contents;
        let known = last.map_or(Ok(Vec::new()), |id| recorded(contents, &id))?;
        let known: BTreeMap<Name, Item> =
            known.into_iter().map(|entry| (entry.name, entry.item)).collect();
        let mut foreign = false;
        for entry in entries(contents, &now)? {
            let path = path.join(&entry.name)?;
            if self.trees.choices.of(&path) == Some(Choice::Theirs) {
                continue;
            }
            match known.get(&entry.name) {
                None => foreign = true,
                Some(known) if same(known, &entry.item) && self.is_by_hand(&path) => {
                    self.conflict_inside(&path, ConflictWhy::NotByARun);
                }
                Some(known) if same(known, &entry.item) && !known.kind.is_directory() => {}
                Some(known) if same(known, &entry.item) && self.trees.by_hand.is_empty() => {}
                Some(known) if known.kind.is_directory() && entry.item.kind.is_directory() => {
                    if known.mode != entry.item.mode {
                        self.conflict_inside(&path, ConflictWhy::Changed);
                    }
                    foreign |= self.has_foreign(&path, tree_of(Some(known)), &entry.item)?;
                }
                Some(_) => {
                    self.conflict_inside(&path, ConflictWhy::Changed);
                    // The contents of a folder that replaced a file are unrecorded too.
                    let id = tree_of(Some(&entry.item));
                    foreign |= id.map_or(Ok(false), |id| {
                        entries(contents, &id).map(|list| !list.is_empty())
                    })?;
                }
            }
        }
        Ok(foreign)
    }

    /// Adds the contents of a folder to the deletions.
    pub(super) fn list_removed(&mut self, path: &TreePath, folder: &Item) -> Result<()> {
        let Some(id) = tree_of(Some(folder)) else {
            return Ok(());
        };
        for entry in entries(self.trees.contents, &id)? {
            let path = path.join(&entry.name)?;
            self.preview.deletes.push(PlannedPath::new(&path, &entry.item));
            self.list_removed(&path, &entry.item)?;
        }
        Ok(())
    }

    fn has_theirs_below(&self, path: &TreePath) -> bool {
        let below = |choice: &TreePath| choice != path && choice.is_in(path);
        self.trees.choices.theirs.iter().any(below)
    }
}
