//! Paths that a restore leaves to others, and those that it asks about.

use milepost::Result;
use milepost_codec::{EntryKind, Item, Node, TreePath, encode_directory};

use super::authors::Treatment;
use super::report::{LeftPath, LeftWhy, PathConflict, Way};
use super::three_way::{Fate, Maker};
use super::{Choice, ConflictWhy};
use crate::tree::{entries, tree_of};

impl Maker<'_> {
    /// Returns the treatment of a changed path by its authors. `None` if the restore does not leave
    /// the changes of others, or if a choice covers the path.
    pub(super) fn treatment(&self, path: &TreePath) -> Option<Treatment> {
        let authors = self.trees.authors?;
        match self.trees.choices.of(path) {
            Some(_) => None,
            None => Some(authors.treatment(path)),
        }
    }

    /// Returns the conflict of a path by its authors, also for files made outside of any run. A
    /// choice excludes both.
    pub(super) fn asked_about(&self, path: &TreePath) -> Option<ConflictWhy> {
        match self.treatment(path) {
            Some(Treatment::Ask(why)) => Some(why),
            _ if self.is_by_hand(path) => Some(ConflictWhy::NotByARun),
            _ => None,
        }
    }

    /// Adds a path to those that stay as they are, since others changed them.
    pub(super) fn list_left(
        &mut self,
        path: &TreePath,
        target: Option<&Item>,
        present: Option<&Item>,
    ) {
        let why = match (target, present) {
            (None, _) => LeftWhy::Made,
            (_, None) => LeftWhy::Removed,
            _ => LeftWhy::Changed,
        };
        self.preview.left.push(LeftPath::new(path, why, &[Way::Theirs]));
    }

    /// Adds a path that no capture has. It stays in any case.
    pub(super) fn list_unrecorded(&mut self, path: &TreePath) {
        let why = match self.treatment(path) {
            Some(Treatment::Leave) => LeftWhy::Made,
            _ => LeftWhy::Unrecorded,
        };
        self.preview.left.push(LeftPath::new(path, why, &[]));
    }

    /// Adds a path that a choice keeps.
    pub(super) fn list_kept(&mut self, path: &TreePath) {
        self.preview.left.push(LeftPath::new(path, LeftWhy::Chosen, &[Way::Theirs]));
    }

    /// Leaves a path that is not a folder now. Its place may be needed: a folder of the target was
    /// here, and not only others changed its content.
    pub(super) fn leave(
        &mut self,
        path: &TreePath,
        last: Option<&Item>,
        target: Option<&Item>,
        present: Option<&Item>,
    ) -> Fate {
        let is_folder = tree_of(target).is_some();
        let is_needed = |authors: &super::Authors| authors.are_needed_below(path);
        if is_folder && present.is_some() && self.trees.authors.is_some_and(is_needed) {
            return self.conflict(path, ConflictWhy::Outside, target);
        }
        self.list_left(path, target, present);
        let is_recorded = last.is_some() || target.is_some();
        Fate::new(present.filter(|_| is_recorded), present.is_some())
    }

    /// Leaves a folder where the target has a file or link. Content that the run put into the
    /// folder is removed.
    pub(super) fn leave_folder(
        &mut self,
        path: &TreePath,
        last: Option<&Item>,
        target: &Item,
        present: &Item,
    ) -> Result<Fate> {
        self.list_left(path, Some(target), Some(present));
        let (Some(last), Some(now)) = (tree_of(last), tree_of(Some(present))) else {
            return Ok(Fate::new(Some(present), true));
        };
        let inside = self.directory(Some(path), Some(last), None, now)?;
        let id = match inside.to {
            Some(id) => id,
            None => self.empty_folder(),
        };
        self.bits(path, present, present, inside.written);
        let to = Item { mode: present.mode, kind: EntryKind::Directory { id } };
        Ok(Fate::new(Some(&to), true))
    }

    /// Reports a path in a folder that has to make room: it cannot be kept alone.
    pub(super) fn conflict_inside(&mut self, path: &TreePath, why: ConflictWhy) {
        let conflict = PathConflict::at(path, why).with_ways(&[Way::Theirs]);
        self.preview.conflicts.push(conflict);
    }

    /// Returns an empty folder of the resulting tree.
    pub(super) fn empty_folder(&mut self) -> milepost_codec::ChunkId {
        let id = encode_directory(&[], &mut |_, _| ());
        (self.put)(id, Node::Directory(Vec::new()).encode());
        id
    }

    /// Reports the paths in a folder that has to make room, and that not only the run changed.
    pub(super) fn ask_about_contents(&mut self, path: &TreePath, folder: &Item) -> Result<()> {
        let Some(id) = tree_of(Some(folder)) else {
            return Ok(());
        };
        for entry in entries(self.trees.contents, &id)? {
            let path = path.join(&entry.name)?;
            match self.treatment(&path) {
                Some(Treatment::Ask(why)) => self.conflict_inside(&path, why),
                Some(Treatment::Leave) => self.conflict_inside(&path, ConflictWhy::Outside),
                Some(Treatment::Restore) => {}
                None if self.trees.choices.of(&path) == Some(Choice::Theirs) => continue,
                None => {}
            }
            self.ask_about_contents(&path, &entry.item)?;
        }
        Ok(())
    }
}
