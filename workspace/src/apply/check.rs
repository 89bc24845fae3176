//! Whether all that is to be recorded is there: the tree to come, against the folder. What is beside it
//! was never recorded and is not asked for.

use std::collections::BTreeSet;

use milepost::Result;
use milepost_codec::{ChunkId, EntryKind, TreePath, Verb};

use super::Restore;
use super::find::Find;
use super::restore::{changed, no_way};
use crate::error;
use crate::fs::Dir;
use crate::tree::{Counts, entries};

/// Compares the folder with the tree to come, and counts that: `Conflict` where a path is other.
pub(super) fn check(restore: &Restore<'_>, tree: &ChunkId) -> Result<Counts> {
    let find = Find {
        contents: restore.contents,
        stamps: restore.stamps,
    };
    let put = |verb| matches!(verb, Verb::Create | Verb::Replace);
    let moved = restore
        .plan
        .actions
        .iter()
        .filter(|action| put(action.verb));
    let moved = moved.map(|action| &action.path).collect();
    let mut check = Check {
        restore,
        find,
        moved,
        counts: Counts::default(),
    };
    check.directory(restore.folder.root(), None, tree, false)?;
    Ok(check.counts)
}

struct Check<'a> {
    restore: &'a Restore<'a>,
    find: Find<'a>,
    /// What was moved has no stamp of the present.
    moved: BTreeSet<&'a TreePath>,
    counts: Counts,
}

impl Check<'_> {
    fn directory(
        &mut self,
        dir: &Dir,
        path: Option<&TreePath>,
        id: &ChunkId,
        moved: bool,
    ) -> Result<()> {
        for entry in entries(self.restore.contents, id)? {
            let path = match path {
                Some(path) => path.join(&entry.name)?,
                None => TreePath::from(entry.name.clone()),
            };
            let moved = moved || self.moved.contains(&path);
            let name = entry.name.as_bytes();
            self.counts.add(&entry.item);
            if let EntryKind::Directory { id } = &entry.item.kind {
                let inner = dir.directory(name).and_then(|inner| {
                    self.restore.folder.admit(&inner)?;
                    let bits = inner.itself()?.stamp.bits();
                    Ok((inner, bits))
                });
                let (inner, bits) = match inner {
                    Ok(found) => found,
                    Err(e) if no_way(e) => return Err(changed(&path)),
                    Err(e) => return Err(error::below("look at", path.as_bytes(), e)),
                };
                if bits != entry.item.mode {
                    return Err(changed(&path));
                }
                self.directory(&inner, Some(&path), id, moved)?;
                continue;
            }
            let none: super::find::Stamps<'_> = &|_| None;
            let stamps = if moved { none } else { self.restore.stamps };
            if !self
                .find
                .is_exactly((dir, name), &path, &entry.item, stamps)?
            {
                return Err(changed(&path));
            }
        }
        Ok(())
    }
}
