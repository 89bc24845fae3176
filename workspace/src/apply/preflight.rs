//! Whether all that is to be recorded is there. What the tree to come has in common with the one of
//! the present is as that was captured, under the same lock; the rest is looked at. What is beside
//! it was never recorded and is not asked for.

use milepost::Result;
use milepost_codec::{ChunkId, EntryKind, Item, TreePath};

use super::compare::Find;
use super::context::{changed, no_way};
use super::{Restore, Way};
use crate::error;
use crate::tree::side_by_side;

/// Compares the folder with the tree to come where that is other than the one of the present:
/// `Conflict` where a path is other.
pub(super) fn check(restore: &Restore<'_>, present: ChunkId, tree: ChunkId) -> Result<()> {
    let mut check = Check {
        restore,
        find: Find {
            contents: restore.contents,
            // What was moved has no stamp of the present.
            stamps: &|_| None,
        },
        way: Way::new(restore.folder),
    };
    let trees = [Some(present), Some(tree)];
    side_by_side(restore.contents, trees, &mut |path, [_, item]| match item {
        Some(item) => check.path(path, item),
        None => Ok(()),
    })
}

struct Check<'a> {
    restore: &'a Restore<'a>,
    find: Find<'a>,
    way: Way<'a>,
}

impl Check<'_> {
    fn path(&mut self, path: &TreePath, item: &Item) -> Result<()> {
        let failed = |e| match no_way(e) {
            true => changed(path),
            false => error::below("look at", path.as_bytes(), e),
        };
        let parent = self.way.parent(path).map_err(failed)?;
        let name = path.name();
        let is = if let EntryKind::Directory { .. } = item.kind {
            let bits = parent.directory(name.as_bytes()).and_then(|inner| {
                self.restore.folder.admit(&inner)?;
                Ok(inner.itself()?.stamp.bits())
            });
            bits.map_err(failed)? == item.mode
        } else {
            let place = (&*parent, name.as_bytes());
            self.find.is_exactly(place, path, item, &|_| None)?
        };
        match is {
            true => Ok(()),
            false => Err(changed(path)),
        }
    }
}
