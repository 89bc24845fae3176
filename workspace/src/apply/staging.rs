//! Staging: the folder in which a restore works.
//!
//! ```text
//! .milepost-restore-HEX/part/SLOT    content being written: removed without checks
//!                       new/SLOT     N: new entries, and old ones after an exchange
//!                       old/SLOT     O: entries moved aside
//! .milepost-kept-HEX/SLOT-NAME       entries that the restore must not delete
//! ```
//!
//! One rename turns `part` into `new` when everything is written and synced, so a partial file is
//! never mistaken for the user's.

use milepost::{Error, ErrorKind, Result};
use milepost_codec::{PathBytes, RestoreId, TreePath};

use super::Restore;
use super::context::is_unreachable;
use super::syscalls::Syscalls;
use crate::error;
use crate::fs::{Dir, Errno};

/// An entry in staging that the restore must not delete: another process wrote to it after it was
/// displaced, or added it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptEntry {
    /// Path that it was displaced from, if known.
    pub(crate) path: Option<TreePath>,
    /// Path below the root of the workspace where it is now.
    pub(crate) kept: PathBytes,
}

pub(super) const PART: &[u8] = b"part";

/// Number of names tried for a kept entry.
const TRIES: u32 = 10_000;

/// One of the two places in staging.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Place {
    New,
    Old,
}

impl Place {
    pub(super) const ALL: [Self; 2] = [Self::New, Self::Old];

    pub(super) fn name(self) -> &'static [u8] {
        match self {
            Self::New => b"new",
            Self::Old => b"old",
        }
    }
}

/// The existing parts of the folder.
pub(super) struct Staging {
    pub(super) own: Dir,
    new: Option<Dir>,
    old: Option<Dir>,
}

/// Returns the name of a slot.
pub(super) fn slot(number: u32) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// Returns the name of the folder.
pub(super) fn name(id: &RestoreId) -> String {
    format!(".milepost-restore-{id}")
}

/// Returns the restore whose staging has a name.
pub(crate) fn restore_of(name: &[u8]) -> Option<RestoreId> {
    let hex = name.strip_prefix(b".milepost-restore-")?;
    std::str::from_utf8(hex).ok()?.parse().ok()
}

fn kept_folder_name(id: &RestoreId) -> String {
    format!(".milepost-kept-{id}")
}

impl Staging {
    /// Creates staging, and returns it with `part`.
    pub(super) fn begin(restore: &Restore<'_>, syscalls: &Syscalls<'_>) -> Result<(Self, Dir)> {
        let name = name(&restore.id);
        let made = syscalls.make_directory(restore.folder.root(), name.as_bytes());
        let own = made.map_err(|e| error::below("make", name.as_bytes(), e))?;
        let make = |inner: &[u8]| {
            let made = syscalls.make_directory(&own, inner);
            made.map_err(|e| error::below("make", name.as_bytes(), e))
        };
        let (part, old) = (make(PART)?, Some(make(Place::Old.name())?));
        let new = None;
        Ok((Self { own, new, old }, part))
    }

    /// Finds staging; `None` if it does not exist.
    pub(super) fn find(restore: &Restore<'_>) -> Result<Option<Self>> {
        let name = name(&restore.id);
        let failed = |e| match e {
            Errno::NOTDIR | Errno::LOOP => Error::new(
                ErrorKind::Unavailable,
                format!("`{name}` is no folder: it belongs to a restore, remove what is there"),
            ),
            e => error::below("open", name.as_bytes(), e),
        };
        let own = match restore.folder.root().directory(name.as_bytes()) {
            Ok(own) => own,
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(failed(e)),
        };
        restore.folder.admit(&own).map_err(failed)?;
        let inner = |place: Place| match own.directory(place.name()) {
            Ok(dir) => Ok(Some(dir)),
            // Anything else than a folder holds nothing of the restore. The cleanup keeps it.
            Err(e) if is_unreachable(e) => Ok(None),
            Err(e) => Err(failed(e)),
        };
        let (new, old) = (inner(Place::New)?, inner(Place::Old)?);
        Ok(Some(Self { own, new, old }))
    }

    /// Finds or creates staging.
    pub(super) fn find_or_make(restore: &Restore<'_>, syscalls: &Syscalls<'_>) -> Result<Self> {
        if let Some(found) = Self::find(restore)? {
            return Ok(found);
        }
        let name = name(&restore.id);
        let made = syscalls.make_directory(restore.folder.root(), name.as_bytes());
        let own = made.map_err(|e| error::below("make", name.as_bytes(), e))?;
        let (new, old) = (None, None);
        Ok(Self { own, new, old })
    }

    /// Returns a place, if it exists.
    pub(super) fn place(&self, place: Place) -> Option<&Dir> {
        match place {
            Place::New => self.new.as_ref(),
            Place::Old => self.old.as_ref(),
        }
    }

    /// Returns a place, and creates it if it is missing.
    pub(super) fn needed(&mut self, syscalls: &Syscalls<'_>, place: Place) -> Result<&Dir> {
        let held = match place {
            Place::New => &mut self.new,
            Place::Old => &mut self.old,
        };
        match held {
            Some(dir) => Ok(dir),
            None => {
                let made = syscalls.make_directory(&self.own, place.name());
                Ok(held.insert(made.map_err(|e| error::below("make", place.name(), e))?))
            }
        }
    }

    /// Turns `part` into `new`: everything in it is written and synced, and may be moved.
    pub(super) fn written(&mut self, syscalls: &Syscalls<'_>) -> Result<()> {
        let to = Place::New.name();
        let done = syscalls.put((&self.own, PART), (&self.own, to));
        let opened = done.and_then(|()| self.own.directory(to));
        let new = opened.map_err(|e| error::below("move", PART, e))?;
        self.new = Some(new);
        Ok(())
    }
}

/// Moves an entry to the folder of kept entries.
pub(super) fn move_to_kept(
    restore: &Restore<'_>,
    syscalls: &Syscalls<'_>,
    from: (&Dir, &[u8]),
    wish: &[u8],
) -> Result<()> {
    let root = restore.folder.root();
    let name = kept_folder_name(&restore.id);
    let failed = |e| error::below("keep", wish, e);
    let kept = match syscalls.make_directory(root, name.as_bytes()) {
        Err(Errno::EXIST) => root.directory(name.as_bytes()),
        made => made.and_then(|made| syscalls.sync(root).map(|()| made)),
    };
    let kept = kept.map_err(failed)?;
    open_up(syscalls, from).map_err(failed)?;
    for n in 0..TRIES {
        let more = if n == 0 { String::new() } else { format!("~{n}") };
        let length = 255 - more.len();
        let front = wish.get(..length).unwrap_or(wish);
        let to = [front, more.as_bytes()].concat();
        match syscalls.put(from, (&kept, &to)) {
            Ok(()) => return syscalls.sync(&kept).map_err(failed),
            Err(Errno::EXIST) => {}
            Err(e) => return Err(failed(e)),
        }
    }
    Err(failed(Errno::EXIST))
}

/// Returns the kept entries of a restore, including those of an interrupted call.
pub(super) fn kept_entries(restore: &Restore<'_>) -> Result<Vec<KeptEntry>> {
    let name = kept_folder_name(&restore.id);
    let failed = |e| error::below("read", name.as_bytes(), e);
    let names = match restore.folder.root().directory(name.as_bytes()) {
        Ok(dir) => dir.names(usize::MAX).map_err(failed)?,
        Err(e) if is_unreachable(e) => return Ok(Vec::new()),
        Err(e) => return Err(failed(e)),
    };
    let mut kept: Vec<_> = (names.iter())
        .map(|kept| {
            let slot = kept.split(|byte| *byte == b'-').next();
            let slot = slot.and_then(|slot| std::str::from_utf8(slot).ok()?.parse::<usize>().ok());
            let action = slot.and_then(|slot| restore.plan.actions.get(slot));
            KeptEntry {
                path: action.map(|action| action.path.clone()),
                kept: PathBytes::from(&*[name.as_bytes(), b"/", kept].concat()),
            }
        })
        .collect();
    kept.sort_by(|a, b| a.kept.cmp(&b.kept));
    Ok(kept)
}

/// Opens a directory: it can move to another parent only if it is writable itself.
pub(super) fn open_up(syscalls: &Syscalls<'_>, (dir, name): (&Dir, &[u8])) -> Result<(), Errno> {
    let inner = match dir.directory(name) {
        Ok(inner) => inner,
        Err(e) if is_unreachable(e) => return Ok(()),
        Err(e) => return Err(e),
    };
    let bits = inner.itself()?.stamp.bits();
    match bits & 0o300 {
        0o300 => Ok(()),
        _ => syscalls.bits(&inner, bits | crate::plan::OPEN),
    }
}
