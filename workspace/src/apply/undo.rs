//! Undo of a restore from its observed state. It can be interrupted anywhere and restarted, by the
//! same process or the next one.

use std::collections::BTreeSet;

use milepost::{Error, Result};
use milepost_codec::{Action, ActionKind, TreePath};

use super::Restore;
use super::cleanup::remove_all;
use super::compare::ItemState;
use super::context::is_unreachable;
use super::execute::{Executor, bits_of};
use super::recover::{Observation, Step, judge};
use super::stage::stage_one;
use super::staging::{PART, Place, Staging, move_to_kept, open_up, slot};
use super::syscalls::Syscalls;
use crate::error;
use crate::error::is_lost;
use crate::fs::{Dir, Errno, SYNCS_FILE_SYSTEMS};
use crate::plan::{Choice, Choices, ConflictWhy, OPEN, PathConflict};

/// Maximum number of steps to undo one action.
const STEPS: usize = 8;

/// Mode bits of a new folder.
const NEW_DIR_MODE: u16 = 0o700;

/// Undoes the first `done` actions as far as possible; after a crash, when their number is unknown,
/// all of them. Returns the paths that another process changed since.
///
/// Skips paths with a `keep_mine` choice.
pub(super) fn back(
    restore: &Restore<'_>,
    choices: &Choices,
    done: usize,
) -> Result<Vec<PathConflict>> {
    restore.check()?;
    choices.check()?;
    let syscalls = restore.syscalls();
    let mut back = Back {
        restore,
        syscalls: &syscalls,
        executor: Executor::new(restore, &syscalls),
        staging: Staging::find(restore)?,
        unresolved: BTreeSet::new(),
        stopped: Vec::new(),
        failed: None,
    };
    // Without staging and traces of the restore, nothing was moved yet or everything was undone
    // before: later changes of other processes do not matter.
    let is_default = done == usize::MAX && choices.theirs.is_empty();
    if is_default && back.staging.is_none() && back.is_untouched()? {
        return Ok(Vec::new());
    }
    // Undo the last action first.
    for action in restore.plan.actions.iter().take(done).rev() {
        let choice = choices.of(&action.path);
        if choice == Some(Choice::KeepMine) {
            back.unresolved.insert(&action.path);
            continue;
        }
        let theirs = choice == Some(Choice::Theirs);
        back.attempt(action, |back| back.take_back(action, theirs));
    }
    for action in &restore.plan.actions {
        if !back.unresolved.contains(&action.path) {
            let theirs = choices.of(&action.path) == Some(Choice::Theirs);
            back.attempt(action, |back| back.close(action, theirs));
        }
    }
    // Sync even without changes in this call: a recovery killed before its sync may have left them
    // in memory only.
    let synced = match SYNCS_FILE_SYSTEMS {
        true => syscalls.sync_file_system(restore.folder.root()),
        false => back.executor.sync_possible(back.staging.as_ref()),
    };
    let synced = synced.map_err(|e| error::below("sync", b"", e));
    match back.failed {
        Some(error) => Err(error),
        None => synced.map(|()| {
            back.stopped.sort_by(|a, b| a.path.cmp(&b.path));
            back.stopped
        }),
    }
}

struct Back<'a> {
    restore: &'a Restore<'a>,
    syscalls: &'a Syscalls<'a>,
    executor: Executor<'a>,
    staging: Option<Staging>,
    /// Paths left alone, including their mode bits.
    unresolved: BTreeSet<&'a TreePath>,
    stopped: Vec<PathConflict>,
    failed: Option<Error>,
}

impl<'a> Back<'a> {
    /// Runs `work` for one path. Its failure does not stop the others.
    fn attempt(&mut self, action: &'a Action, work: impl FnOnce(&mut Self) -> Result<()>) {
        let path = &action.path;
        match work(self) {
            Ok(()) => {}
            Err(error) if is_lost(&error) => {
                let text = format!("what was there cannot be brought back: {error}");
                self.stop(path, ConflictWhy::Missing, text);
            }
            Err(error) => {
                self.unresolved.insert(path);
                self.failed.get_or_insert(error);
            }
        }
    }

    fn stop(&mut self, path: &'a TreePath, why: ConflictWhy, text: String) {
        self.unresolved.insert(path);
        self.stopped.push(PathConflict::saying(Some(path), why, text));
    }

    /// Returns `true` if no path shows traces of the restore.
    fn is_untouched(&mut self) -> Result<bool> {
        for action in &self.restore.plan.actions {
            let path = &action.path;
            let parent = match self.executor.walker.parent(path) {
                Ok(parent) => parent,
                Err(e) if is_unreachable(e) => continue,
                Err(e) => return Err(error::below("take back", path.as_bytes(), e)),
            };
            let name = path.name();
            let here = (&*parent, name.as_bytes());
            let found = self.observation(action, here, false)?.path;
            // A folder may be open for a move or for changes in it.
            let bits = match &action.before {
                Some(before) if found == ItemState::Before && before.kind.is_directory() => {
                    bits_of(here).is_ok_and(|bits| bits != before.mode)
                }
                _ => false,
            };
            let is_missing = found == ItemState::Nothing && action.kind != ActionKind::Create;
            if found == ItemState::After || is_missing || bits {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn take_back(&mut self, action: &'a Action, theirs: bool) -> Result<()> {
        let path = &action.path;
        let failed = |e| error::below("take back", path.as_bytes(), e);
        let parent = match self.executor.walker.parent(path) {
            Ok(parent) => parent,
            // Nothing existed there, and nothing does.
            Err(e) if is_unreachable(e) && action.kind == ActionKind::Create => return Ok(()),
            Err(e) if is_unreachable(e) => {
                let text = "the folder that it was in is gone or something else: it was changed \
                            since the restore was interrupted";
                self.stop(path, ConflictWhy::Changed, text.to_owned());
                return Ok(());
            }
            Err(e) => return Err(failed(e)),
        };
        let name = path.name();
        let here = (&*parent, name.as_bytes());
        for _ in 0..STEPS {
            let observation = self.observation(action, here, theirs)?;
            match judge(action.kind, observation, theirs) {
                Step::Rest => return self.rest(action, here),
                Step::Stop => {
                    let text = "it was changed since the restore was interrupted";
                    self.stop(path, ConflictWhy::Changed, text.to_owned());
                    return Ok(());
                }
                step => {
                    self.executor.open_parent(path, &parent).map_err(failed)?;
                    self.step(action, here, step)?;
                }
            }
        }
        let text = "it keeps changing while it is undone";
        self.stop(path, ConflictWhy::Changed, text.to_owned());
        Ok(())
    }

    /// Observes the state of an action.
    fn observation(
        &self,
        action: &Action,
        here: (&Dir, &[u8]),
        theirs: bool,
    ) -> Result<Observation> {
        let (path, slot) = (&action.path, slot(action.slot));
        let look = |place: (&Dir, &[u8])| {
            let (before, after) = (action.before.as_ref(), action.after.as_ref());
            self.executor.find.found(place, path, before, after)
        };
        let at = |place| self.staging.as_ref().and_then(|staging| staging.place(place));
        let found = match action.kind {
            ActionKind::Mode | ActionKind::MakeRoom => self.folder(action, here, theirs)?,
            _ => look(here)?,
        };
        // If the path is as before, staging need not be read.
        let before = match action.kind {
            ActionKind::Create => ItemState::Nothing,
            _ => ItemState::Before,
        };
        let in_place = |place| match at(place) {
            Some(dir) if found != before => look((dir, slot.as_slice())),
            _ => Ok(ItemState::Nothing),
        };
        let ino = |dir: &Dir, name: &[u8]| dir.look(name).ok().map(|found| found.identity());
        let own = ino(here.0, here.1);
        let same = |place| at(place).and_then(|dir| ino(dir, &slot)) == own;
        let linked = found == ItemState::After && own.is_some() && Place::ALL.into_iter().any(same);
        Ok(Observation {
            path: found,
            new: in_place(Place::New)?,
            old: in_place(Place::Old)?,
            linked,
        })
    }

    /// Observes a folder that is opened, or removed when it is empty. Its contents have actions of
    /// their own, or are not the restore's.
    fn folder(&self, action: &Action, here: (&Dir, &[u8]), theirs: bool) -> Result<ItemState> {
        match bits_of(here) {
            Ok(bits) if theirs || is_own(action, bits) => Ok(ItemState::Before),
            Ok(_) => Ok(ItemState::Other),
            Err(Errno::NOENT) => Ok(ItemState::Nothing),
            Err(e) if is_unreachable(e) => Ok(ItemState::Other),
            Err(e) => Err(error::below("look at", action.path.as_bytes(), e)),
        }
    }

    fn step(&mut self, action: &Action, here: (&Dir, &[u8]), step: Step) -> Result<()> {
        let path = &action.path;
        let failed = |e| error::below("take back", path.as_bytes(), e);
        let slot = slot(action.slot);
        let syscalls = self.syscalls;
        match step {
            Step::Swap(place) => {
                let dir = self.place(place)?;
                let there = (dir, slot.as_slice());
                open_up(syscalls, there).and_then(|()| open_up(syscalls, here)).map_err(failed)?;
                if !syscalls.exchange(here, there).map_err(failed)? {
                    // Move it to the other place; the next observation continues from there.
                    let other = match place {
                        Place::New => Place::Old,
                        Place::Old => Place::New,
                    };
                    let dir = self.place(other)?;
                    syscalls.put(here, (dir, &slot)).map_err(failed)?;
                }
                Ok(())
            }
            Step::Take(place) => {
                let there = (self.place(place)?, slot.as_slice());
                open_up(syscalls, there).map_err(failed)?;
                // The next observation finds an entry that another process added.
                passing(syscalls.put(there, here)).map_err(failed)
            }
            Step::Away(place) => {
                let there = (self.place(place)?, slot.as_slice());
                open_up(syscalls, here).map_err(failed)?;
                syscalls.put(here, there).map_err(failed)
            }
            Step::Unlink => syscalls.remove(here.0, here.1).map_err(failed),
            Step::Rebuild(place) => self.rebuild(action, place, &slot),
            Step::Free => {
                let (restore, wish) = (self.restore, wish(action));
                let there = (self.place(Place::Old)?, slot.as_slice());
                move_to_kept(restore, syscalls, there, &wish)
            }
            Step::Make => {
                passing(syscalls.make_directory(here.0, here.1).map(|_| ())).map_err(failed)
            }
            Step::Keep => move_to_kept(self.restore, syscalls, here, &wish(action)),
            Step::Rest | Step::Stop => Ok(()),
        }
    }

    /// Ends the undo of a path. A folder opened for a move gets its bits back.
    fn rest(&mut self, action: &Action, here: (&Dir, &[u8])) -> Result<()> {
        match (&action.before, action.kind) {
            (Some(before), ActionKind::Replace | ActionKind::Remove) => {
                let settled = self.executor.settle(&action.path, here, before);
                settled.map_err(|e| error::below("take back", action.path.as_bytes(), e))
            }
            _ => Ok(()),
        }
    }

    /// Writes the old content from the chunks of the present to `part`, and moves it into place
    /// when it is complete.
    fn rebuild(&mut self, action: &Action, place: Place, slot: &[u8]) -> Result<()> {
        let path = &action.path;
        let failed = |e| error::below("write", path.as_bytes(), e);
        let Some(before) = &action.before else {
            return Ok(());
        };
        let syscalls = self.syscalls;
        self.place(place)?;
        let own = &self.staging()?.own;
        let part = match syscalls.make_directory(own, PART) {
            Err(Errno::EXIST) => own.directory(PART),
            made => made,
        };
        let part = part.map_err(failed)?;
        remove_all(self.restore.folder, syscalls, (&part, slot))?;
        stage_one(self.restore, syscalls, (&part, slot), path, before)?;
        let there = (self.place(place)?, slot);
        syscalls.put((&part, slot), there).map_err(failed)
    }

    fn staging(&mut self) -> Result<&mut Staging> {
        if self.staging.is_none() {
            self.staging = Some(Staging::find_or_make(self.restore, self.syscalls)?);
        }
        match &mut self.staging {
            Some(staging) => Ok(staging),
            None => Err(error::below("open", b"staging", Errno::NOENT)),
        }
    }

    fn place(&mut self, place: Place) -> Result<&Dir> {
        let syscalls = self.syscalls;
        self.staging()?.needed(syscalls, place)
    }

    /// Restores the mode bits of a folder that was opened or created again.
    fn close(&mut self, action: &'a Action, theirs: bool) -> Result<()> {
        let (ActionKind::Mode | ActionKind::MakeRoom, Some(before)) = (action.kind, &action.before)
        else {
            return Ok(());
        };
        let path = &action.path;
        let parent = match self.executor.walker.parent(path) {
            Ok(parent) => parent,
            Err(e) if is_unreachable(e) => return Ok(()),
            Err(e) => return Err(error::below("take back", path.as_bytes(), e)),
        };
        let name = path.name();
        let here = (&*parent, name.as_bytes());
        // Mode bits set by another process since are left alone.
        if self.folder(action, here, theirs)? != ItemState::Before {
            return Ok(());
        }
        let settled = self.executor.settle(path, here, before);
        settled.map_err(|e| error::below("take back", path.as_bytes(), e))
    }
}

/// Returns `true` if the restore itself can have set these bits on the folder of an action.
fn is_own(action: &Action, bits: u16) -> bool {
    let of = |mode: u16| bits == mode || bits == mode | OPEN;
    let before = action.before.as_ref().is_some_and(|item| of(item.mode));
    let after = action.after.as_ref().is_some_and(|item| of(item.mode));
    before || after || (action.kind == ActionKind::MakeRoom && bits == NEW_DIR_MODE)
}

/// Returns the name under which an entry in the way of an action is kept.
fn wish(action: &Action) -> Vec<u8> {
    let slot = action.slot.to_string();
    [slot.as_bytes(), b"-", action.path.name().as_bytes()].concat()
}

/// Ignores a change by another process: the next observation finds it.
fn passing(done: Result<(), Errno>) -> Result<(), Errno> {
    match done {
        Err(Errno::EXIST | Errno::NOENT) => Ok(()),
        done => done,
    }
}
