//! Writing new content to staging: each chunk is checked by its hash, and everything is synced.

use std::fs::File;
use std::os::unix::fs::FileExt;

use milepost::{Error, Result};
use milepost_codec::{ActionKind, EntryKind, Hash, Item, TreePath};

use super::Restore;
use super::contents::{ChunkSource, with_chunks};
use super::staging::slot;
use super::syscalls::{Syscalls, syncs_each};
use crate::error;
use crate::fs::{Dir, Errno};
use crate::plan::OPEN;
use crate::tree::{entries, parts};

/// Maximum number of entries synced one by one; for more, the whole file system is synced if the
/// system can.
pub(super) const ONE_BY_ONE: usize = 64;

/// Size of the smallest chunk of zeros that becomes a hole.
const HOLE: usize = 4 << 10;

/// Stages the new content of all actions.
pub(super) fn stage(restore: &Restore<'_>, syscalls: &Syscalls<'_>, part: &Dir) -> Result<()> {
    let brings = |kind| matches!(kind, ActionKind::Create | ActionKind::Replace);
    let actions = || restore.plan.actions.iter().filter(|action| brings(action.kind));
    let items: Vec<_> = actions().filter_map(|action| action.after.as_ref()).collect();
    let mut remaining = ONE_BY_ONE;
    let mut few = true;
    for item in &items {
        few = few && count(restore, item, &mut remaining)?;
    }
    with_chunks(restore.contents, &items, !few, |chunks| {
        let stage = Stage { restore, syscalls, chunks, syncs: syncs_each(few) };
        for action in actions() {
            if let Some(item) = &action.after {
                stage.item(part, &slot(action.slot), &action.path, item, true)?;
            }
        }
        Ok::<(), Error>(())
    })?;
    let synced = match syncs_each(few) {
        true => syscalls.sync(part),
        false => syscalls.sync_file_system(part),
    };
    synced.map_err(|e| error::below("sync", b"staging", e))
}

/// Stages and syncs one item under a name.
pub(super) fn stage_one(
    restore: &Restore<'_>,
    syscalls: &Syscalls<'_>,
    place: (&Dir, &[u8]),
    path: &TreePath,
    item: &Item,
) -> Result<()> {
    let few = count(restore, item, &mut { ONE_BY_ONE })?;
    with_chunks(restore.contents, &[item], !few, |chunks| {
        let stage = Stage { restore, syscalls, chunks, syncs: syncs_each(few) };
        stage.item(place.0, place.1, path, item, true)
    })?;
    let synced = match syncs_each(few) {
        true => syscalls.sync(place.0),
        false => syscalls.sync_file_system(place.0),
    };
    synced.map_err(|e| error::below("sync", path.as_bytes(), e))
}

/// Returns `true` if an item has at most `remaining` entries.
fn count(restore: &Restore<'_>, item: &Item, remaining: &mut usize) -> Result<bool> {
    if *remaining == 0 {
        return Ok(false);
    }
    *remaining -= 1;
    if let EntryKind::Directory { id } = &item.kind {
        for entry in entries(restore.contents, id)? {
            if !count(restore, &entry.item, remaining)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

struct Stage<'a> {
    restore: &'a Restore<'a>,
    syscalls: &'a Syscalls<'a>,
    chunks: ChunkSource<'a>,
    /// `true` if each entry is synced by itself.
    syncs: bool,
}

impl Stage<'_> {
    /// Writes an item. The top folder stays open, since it is moved later.
    fn item(&self, dir: &Dir, name: &[u8], path: &TreePath, item: &Item, top: bool) -> Result<()> {
        let failed = |e| error::below("write", path.as_bytes(), e);
        match &item.kind {
            EntryKind::Link { target } => {
                self.syscalls.make_link(dir, name, target).map_err(failed)
            }
            EntryKind::Directory { id } => {
                let inner = self.syscalls.make_directory(dir, name).map_err(failed)?;
                let list = entries(self.restore.contents, id).map_err(|e| e.at(path))?;
                for entry in list {
                    let path = path.join(&entry.name)?;
                    self.item(&inner, entry.name.as_bytes(), &path, &entry.item, false)?;
                }
                let bits = if top { item.mode | OPEN } else { item.mode };
                self.syscalls.bits(&inner, bits).map_err(failed)?;
                match self.syncs {
                    true => self.syscalls.sync(&inner).map_err(failed),
                    false => Ok(()),
                }
            }
            _ => {
                let file = self.syscalls.make_file(dir, name).map_err(failed)?;
                self.syscalls.write().map_err(failed)?;
                self.write(&file, path, item)?;
                self.syscalls.file_bits(&file, item.mode).map_err(failed)?;
                match self.syncs {
                    true => self.syscalls.sync_file(&file).map_err(failed),
                    false => Ok(()),
                }
            }
        }
    }

    fn write(&self, file: &File, path: &TreePath, item: &Item) -> Result<()> {
        let contents = self.restore.contents;
        let failed = |e: &std::io::Error| {
            error::below("write", path.as_bytes(), Errno::from_io_error(e).unwrap_or(Errno::IO))
        };
        let (mut at, mut hasher) = (0_u64, blake3::Hasher::new());
        let is_listed = matches!(item.kind, EntryKind::Listed { .. });
        let mut hole = false;
        for part in parts(contents, item).map_err(|e| e.at(path))? {
            let bytes = self.chunks.next(&part).map_err(|e| e.at(path))?;
            // A file of one chunk has the chunk's hash, which was checked.
            if is_listed {
                hasher.update(&bytes);
            }
            hole = bytes.len() >= HOLE && bytes.iter().all(|byte| *byte == 0);
            if !hole {
                file.write_all_at(&bytes, at).map_err(|e| failed(&e))?;
            }
            at += part.len;
        }
        if hole {
            file.set_len(at).map_err(|e| failed(&e))?;
        }
        let hash = Hash(*hasher.finalize().as_bytes());
        match item.kind.file_hash() {
            Some(expected) if is_listed && expected != hash => {
                Err(Error::corrupt(path.to_string(), expected, hash))
            }
            _ => Ok(()),
        }
    }
}
