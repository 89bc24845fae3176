//! Paths that hold a folder now: it stays, is removed, or is replaced by a file.

use milepost::Result;
use milepost_codec::{ActionKind, EntryKind, Item, TreePath};

use super::authors::Treatment;
use super::three_way::{Fate, Maker, changed_or_unrecorded};
use super::{Choice, ConflictWhy, NoteWhat, PathConflict, PlannedPath};
use crate::tree::tree_of;

impl Maker<'_> {
    /// Plans a path that is a folder now and in the target.
    pub(super) fn both_folders(
        &mut self,
        path: &TreePath,
        last: Option<&Item>,
        target: &Item,
        present: &Item,
    ) -> Result<Fate> {
        let (Some(to), Some(now)) = (tree_of(Some(target)), tree_of(Some(present))) else {
            return Ok(Fate::new(Some(target), true));
        };
        let inside = self.directory(Some(path), tree_of(last), Some(to), now)?;
        let choice = self.trees.choices.of(path);
        let as_last = last.is_some_and(|l| l.kind.is_directory() && l.mode == present.mode);
        let mode = match choice {
            _ if target.mode == present.mode => target.mode,
            Some(Choice::KeepMine) => {
                self.list_kept(path);
                present.mode
            }
            Some(Choice::Theirs) => target.mode,
            None => match self.treatment(path) {
                Some(Treatment::Leave) => {
                    self.list_left(path, Some(target), Some(present));
                    present.mode
                }
                Some(Treatment::Ask(why)) => {
                    self.conflict(path, why, None);
                    target.mode
                }
                _ if as_last => target.mode,
                _ => {
                    self.conflict(path, changed_or_unrecorded(last), None);
                    target.mode
                }
            },
        };
        let kind = EntryKind::Directory { id: inside.to.unwrap_or(to) };
        let after = Item { mode, kind };
        if mode != present.mode {
            self.preview.modes.push(PlannedPath::new(path, &after));
        }
        self.bits(path, present, &after, inside.written);
        Ok(Fate::new(Some(&after), true))
    }

    /// Plans a path that is a folder now and absent in the target.
    pub(super) fn folder_to_nothing(
        &mut self,
        path: &TreePath,
        last: Option<&Item>,
        present: &Item,
    ) -> Result<Fate> {
        let treatment = self.treatment(path);
        let is_left = treatment == Some(Treatment::Leave);
        let Some(last) = last else {
            self.list_unrecorded(path);
            return Ok(Fate::new(None, true));
        };
        if is_left {
            self.list_left(path, None, Some(present));
        }
        let Some(now) = tree_of(Some(present)) else {
            return Ok(Fate::new(None, true));
        };
        if !self.trees.choices.has_choice_below(path) && self.is_ignored(path, present) {
            return Ok(Fate::new(None, true));
        }
        let choice = self.trees.choices.of(path);
        let known = match tree_of(Some(last)) {
            Some(known) => known,
            None if choice == Some(Choice::KeepMine) => {
                self.list_kept(path);
                return Ok(Fate::new(Some(present), true));
            }
            // A folder replaced a file: all its contents are the user's.
            None if choice == Some(Choice::Theirs) => now,
            None if is_left => return Ok(Fate::new(Some(present), true)),
            None => return Ok(self.conflict(path, ConflictWhy::Changed, None)),
        };
        let conflicts = self.preview.conflicts.len();
        let inside = self.directory(Some(path), Some(known), None, now)?;
        let keeps_mine = choice == Some(Choice::KeepMine) || is_left;
        if inside.stays || keeps_mine {
            if choice == Some(Choice::KeepMine) {
                self.list_kept(path);
            }
            let to = match inside.to {
                None if keeps_mine => Some(self.empty_folder()),
                to => to,
            };
            let to = to.map(|id| Item { mode: present.mode, kind: EntryKind::Directory { id } });
            if to.is_none() && self.preview.conflicts.len() == conflicts {
                let text = "the folder stays: it has something in it that was never captured";
                self.note(path, NoteWhat::FolderStays, text);
            }
            self.bits(path, present, present, inside.written);
            return Ok(Fate { to, stays: true });
        }
        if let Some(Treatment::Ask(why)) = treatment {
            return Ok(self.conflict(path, why, None));
        }
        let as_last = last.kind.is_directory() && last.mode == present.mode;
        if !as_last && choice != Some(Choice::Theirs) {
            return Ok(self.conflict(path, ConflictWhy::Changed, None));
        }
        self.remove(ActionKind::MakeRoom, path, present);
        Ok(Fate::new(None, false))
    }

    /// Plans a path that is a folder now, and a file or link in the target.
    pub(super) fn folder_to_leaf(
        &mut self,
        path: &TreePath,
        last: Option<&Item>,
        target: &Item,
        present: &Item,
    ) -> Result<Fate> {
        let choices = self.trees.choices;
        if choices.of(path) == Some(Choice::KeepMine) {
            self.list_kept(path);
            return Ok(Fate::new(Some(present), true));
        }
        if self.treatment(path) == Some(Treatment::Leave) {
            return self.leave_folder(path, last, target, present);
        }
        if let Some(skip) = self.skipped.in_folder(path) {
            return Ok(self.skip_conflict(path, skip, Some(target)));
        }
        if choices.keeps_below(path) {
            let text = format!(
                "a {} is to be here, and something in the folder is to be kept: keep all of it, or \
                 none",
                super::report::kind_of(target)
            );
            let conflict = PathConflict::saying(Some(path), ConflictWhy::InTheWay, text);
            let conflict = conflict.with_ways(&[]);
            self.preview.conflicts.push(conflict);
            return Ok(Fate::new(Some(target), true));
        }
        let theirs = choices.of(path) == Some(Choice::Theirs);
        if let Some(Treatment::Ask(why)) = self.treatment(path) {
            return Ok(self.conflict(path, why, Some(target)));
        }
        let before = self.preview.conflicts.len();
        if self.trees.authors.is_some() && !theirs {
            self.ask_about_contents(path, present)?;
        }
        if self.preview.conflicts.len() > before {
            return Ok(Fate::new(Some(target), true));
        }
        match last {
            _ if theirs => {}
            Some(last) if last.kind.is_directory() => {
                let before = self.preview.conflicts.len();
                if last.mode != present.mode {
                    self.conflict(path, ConflictWhy::Changed, None);
                }
                if self.has_foreign(path, tree_of(Some(last)), present)? {
                    self.conflict(path, ConflictWhy::InTheWay, None);
                }
                if self.preview.conflicts.len() > before {
                    return Ok(Fate::new(Some(target), true));
                }
            }
            last => return Ok(self.conflict(path, changed_or_unrecorded(last), Some(target))),
        }
        self.list_removed(path, present)?;
        self.replace(path, target, present)
    }
}
