//! Removal of staging. Entries with the content before or after the restore are removed: both are
//! stored. All others were written to since, or belong to another process, and are kept.

use milepost::Result;
use milepost_codec::{Action, EntryKind, Item, TreePath};

use super::Restore;
use super::compare::{Find, hash_of};
use super::context::is_unreachable;
use super::staging::KeptEntry;
use super::staging::{self, PART, Place, Staging, move_to_kept, open_up};
use super::syscalls::Syscalls;
use crate::error;
use crate::error::is_lost;
use crate::fs::{Dir, Errno, Folder, Kind};
use crate::tree::entries;

/// Maximum number of passes: another process may keep adding entries.
const TIMES: usize = 4;

/// Removes staging. Returns the kept entries.
pub(super) fn clear(restore: &Restore<'_>) -> Result<Vec<KeptEntry>> {
    restore.check()?;
    let Some(staging) = Staging::find(restore)? else {
        return staging::kept_entries(restore);
    };
    let syscalls = restore.syscalls();
    let find = Find { contents: restore.contents, stamps: restore.stamps };
    let clear = Clear { restore, syscalls: &syscalls, find };
    let (root, name) = (restore.folder.root(), staging::name(&restore.id));
    for n in 0..TIMES {
        clear.staging(&staging)?;
        match syscalls.remove_directory(root, name.as_bytes()) {
            Ok(()) | Err(Errno::NOENT) => break,
            Err(Errno::NOTEMPTY) if n + 1 < TIMES => {}
            Err(e) => return Err(error::below("remove", name.as_bytes(), e)),
        }
    }
    syscalls.sync(root).map_err(|e| error::below("sync", b"", e))?;
    staging::kept_entries(restore)
}

struct Clear<'a> {
    restore: &'a Restore<'a>,
    syscalls: &'a Syscalls<'a>,
    find: Find<'a>,
}

impl Clear<'_> {
    fn staging(&self, staging: &Staging) -> Result<()> {
        let own = &staging.own;
        let failed = |e| error::below("clear", b"staging", e);
        remove_all(self.restore.folder, self.syscalls, (own, PART))?;
        for place in Place::ALL {
            let Some(dir) = staging.place(place) else {
                continue;
            };
            for name in dir.names(usize::MAX).map_err(failed)? {
                // `check` ensured that each action's slot is its index.
                let slot = std::str::from_utf8(&name).ok().and_then(|n| n.parse().ok());
                let action = slot.and_then(|slot: usize| self.restore.plan.actions.get(slot));
                match action {
                    Some(action) => self.slot(dir, &name, action)?,
                    None => move_to_kept(self.restore, self.syscalls, (dir, &name), &name)?,
                }
            }
            match self.syscalls.remove_directory(own, place.name()) {
                // The next pass handles entries added since.
                Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY) => {}
                Err(e) => return Err(failed(e)),
            }
        }
        for name in own.names(usize::MAX).map_err(failed)? {
            let ours = Place::ALL.into_iter().any(|place| place.name() == &*name);
            let is_folder = || own.look(&name).is_ok_and(|found| found.kind == Kind::Directory);
            if !ours || !is_folder() {
                move_to_kept(self.restore, self.syscalls, (own, &name), &name)?;
            }
        }
        Ok(())
    }

    fn slot(&self, dir: &Dir, name: &[u8], action: &Action) -> Result<()> {
        let items: Vec<_> = action.before.iter().chain(&action.after).collect();
        // The stamp of the present avoids a read, if there is one.
        if let Some(before) = &action.before
            && before.kind.is_file()
            && self.find.is_displaced((dir, name), &action.path, before)?
        {
            return self.remove((dir, name), &action.path);
        }
        self.expected((dir, name), &action.path, action.slot, &items)
    }

    /// Removes an entry that is one of `items`; of a folder, all its known contents. A cleanup that
    /// was interrupted may have removed some of them before.
    fn expected(
        &self,
        (dir, name): (&Dir, &[u8]),
        path: &TreePath,
        slot: u32,
        items: &[&Item],
    ) -> Result<()> {
        let failed = |e| error::below("clear", path.as_bytes(), e);
        let found = match dir.look(name) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(()),
            Err(e) => return Err(failed(e)),
        };
        let known = match found.kind {
            Kind::File => {
                let of_len = |item: &&&Item| item.kind.file_len() == Some(found.stamp.size);
                let hashes: Vec<_> = (items.iter().filter(of_len))
                    .filter_map(|item| item.kind.file_hash())
                    .collect();
                let hash = match hashes.is_empty() {
                    true => None,
                    // An unreadable file must not be removed.
                    false => match hash_of(dir, name, found.stamp.size) {
                        Err(Errno::ACCESS) => None,
                        hash => hash.map_err(failed)?,
                    },
                };
                hash.is_some_and(|hash| hashes.contains(&hash))
            }
            Kind::Link => {
                let target = dir.target(name).map_err(failed)?;
                let leads_there = |item: &&Item| match &item.kind {
                    EntryKind::Link { target: stored } => **stored == *target,
                    _ => false,
                };
                items.iter().any(leads_there)
            }
            Kind::Directory => {
                let tree = |item: &&Item| match item.kind {
                    EntryKind::Directory { id } => Some(id),
                    _ => None,
                };
                match items.iter().find_map(tree).map(|id| entries(self.restore.contents, &id)) {
                    Some(Ok(list)) => return self.folder((dir, name), path, slot, &list),
                    Some(Err(error)) if !is_lost(&error) => return Err(error),
                    _ => false,
                }
            }
            Kind::Special => false,
        };
        match known {
            true => self.remove((dir, name), path),
            false => {
                let wish = [slot.to_string().as_bytes(), b"-", path.name().as_bytes()].concat();
                move_to_kept(self.restore, self.syscalls, (dir, name), &wish)
            }
        }
    }

    fn folder(
        &self,
        (dir, name): (&Dir, &[u8]),
        path: &TreePath,
        slot: u32,
        list: &[milepost_codec::Entry],
    ) -> Result<()> {
        let failed = |e| error::below("clear", path.as_bytes(), e);
        open_up(self.syscalls, (dir, name)).map_err(failed)?;
        let inner = dir.directory(name).map_err(failed)?;
        self.restore.folder.admit(&inner).map_err(failed)?;
        for name in inner.names(usize::MAX).map_err(failed)? {
            let entry = list.binary_search_by(|entry| entry.name.as_bytes().cmp(&name));
            let entry = entry.ok().and_then(|at| list.get(at));
            match entry {
                Some(entry) => {
                    let path = path.join(&entry.name)?;
                    self.expected((&inner, &name), &path, slot, &[&entry.item])?;
                }
                None => {
                    let wish = [slot.to_string().as_bytes(), b"-", &name].concat();
                    move_to_kept(self.restore, self.syscalls, (&inner, &name), &wish)?;
                }
            }
        }
        match self.syscalls.remove_directory(dir, name) {
            Ok(()) | Err(Errno::NOTEMPTY | Errno::NOENT) => Ok(()),
            Err(e) => Err(failed(e)),
        }
    }

    fn remove(&self, place: (&Dir, &[u8]), path: &TreePath) -> Result<()> {
        match self.syscalls.remove(place.0, place.1) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(error::below("clear", path.as_bytes(), e)),
        }
    }
}

/// Removes an entry and everything below it without checks: partial output of a restore.
pub(super) fn remove_all(
    folder: &Folder,
    syscalls: &Syscalls<'_>,
    (dir, name): (&Dir, &[u8]),
) -> Result<()> {
    let failed = |e| error::below("remove", name, e);
    let found = match dir.look(name) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(()),
        Err(e) => return Err(failed(e)),
    };
    if found.kind != Kind::Directory {
        return syscalls.remove(dir, name).map_err(failed);
    }
    open_up(syscalls, (dir, name)).map_err(failed)?;
    let inner = match dir.directory(name) {
        Ok(inner) => inner,
        Err(e) if is_unreachable(e) => return Ok(()),
        Err(e) => return Err(failed(e)),
    };
    folder.admit(&inner).map_err(failed)?;
    for name in inner.names(usize::MAX).map_err(failed)? {
        remove_all(folder, syscalls, (&inner, &name))?;
    }
    syscalls.remove_directory(dir, name).map_err(failed)
}
