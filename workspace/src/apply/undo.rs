//! TaskImport a restore back, by what is found. It may be stopped anywhere and begun again, by the
//! same program or by the next one.

use std::collections::BTreeSet;

use milepost::{Error, Result};
use milepost_codec::{Action, ActionKind, TreePath};

use super::Restore;
use super::cleanup::remove_all;
use super::compare::Found;
use super::context::no_way;
use super::execute::{Executor, bits_of};
use super::recover::{Observation, Step, judge};
use super::stage::stage_one;
use super::staging::{PART, Place, Staging, keep, open_up, slot};
use super::syscalls::Syscalls;
use crate::error;
use crate::error::is_lost;
use crate::fs::{Dir, Errno};
use crate::plan::{Choice, Choices, ConflictWhy, OPEN, PathConflict};

/// The most steps that one action takes to be taken back.
const STEPS: usize = 8;

/// The bits of a folder that was just made.
const MADE: u16 = 0o700;

/// Takes back all that can be of the first `done` actions: after a crash, nobody knows how many
/// there were, and it is all of them. Gives the paths that somebody changed since.
///
/// What a choice keeps is passed over.
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
        left: BTreeSet::new(),
        stopped: Vec::new(),
        failed: None,
    };
    // Without staging, and with nothing of the restore anywhere, it moved nothing yet or was taken
    // back before: what somebody changed since is no concern of it.
    let asked = done == usize::MAX && choices.theirs.is_empty();
    if asked && back.staging.is_none() && back.left_nothing()? {
        return Ok(Vec::new());
    }
    // What was done last is taken back first.
    for action in restore.plan.actions.iter().take(done).rev() {
        let choice = choices.of(&action.path);
        if choice == Some(Choice::KeepMine) {
            back.left.insert(&action.path);
            continue;
        }
        let theirs = choice == Some(Choice::Theirs);
        back.attempt(action, |back| back.take_back(action, theirs));
    }
    for action in &restore.plan.actions {
        if !back.left.contains(&action.path) {
            let theirs = choices.of(&action.path) == Some(Choice::Theirs);
            back.attempt(action, |back| back.close(action, theirs));
        }
    }
    // All of it, whatever was done here: what was found as it was may be so in memory only, where a
    // recovery before this one was killed before it synced.
    let synced = syscalls.sync_file_system(restore.folder.root());
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
    /// What is left as it is, bits and all.
    left: BTreeSet<&'a TreePath>,
    stopped: Vec<PathConflict>,
    failed: Option<Error>,
}

impl<'a> Back<'a> {
    /// One path that fails does not keep the others from being taken back.
    fn attempt(&mut self, action: &'a Action, what: impl FnOnce(&mut Self) -> Result<()>) {
        let path = &action.path;
        match what(self) {
            Ok(()) => {}
            Err(error) if is_lost(&error) => {
                let text = format!("what was there cannot be brought back: {error}");
                self.stop(path, ConflictWhy::Missing, text);
            }
            Err(error) => {
                self.left.insert(path);
                self.failed.get_or_insert(error);
            }
        }
    }

    fn stop(&mut self, path: &'a TreePath, why: ConflictWhy, text: String) {
        self.left.insert(path);
        self.stopped.push(PathConflict::saying(Some(path), why, text));
    }

    /// Whether no path shows that the restore was there.
    fn left_nothing(&mut self) -> Result<bool> {
        for action in &self.restore.plan.actions {
            let path = &action.path;
            let parent = match self.executor.way.parent(path) {
                Ok(parent) => parent,
                Err(e) if no_way(e) => continue,
                Err(e) => return Err(error::below("take back", path.as_bytes(), e)),
            };
            let name = path.name();
            let here = (&*parent, name.as_bytes());
            let found = self.observation(action, here, false)?.path;
            // A folder may be opened up, to be moved or changed in.
            let bits = match &action.before {
                Some(before) if found == Found::Before && before.kind.is_directory() => {
                    bits_of(here).is_ok_and(|bits| bits != before.mode)
                }
                _ => false,
            };
            let gone = found == Found::Nothing && action.kind != ActionKind::Create;
            if found == Found::After || gone || bits {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn take_back(&mut self, action: &'a Action, theirs: bool) -> Result<()> {
        let path = &action.path;
        let failed = |e| error::below("take back", path.as_bytes(), e);
        let parent = match self.executor.way.parent(path) {
            Ok(parent) => parent,
            // Nothing is there, and nothing was: that is as before.
            Err(e) if no_way(e) && action.kind == ActionKind::Create => return Ok(()),
            Err(e) if no_way(e) => {
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
        let text = "it goes on changing while it is taken back";
        self.stop(path, ConflictWhy::Changed, text.to_owned());
        Ok(())
    }

    /// What is found of an action.
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
        // Where it is as it was, staging need not be read.
        let before = match action.kind {
            ActionKind::Create => Found::Nothing,
            _ => Found::Before,
        };
        let in_place = |place| match at(place) {
            Some(dir) if found != before => look((dir, slot.as_slice())),
            _ => Ok(Found::Nothing),
        };
        let ino = |dir: &Dir, name: &[u8]| dir.look(name).ok().map(|found| found.identity());
        let own = ino(here.0, here.1);
        let same = |place| at(place).and_then(|dir| ino(dir, &slot)) == own;
        let linked = found == Found::After && own.is_some() && Place::ALL.into_iter().any(same);
        Ok(Observation {
            path: found,
            new: in_place(Place::New)?,
            old: in_place(Place::Old)?,
            linked,
        })
    }

    /// What is found of a folder that is opened up, or removed when it is empty. What is in it has
    /// its own actions, or is not the restore's.
    fn folder(&self, action: &Action, here: (&Dir, &[u8]), theirs: bool) -> Result<Found> {
        match bits_of(here) {
            Ok(bits) if theirs || is_own(action, bits) => Ok(Found::Before),
            Ok(_) => Ok(Found::Other),
            Err(Errno::NOENT) => Ok(Found::Nothing),
            Err(e) if no_way(e) => Ok(Found::Other),
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
                    // Aside to the other place, from where the next look goes on.
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
                // Where somebody was faster, the next look finds it.
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
                keep(restore, syscalls, there, &wish)
            }
            Step::Make => {
                passing(syscalls.make_directory(here.0, here.1).map(|_| ())).map_err(failed)
            }
            Step::Keep => keep(self.restore, syscalls, here, &wish(action)),
            Step::Rest | Step::Stop => Ok(()),
        }
    }

    /// It is as it was. A folder that was opened up to be moved gets its bits.
    fn rest(&mut self, action: &Action, here: (&Dir, &[u8])) -> Result<()> {
        match (&action.before, action.kind) {
            (Some(before), ActionKind::Replace | ActionKind::Remove) => {
                let settled = self.executor.settle(&action.path, here, before);
                settled.map_err(|e| error::below("take back", action.path.as_bytes(), e))
            }
            _ => Ok(()),
        }
    }

    /// What was there is written again from the chunks of the present, beside what may stand in
    /// staging, and put in place when it is whole.
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

    /// Gives a folder that was opened up, or made again, the bits that it had.
    fn close(&mut self, action: &'a Action, theirs: bool) -> Result<()> {
        let (ActionKind::Mode | ActionKind::MakeRoom, Some(before)) = (action.kind, &action.before)
        else {
            return Ok(());
        };
        let path = &action.path;
        let parent = match self.executor.way.parent(path) {
            Ok(parent) => parent,
            Err(e) if no_way(e) => return Ok(()),
            Err(e) => return Err(error::below("take back", path.as_bytes(), e)),
        };
        let name = path.name();
        let here = (&*parent, name.as_bytes());
        // Bits that somebody set since are his.
        if self.folder(action, here, theirs)? != Found::Before {
            return Ok(());
        }
        let settled = self.executor.settle(path, here, before);
        settled.map_err(|e| error::below("take back", path.as_bytes(), e))
    }
}

/// Whether these are bits that a restore gives the folder of an action at some time.
fn is_own(action: &Action, bits: u16) -> bool {
    let of = |mode: u16| bits == mode || bits == mode | OPEN;
    let before = action.before.as_ref().is_some_and(|item| of(item.mode));
    let after = action.after.as_ref().is_some_and(|item| of(item.mode));
    before || after || (action.kind == ActionKind::MakeRoom && bits == MADE)
}

/// The name under which what is in the way of an action is kept.
fn wish(action: &Action) -> Vec<u8> {
    let slot = action.slot.to_string();
    [slot.as_bytes(), b"-", action.path.name().as_bytes()].concat()
}

/// Somebody who was faster is found by the next look.
fn passing(done: Result<(), Errno>) -> Result<(), Errno> {
    match done {
        Err(Errno::EXIST | Errno::NOENT) => Ok(()),
        done => done,
    }
}
