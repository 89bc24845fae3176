//! The comparison of the three trees. `Maker::leaf` implements the table of docs/WORKSPACE.md;
//! `directories.rs` implements it for folders.

use std::collections::BTreeMap;

use milepost::Result;
use milepost_codec::{
    Action, ActionKind, ChunkId, Entry, Item, Name, RestoreIntent, SkipReason, TreePath,
    encode_directory,
};

use super::authors::Treatment;
use super::ignored::SkippedPaths;
use super::{
    Choice, ConflictWhy, NoteWhat, PathConflict, Plan, PlanNote, PlannedPath, PlannedRestore,
    Trees, Way,
};
use crate::chunks::Contents;
use crate::error::is_lost;
use crate::scan::TreeRules;
use crate::tree::{Budget, entries, same, tree_of};

/// Mode bits that open a folder which its owner may not write to.
pub(crate) const OPEN: u16 = 0o700;

/// Mode bits needed to change a directory's contents.
const CHANGE: u16 = 0o300;

/// Callback with new nodes of the resulting tree.
pub(super) type Put<'a> = &'a mut dyn FnMut(ChunkId, Vec<u8>);

/// Compares the trees. Passes new nodes of the resulting tree to `put`.
///
/// # Errors
///
/// `Invalid`: choices contradict each other. `Corrupt` or `NotFound`: the root of a tree cannot be
/// read. Damage below a root is a conflict of the affected paths.
pub(crate) fn make(trees: &Trees<'_>, put: Put<'_>) -> Result<PlannedRestore> {
    trees.choices.check()?;
    let mut maker = Maker {
        trees,
        budget: trees.says.clone(),
        rules: TreeRules::of(trees.contents, trees.target),
        put,
        skipped: SkippedPaths(trees.skips),
        last_skipped: SkippedPaths(trees.last_skips),
        target_skipped: SkippedPaths(trees.target_skips),
        removes: Vec::new(),
        moves: Vec::new(),
        modes: Vec::new(),
        preview: Plan::default(),
        needed_chunks: Vec::new(),
    };
    let root = maker.directory(None, trees.last, Some(trees.target), trees.present)?;
    maker.check_needed_chunks()?;
    let occupied = !entries(trees.contents, &trees.present)?.is_empty() || !trees.skips.is_empty();
    if trees.elsewhere && !trees.choices.moved && occupied {
        let text = "the snapshot was captured from another folder, and this one is not empty: \
                    --moved says that it is the same";
        let conflict = PathConflict::saying(None, ConflictWhy::OtherFolder, text.to_owned());
        maker.preview.conflicts.push(conflict);
    }
    // Removals that make room come first, mode bits last and bottom-up.
    let Maker { mut removes, moves, modes, mut preview, .. } = maker;
    removes.extend(moves);
    removes.extend(modes);
    let mut actions = removes;
    for (slot, action) in (0_u32..).zip(&mut actions) {
        action.slot = slot;
    }
    preview.conflicts.sort_by(|a, b| (&a.path, a.why).cmp(&(&b.path, b.why)));
    preview.left.sort_by(|a, b| a.path.cmp(&b.path));
    preview.left.dedup_by(|a, b| a.path == b.path);
    preview.notes.sort_by(|a, b| (&a.path, a.what).cmp(&(&b.path, b.what)));
    for list in
        [&mut preview.creates, &mut preview.changes, &mut preview.deletes, &mut preview.modes]
    {
        list.sort_by(|a, b| a.path.cmp(&b.path));
    }
    Ok(PlannedRestore {
        actions: RestoreIntent { actions },
        tree: root.to.unwrap_or(trees.target),
        preview,
    })
}

pub(super) struct Maker<'a> {
    pub(super) trees: &'a Trees<'a>,
    /// Remaining counts of the target's capture.
    pub(super) budget: Budget,
    /// Ignore rules captured with the target.
    rules: TreeRules<'a>,
    pub(super) put: Put<'a>,
    pub(super) skipped: SkippedPaths<'a>,
    last_skipped: SkippedPaths<'a>,
    target_skipped: SkippedPaths<'a>,
    removes: Vec<Action>,
    moves: Vec<Action>,
    modes: Vec<Action>,
    pub(super) preview: Plan,
    /// New files whose chunks are still to be looked up.
    pub(super) needed_chunks: Vec<(TreePath, Vec<ChunkId>)>,
}

/// Outcome for a path.
pub(super) struct Fate {
    /// Recorded item after the restore.
    pub(super) to: Option<Item>,
    /// `true` if something exists there afterwards, recorded or not.
    pub(super) stays: bool,
}

impl Fate {
    pub(super) fn new(to: Option<&Item>, stays: bool) -> Self {
        let to = to.cloned();
        Self { to, stays }
    }
}

/// Outcome for the contents of a directory.
pub(super) struct Inside {
    /// Recorded tree; `None` if nothing is recorded.
    pub(super) to: Option<ChunkId>,
    /// `true` if the directory is not empty afterwards.
    pub(super) stays: bool,
    /// `true` if names are created or removed in it.
    pub(super) written: bool,
}

impl Maker<'_> {
    /// Compares the contents of a present directory. `last` and `target` are its trees there;
    /// `None` if they have no directory at the path.
    pub(super) fn directory(
        &mut self,
        path: Option<&TreePath>,
        last: Option<ChunkId>,
        target: Option<ChunkId>,
        present: ChunkId,
    ) -> Result<Inside> {
        let contents = self.trees.contents;
        let present_entries = entries(contents, &present)?;
        let skipped = match path {
            Some(path) => self.skipped.in_folder(path).is_some(),
            None => !self.trees.skips.is_empty(),
        };
        // Skip directories that are equal to the target, unless a recorded path may be left out
        // now, and directories that were never recorded.
        let as_is = target == Some(present) && (last == target || !skipped);
        if as_is || (target.is_none() && last.is_none()) {
            let stays = !present_entries.is_empty() || skipped;
            return Ok(Inside { to: target, stays, written: false });
        }
        let target_entries = target.map_or(Ok(Vec::new()), |id| entries(contents, &id))?;
        for entry in &target_entries {
            self.budget.take(&entry.item)?;
        }
        let before = last.map_or(Ok(Vec::new()), |id| recorded(contents, &id))?;
        let mut names: BTreeMap<Name, [Option<Item>; 3]> = BTreeMap::new();
        for (n, list) in [before, target_entries.clone(), present_entries].into_iter().enumerate() {
            for entry in list {
                if let Some(place) = names.entry(entry.name).or_default().get_mut(n) {
                    *place = Some(entry.item);
                }
            }
        }
        let (mut to, mut stays) = (Vec::new(), skipped);
        let mut written = false;
        for (name, [last, target, present]) in names {
            let path = match path {
                Some(path) => path.join(&name)?,
                None => TreePath::from(name.clone()),
            };
            let fate = self.path(&path, last.as_ref(), target.as_ref(), present.as_ref())?;
            stays |= fate.stays;
            to.extend(fate.to.map(|item| Entry { name, item }));
            let done = self.removes.last().into_iter().chain(self.moves.last());
            written |= done.filter(|action| action.path == path).count() > 0;
        }
        let to = match target {
            Some(id) if to == target_entries => Some(id),
            None if to.is_empty() => None,
            _ => Some(encode_directory(&to, self.put)),
        };
        Ok(Inside { to, stays, written })
    }

    fn path(
        &mut self,
        path: &TreePath,
        last: Option<&Item>,
        target: Option<&Item>,
        present: Option<&Item>,
    ) -> Result<Fate> {
        // For a new subtree, `new_tree` finds unreadable folders.
        if let (Some(to), Some(now)) = (tree_of(target), tree_of(present))
            && to != now
            && let Err(error) = entries(self.trees.contents, &to)
        {
            return self.unreadable(path, target, present, error);
        }
        match present {
            Some(now) if now.kind.is_directory() => match target {
                Some(to) if to.kind.is_directory() => self.both_folders(path, last, to, now),
                Some(to) => self.folder_to_leaf(path, last, to, now),
                None => self.folder_to_nothing(path, last, now),
            },
            _ => self.leaf(path, last, target, present),
        }
    }

    /// Plans a path that is not a folder now.
    fn leaf(
        &mut self,
        path: &TreePath,
        last: Option<&Item>,
        target: Option<&Item>,
        present: Option<&Item>,
    ) -> Result<Fate> {
        let choice = self.trees.choices.of(path);
        let skip = self.skipped.at(path);
        let stays = present.is_some() || skip.is_some();
        let as_now = match (target, present) {
            (Some(target), Some(present)) => same(target, present),
            // A recorded path that is left out now would have to be removed, but its content is
            // unknown.
            (None, None) => last.is_none() || skip.is_none(),
            _ => false,
        };
        if as_now {
            return Ok(Fate::new(target, stays));
        }
        if choice == Some(Choice::KeepMine) {
            let recorded = last.is_some() || target.is_some();
            self.list_kept(path);
            return Ok(Fate::new(present.filter(|_| recorded), stays));
        }
        let as_last = last.zip(present).is_some_and(|(last, now)| same(last, now));
        // A file that grew over the limit was left out of the last capture, which has its size.
        let as_left_out = last.is_none()
            && target.is_some()
            && present.is_some_and(|now| self.last_skipped.has_size_of(path, now));
        let agreed = as_last || as_left_out || choice == Some(Choice::Theirs);
        let treatment = self.treatment(path);
        // A folder of the target comes back if something in it does: `new_tree` decides.
        let is_new = present.is_none() && tree_of(target).is_some();
        if treatment == Some(Treatment::Leave) && skip.is_none() && !is_new {
            return Ok(self.leave(path, last, target, present));
        }
        let asked = self.asked_about(path).filter(|_| agreed || treatment.is_some());
        match (target, present) {
            (None, None) => Ok(match skip {
                Some(skip) => self.skip_conflict(path, skip, None),
                None => Fate::new(None, stays),
            }),
            (None, Some(now)) => match (last, asked) {
                (None, _) => {
                    self.list_unrecorded(path);
                    Ok(Fate::new(None, true))
                }
                (Some(_), _) if self.is_ignored(path, now) => Ok(Fate::new(None, true)),
                (Some(_), Some(why)) => Ok(self.conflict(path, why, target)),
                (Some(_), None) if agreed => {
                    self.remove(ActionKind::Remove, path, now);
                    Ok(Fate::new(None, false))
                }
                (Some(_), None) => Ok(self.conflict(path, ConflictWhy::Changed, target)),
            },
            (Some(to), None) => match skip {
                Some(skip) => Ok(self.skip_conflict(path, skip, target)),
                None => self.create(path, last, to),
            },
            (Some(to), Some(now)) => match asked {
                Some(why) => Ok(self.conflict(path, why, target)),
                None if agreed => self.replace(path, to, now),
                None => Ok(self.conflict(path, changed_or_unrecorded(last), target)),
            },
        }
    }

    /// Plans a path where nothing is now.
    fn create(&mut self, path: &TreePath, last: Option<&Item>, target: &Item) -> Result<Fate> {
        let Some(to) = self.new_tree(path, target)? else {
            return Ok(Fate::new(None, false));
        };
        if last.is_some() {
            self.note(path, NoteWhat::Deleted, "it was removed since it was captured");
        }
        self.act(ActionKind::Create, path, None, &to);
        Ok(Fate::new(Some(&to), true))
    }

    /// Returns `true` if a file was made or changed outside of any run, and no choice covers it.
    pub(super) fn is_by_hand(&self, path: &TreePath) -> bool {
        self.trees.by_hand.contains(path) && self.trees.choices.of(path).is_none()
    }

    /// Returns `true` if the target's capture left out a path, or its rules ignore it: the path may
    /// have existed at the capture, as the user's. It is kept, with a note, unless the user decided
    /// otherwise.
    pub(super) fn is_ignored(&mut self, path: &TreePath, present: &Item) -> bool {
        let is_directory = present.kind.is_directory();
        if !self.target_skipped.covers(path) && !self.rules.ignore(path, is_directory) {
            return false;
        }
        let choices = self.trees.choices;
        let is_taken = choices.take_ignored || choices.of(path) == Some(Choice::Theirs);
        let mut before = self.preview.notes.iter().rev();
        let above = before.find(|note| note.what == NoteWhat::Ignored);
        if is_taken && above.is_some_and(|note| path.is_in(&note.path)) {
            return false;
        }
        let text = if is_taken {
            self.preview.uncompared += 1;
            "it goes: the capture left it out then, or its rules do, so it may have been there"
        } else {
            "it stays: the capture left it out then, or its rules do (`--take-ignored` removes it)"
        };
        self.note(path, NoteWhat::Ignored, text);
        !is_taken
    }

    pub(super) fn replace(
        &mut self,
        path: &TreePath,
        target: &Item,
        present: &Item,
    ) -> Result<Fate> {
        let Some(to) = self.new_tree(path, target)? else {
            return Ok(Fate::new(Some(present), true));
        };
        // The path itself is changed, not created.
        let at = self.preview.creates.iter().rposition(|planned| planned.path == *path);
        if let Some(at) = at {
            let planned = self.preview.creates.remove(at);
            self.preview.changes.push(planned);
        }
        self.act(ActionKind::Replace, path, Some(present), &to);
        Ok(Fate::new(Some(&to), true))
    }

    /// Reports a folder of the target that cannot be read.
    fn unreadable(
        &mut self,
        path: &TreePath,
        target: Option<&Item>,
        present: Option<&Item>,
        error: milepost::Error,
    ) -> Result<Fate> {
        if !is_lost(&error) {
            return Err(error.at(path));
        }
        if self.trees.choices.of(path) == Some(Choice::KeepMine) {
            self.list_kept(path);
            return Ok(Fate::new(present, present.is_some()));
        }
        let text = format!("stored contents of it are damaged or gone: {error}");
        let conflict = PathConflict::saying(Some(path), ConflictWhy::Missing, text);
        self.preview.conflicts.push(conflict);
        Ok(Fate::new(target, true))
    }

    pub(super) fn skip_conflict(
        &mut self,
        path: &TreePath,
        skip: &milepost_codec::Skip,
        to: Option<&Item>,
    ) -> Fate {
        let text = match skip.reason {
            SkipReason::Denied => {
                format!("{} cannot be read: see its bits, or keep yours", skip.path)
            }
            reason => format!(
                "{} is in the way, which captures leave out ({}): move it away, or keep yours",
                skip.path,
                reason.name()
            ),
        };
        let conflict = PathConflict::saying(Some(path), ConflictWhy::InTheWay, text);
        self.preview.conflicts.push(conflict.with_ways(&[Way::KeepMine]));
        Fate::new(to, true)
    }

    pub(super) fn conflict(
        &mut self,
        path: &TreePath,
        why: ConflictWhy,
        target: Option<&Item>,
    ) -> Fate {
        self.preview.conflicts.push(PathConflict::at(path, why));
        Fate::new(target, true)
    }

    pub(super) fn note(&mut self, path: &TreePath, what: NoteWhat, text: &str) {
        let (path, text) = (path.clone(), text.to_owned());
        self.preview.notes.push(PlanNote { path, what, text });
    }

    fn act(&mut self, kind: ActionKind, path: &TreePath, before: Option<&Item>, after: &Item) {
        self.moves.push(action(kind, path, before, Some(after)));
    }

    pub(super) fn remove(&mut self, kind: ActionKind, path: &TreePath, present: &Item) {
        self.preview.deletes.push(PlannedPath::new(path, present));
        self.removes.push(action(kind, path, Some(present), None));
    }

    /// Plans a change of mode bits. It also closes a folder that has to be opened first for changes
    /// in it.
    pub(super) fn bits(&mut self, path: &TreePath, present: &Item, after: &Item, written: bool) {
        let closed = written && present.mode & CHANGE != CHANGE;
        if after.mode != present.mode || closed {
            self.modes.push(action(ActionKind::Mode, path, Some(present), Some(after)));
        }
    }
}

fn action(
    kind: ActionKind,
    path: &TreePath,
    before: Option<&Item>,
    after: Option<&Item>,
) -> Action {
    Action { kind, path: path.clone(), slot: 0, before: before.cloned(), after: after.cloned() }
}

/// Returns the entries of a folder in the last tree. Lost entries count as never recorded, so
/// nothing of them is overwritten or removed.
pub(super) fn recorded(contents: &dyn Contents, id: &ChunkId) -> Result<Vec<Entry>> {
    match entries(contents, id) {
        Err(error) if is_lost(&error) => Ok(Vec::new()),
        read => read,
    }
}

pub(super) fn changed_or_unrecorded(last: Option<&Item>) -> ConflictWhy {
    match last {
        Some(_) => ConflictWhy::Changed,
        None => ConflictWhy::Unrecorded,
    }
}
