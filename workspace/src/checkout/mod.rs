//! Writing a stored tree into an empty folder. One thread walks the tree and creates folders and
//! links; it distributes files as jobs to other threads and itself.
//!
//! ```text
//! target_dir.rs  a folder being written: its mode bits are set last
//! queue.rs       jobs of files, and the threads that write them
//! ```

mod queue;
mod target_dir;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::thread::available_parallelism;

use milepost::Result;
use milepost_codec::{ChunkId, Entry, EntryKind, TreePath};

use self::queue::{Jobs, NewFile};
use self::target_dir::Place;
use crate::chunks::Chunks;
use crate::error;
use crate::fs::Dir;
use crate::tree::{Budget, TreeFolder};

/// Maximum number of writing threads: more would contend in the file system.
const WRITERS_MAX: usize = 4;

/// Maximum number of folders that pending files keep open besides the folders of the walk: the
/// limit of a process is often 1,024 files.
const OPEN_MAX: usize = 256;

/// Returns the number of writing threads.
pub(crate) fn processors() -> usize {
    available_parallelism().map_or(1, |found| found.get().min(WRITERS_MAX))
}

/// Writes a tree into an empty folder with `writers` threads, at most as many entries as its
/// capture states. Files written before an error stay.
pub(crate) fn fill(
    chunks: &Arc<dyn Chunks>,
    (tree, says): (&ChunkId, Budget),
    root: Dir,
    writers: usize,
) -> Result<()> {
    std::thread::scope(|scope| {
        let mut jobs = Jobs::new(scope, chunks, writers);
        let walked = walk(chunks, (tree, says), root, &mut jobs);
        jobs.finish(walked)
    })
}

fn walk(
    chunks: &Arc<dyn Chunks>,
    (tree, mut budget): (&ChunkId, Budget),
    root: Dir,
    jobs: &mut Jobs<'_, '_>,
) -> Result<()> {
    // Folders of the walk, from the top down.
    let mut stack = vec![(Place::root(root), TreeFolder::open(&**chunks, tree)?)];
    while let Some((place, folder)) = stack.last_mut() {
        let Some(entry) = folder.next() else {
            place.one_less()?;
            stack.pop();
            continue;
        };
        let Entry { name, item } = entry?;
        budget.take(&item)?;
        let path = match place.path() {
            Some(within) => within.join(&name)?,
            None => TreePath::from(name.clone()),
        };
        let failed = |e| error::below("write", path.as_bytes(), e);
        match &item.kind {
            EntryKind::Directory { id } => {
                let inside = place.dir().make_directory(name.as_bytes()).map_err(failed)?;
                let folder = TreeFolder::open(&**chunks, id).map_err(|e| e.at(&path))?;
                let inside = place.inside(inside, path, item.mode);
                let open = inside.how_many();
                stack.push((inside, folder));
                if open > stack.len() + OPEN_MAX {
                    jobs.settle()?;
                }
            }
            EntryKind::Link { target } => {
                let made = place.dir().make_link(name.as_bytes(), target);
                made.map_err(failed)?;
            }
            _ => jobs.take(NewFile::new(place, name, path, item))?,
        }
    }
    Ok(())
}
