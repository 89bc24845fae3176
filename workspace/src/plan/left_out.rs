//! Paths that captures leave out: their changes since the snapshot, as far as names, kinds, sizes
//! and times show.

use std::collections::BTreeSet;

use milepost::Result;
use milepost_codec::{Capture, ChunkId, PathBytes, Skip, SkipReason, TreePath};

use super::report::{LeftOut, LeftOutChange, Plan};
use crate::chunks::Contents;
use crate::error::is_lost;
use crate::fs::{Dir, Errno, Kind, Listed, Moment};
use crate::tree;

/// Maximum number of entries of folders that are examined. Folders beyond are not compared.
const ENTRIES_MAX: usize = 20_000;

/// Maximum depth of folders that are examined.
const DEPTH_MAX: usize = 64;

/// Microseconds by which a file's time may be behind the clock of the log.
const GRAIN_US: u64 = 10_000;

/// Entries of a repository that a commit, a branch or a setting changes, and a look does not.
const OF_REPOSITORY: [&[u8]; 4] = [b"HEAD", b"packed-refs", b"refs", b"config"];

/// The snapshot of a restore, as far as paths that were left out matter.
pub(crate) struct Then<'a> {
    pub(crate) capture: &'a Capture,
    /// Time of the last event before the point; `None` if it is unknown, or if the snapshot belongs
    /// to another folder.
    pub(crate) us: Option<u64>,
}

/// Adds the paths that captures leave out, and that changed since the snapshot.
pub(crate) fn look_at_left_out(
    folder: &Dir,
    contents: &dyn Contents,
    then: &Then<'_>,
    now: &[Skip],
    preview: &mut Plan,
) -> Result<()> {
    let mut look = Look { since: then.us, entries: ENTRIES_MAX, depth: 0 };
    let before = match tree::skips(contents, then.capture) {
        Ok(skips) => skips,
        Err(error) if is_lost(&error) => {
            preview.uncompared += then.capture.skipped;
            Vec::new()
        }
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for skip in before.iter().filter(counts) {
        let size = Some(skip.size).filter(|_| has_size(skip));
        match look.change(folder, skip) {
            Seen::Same => {}
            Seen::NotCompared => preview.uncompared += 1,
            Seen::Differs(change) => {
                found.push(LeftOut::new(skip.path.clone(), skip.reason, change, size));
            }
        }
    }
    let known: BTreeSet<&[u8]> = before.iter().map(|skip| skip.path.as_bytes()).collect();
    for skip in now.iter().filter(counts) {
        let path = skip.path.as_bytes();
        if above(path).any(|path| known.contains(path))
            || is_in(contents, &then.capture.tree, path)?
        {
            continue;
        }
        let size = Some(skip.size).filter(|_| has_size(skip));
        found.push(LeftOut::new(skip.path.clone(), skip.reason, LeftOutChange::New, size));
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    preview.left_out = found;
    Ok(())
}

/// Returns `true` for a path of the user's that captures leave out.
fn counts(skip: &&Skip) -> bool {
    !matches!(skip.reason, SkipReason::Unstable | SkipReason::Store | SkipReason::Staging)
}

/// Returns `true` if a skip has the size of a file.
fn has_size(skip: &Skip) -> bool {
    let is_sized = matches!(
        skip.reason,
        SkipReason::Ignored | SkipReason::Default | SkipReason::Large | SkipReason::Limit
    );
    is_sized && skip.size > 0
}

/// Returns `true` if the snapshot has a path.
fn is_in(contents: &dyn Contents, tree: &ChunkId, path: &[u8]) -> Result<bool> {
    let Ok(path) = TreePath::new(path) else { return Ok(false) };
    match tree::find(contents, tree, &path) {
        Ok(found) => Ok(found.is_some()),
        Err(error) if is_lost(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns a path and the folders above it.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
    ends.chain([path.len()]).filter_map(|end| path.get(..end))
}

enum Seen {
    Same,
    NotCompared,
    Differs(LeftOutChange),
}

/// A comparison of a path that the snapshot left out.
struct Look {
    since: Option<u64>,
    /// Entries of folders that may still be examined.
    entries: usize,
    /// Levels of folders above the current one.
    depth: usize,
}

impl Look {
    fn change(&mut self, folder: &Dir, skip: &Skip) -> Seen {
        let (dir, found) = match entry(folder, &skip.path) {
            Ok(found) => found,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                return Seen::Differs(LeftOutChange::Gone);
            }
            Err(_) => return Seen::NotCompared,
        };
        let is_special = skip.reason == SkipReason::Special;
        let other_kind = is_special != (found.kind == Kind::Special);
        let other_size = match found.kind {
            Kind::File => has_size(skip) && found.stamp.size != skip.size,
            _ => has_size(skip),
        };
        if other_kind || other_size {
            return Seen::Differs(LeftOutChange::Changed);
        }
        if is_special {
            return Seen::Same;
        }
        let name = skip.path.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let is_repository = skip.reason == SkipReason::Git;
        match (self.since, skip.reason) {
            (None, _) | (_, SkipReason::Mount | SkipReason::Denied | SkipReason::Wide) => {
                Seen::NotCompared
            }
            (Some(since), _) => self.is_later(&dir, name, &found, since, is_repository),
        }
    }

    /// Compares the times of an entry, and of all below a folder.
    fn is_later(
        &mut self,
        dir: &Dir,
        name: &[u8],
        found: &Listed,
        since: u64,
        is_repository: bool,
    ) -> Seen {
        let Some(left) = self.entries.checked_sub(1) else { return Seen::NotCompared };
        self.entries = left;
        let is_folder = found.kind == Kind::Directory;
        if !(is_folder && is_repository) && us(found.stamp.ctime) + GRAIN_US >= since {
            return Seen::Differs(LeftOutChange::Touched);
        }
        if !is_folder {
            return Seen::Same;
        }
        if self.depth >= DEPTH_MAX {
            return Seen::NotCompared;
        }
        let Ok(dir) = dir.directory(name) else { return Seen::NotCompared };
        let Ok(names) = dir.names(self.entries) else { return Seen::NotCompared };
        self.depth += 1;
        let seen = self.is_any_later(&dir, &names, since, is_repository);
        self.depth -= 1;
        seen
    }

    /// Compares the times of the entries of a folder.
    fn is_any_later(
        &mut self,
        dir: &Dir,
        names: &[Box<[u8]>],
        since: u64,
        is_repository: bool,
    ) -> Seen {
        let is_bare = is_repository && OF_REPOSITORY.iter().any(|name| dir.look(name).is_ok());
        let mut seen = Seen::Same;
        for name in names {
            if is_bare && !OF_REPOSITORY.contains(&&**name) {
                continue;
            }
            // A removal in between changed the time of its folder.
            let Ok(found) = dir.look(name) else { continue };
            match self.is_later(dir, name, &found, since, false) {
                Seen::Same => {}
                Seen::NotCompared => seen = Seen::NotCompared,
                differs @ Seen::Differs(_) => return differs,
            }
        }
        seen
    }
}

/// Returns the metadata of an entry, and its folder.
fn entry(folder: &Dir, path: &PathBytes) -> Result<(Dir, Listed), Errno> {
    let mut dir = folder.reopen()?;
    let mut names: Vec<&[u8]> = path.as_bytes().split(|byte| *byte == b'/').collect();
    let name = names.pop().unwrap_or_default();
    for name in names {
        dir = dir.directory(name)?;
    }
    let found = dir.look(name)?;
    Ok((dir, found))
}

/// Returns microseconds since the epoch; 0 before it.
fn us(moment: Moment) -> u64 {
    let s = u64::try_from(moment.s).unwrap_or_default();
    s.saturating_mul(1_000_000).saturating_add(u64::from(moment.ns) / 1000)
}
