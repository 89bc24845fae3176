//! Check of the folder after a restore. Paths that are equal in the resulting tree and the present
//! were captured under the same lock; the others are compared. Other entries of the folder were
//! never recorded and are ignored.

use milepost::Result;
use milepost_codec::{ChunkId, EntryKind, Item, TreePath};

use super::Restore;
use super::compare::Find;
use super::context::{changed, is_unreachable};
use crate::error;
use crate::fs::PathWalker;
use crate::tree::side_by_side;

/// Compares the folder with the resulting tree where it differs from the present. `Conflict`: a
/// path differs.
pub(super) fn check(restore: &Restore<'_>, present: ChunkId, tree: ChunkId) -> Result<()> {
    let mut check = Check {
        restore,
        find: Find {
            contents: restore.contents,
            // Moved entries have no stamp of the present.
            stamps: &|_| None,
        },
        walker: PathWalker::new(restore.folder),
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
    walker: PathWalker<'a>,
}

impl Check<'_> {
    fn path(&mut self, path: &TreePath, item: &Item) -> Result<()> {
        let failed = |e| match is_unreachable(e) {
            true => changed(path),
            false => error::below("look at", path.as_bytes(), e),
        };
        let parent = self.walker.parent(path).map_err(failed)?;
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
