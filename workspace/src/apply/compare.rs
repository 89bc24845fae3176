//! Comparison of an entry with an item of a plan: kind, mode bits and content, and the complete
//! contents of a folder.

use std::os::unix::fs::FileExt;

use milepost::Result;
use milepost_codec::{EntryKind, Hash, Item, TreePath};

use super::context::is_unreachable;
use crate::chunks::Contents;
use crate::error;
use crate::fs::{Dir, Errno, Kind, Listed, Stamp, look_at};
use crate::plan::OPEN;
use crate::tree::entries;

/// Bytes of a file read at once.
const READ: usize = 256 << 10;

/// Result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ItemState {
    Nothing,
    /// The item before the restore.
    Before,
    /// The item after the restore.
    After,
    /// Neither of them.
    Other,
}

/// Callback that returns the trusted stamp of a path.
pub(super) type Stamps<'a> = &'a (dyn Fn(&TreePath) -> Option<Stamp> + Sync);

/// Compares entries with items.
#[derive(Clone, Copy)]
pub(super) struct Find<'a> {
    pub(super) contents: &'a dyn Contents,
    pub(super) stamps: Stamps<'a>,
}

impl Find<'_> {
    /// Returns the state of an entry. A folder may be opened.
    pub(super) fn found(
        &self,
        place: (&Dir, &[u8]),
        path: &TreePath,
        before: Option<&Item>,
        after: Option<&Item>,
    ) -> Result<ItemState> {
        match place.0.look(place.1) {
            Ok(_) => {}
            Err(Errno::NOENT) => return Ok(ItemState::Nothing),
            Err(e) => return Err(error::below("look at", path.as_bytes(), e)),
        }
        if let Some(before) = before
            && self.is_displaced(place, path, before)?
        {
            return Ok(ItemState::Before);
        }
        if let Some(after) = after
            && self.is(place, path, after, &|_| None, true)?
        {
            return Ok(ItemState::After);
        }
        Ok(ItemState::Other)
    }

    /// Returns `true` if an entry is the one that the present captured at `path`, even if it was
    /// moved.
    pub(super) fn is_displaced(
        &self,
        place: (&Dir, &[u8]),
        path: &TreePath,
        before: &Item,
    ) -> Result<bool> {
        self.is(place, path, before, self.stamps, true)
    }

    /// Returns `true` if an entry is exactly this item, including mode bits.
    pub(super) fn is_exactly(
        &self,
        place: (&Dir, &[u8]),
        path: &TreePath,
        item: &Item,
        stamps: Stamps<'_>,
    ) -> Result<bool> {
        self.is(place, path, item, stamps, false)
    }

    fn is(
        &self,
        place: (&Dir, &[u8]),
        path: &TreePath,
        item: &Item,
        stamps: Stamps<'_>,
        may_be_open: bool,
    ) -> Result<bool> {
        let failed = |e| error::below("read", path.as_bytes(), e);
        match self.looks(place, path, item, stamps, may_be_open) {
            Ok(is) => is,
            // The entry was removed or replaced during the comparison.
            Err(e) if is_unreachable(e) => Ok(false),
            Err(e) => Err(failed(e)),
        }
    }

    fn looks(
        &self,
        (dir, name): (&Dir, &[u8]),
        path: &TreePath,
        item: &Item,
        stamps: Stamps<'_>,
        may_be_open: bool,
    ) -> Result<Result<bool>, Errno> {
        let found = dir.look(name)?;
        let bits = found.stamp.bits();
        match (&item.kind, found.kind) {
            (EntryKind::Link { target }, Kind::Link) => Ok(Ok(dir.target(name)? == **target)),
            (EntryKind::Directory { id }, Kind::Directory) => {
                let opened = may_be_open && bits == item.mode | OPEN;
                if bits != item.mode && !opened {
                    return Ok(Ok(false));
                }
                let inner = dir.directory(name)?;
                let list = match entries(self.contents, id) {
                    Ok(list) => list,
                    Err(error) => return Ok(Err(error.at(path))),
                };
                let mut names = inner.names(list.len())?;
                names.sort();
                if !names.iter().map(|n| &**n).eq(list.iter().map(|e| e.name.as_bytes())) {
                    return Ok(Ok(false));
                }
                for entry in &list {
                    let place = (&inner, entry.name.as_bytes());
                    let is = path
                        .join(&entry.name)
                        .and_then(|path| self.is(place, &path, &entry.item, stamps, false));
                    match is {
                        Ok(true) => {}
                        other => return Ok(other),
                    }
                }
                Ok(Ok(true))
            }
            (kind, Kind::File) if kind.is_file() => {
                let len = kind.file_len().unwrap_or_default();
                if bits != item.mode || found.stamp.size != len {
                    return Ok(Ok(false));
                }
                if stamps(path).is_some_and(|stamp| is_stamp(&found, &stamp)) {
                    return Ok(Ok(true));
                }
                Ok(Ok(hash_of(dir, name, len)? == kind.file_hash()))
            }
            _ => Ok(Ok(false)),
        }
    }
}

/// Returns `true` if a file still has a stamp, so it was not written to since. `ctime` is not
/// compared: a move changes it.
fn is_stamp(found: &Listed, stamp: &Stamp) -> bool {
    let of = |s: &Stamp| (s.ino, s.size, s.mode, s.mtime);
    of(&found.stamp) == of(stamp)
}

/// Returns the hash of a file of length `len`; `None` if the length differs, or the file changes
/// during the read.
pub(super) fn hash_of(dir: &Dir, name: &[u8], len: u64) -> Result<Option<Hash>, Errno> {
    let file = dir.file(name)?;
    let before = look_at(&file)?;
    if before.kind != Kind::File || before.stamp.size != len {
        return Ok(None);
    }
    let mut hasher = blake3::Hasher::new();
    let size = usize::try_from(len).unwrap_or(READ).clamp(1, READ);
    let mut buffer = vec![0; size];
    let mut at = 0;
    // Try to read one byte more than `len`: a file that grows has another stamp.
    while at <= len {
        let read = match file.read_at(&mut buffer, at) {
            Ok(0) => break,
            Ok(read) => read,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(Errno::from_io_error(&e).unwrap_or(Errno::IO)),
        };
        hasher.update(buffer.get(..read).unwrap_or_default());
        at += read as u64;
    }
    let after = look_at(&file)?;
    let is_stable = at == len && before.stamp == after.stamp;
    Ok(is_stable.then(|| Hash(*hasher.finalize().as_bytes())))
}
