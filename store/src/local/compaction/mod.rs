//! Compaction: what retention let go of leaves the disk. `docs/RETENTION.md` says in which order,
//! and why it can be cut short anywhere.
//!
//! ```text
//! archive.rs  archive files without what is gone, each in one rename
//! build.rs    sled built anew from them, beside the one in use
//! switch.rs   which of two sled folders is in use
//! packs.rs    packs without chunks that nothing names
//! moving.rs   what is left of them, on its way to the newest pack
//! ```

pub(crate) mod archive;
pub(crate) mod move_chunks;
pub(crate) mod packs;
pub(crate) mod rebuild_index;
pub(crate) mod switch;

pub(crate) use crate::local::compaction::switch::finish_switch;

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use milepost_codec::{ChunkId, Error, ErrorKind, Result, Seq};

use crate::commit_log::CommitLog;
use crate::files;
use crate::liveness::Liveness;
use crate::local::LocalStore;
use crate::local::applier::Wake;
use crate::local::compaction::rebuild_index::Build;
use crate::local::inner::Inner;
use crate::local::layout::Layout;
use crate::projection::{Compacted, CompactionHost, CompactionStep, Maintenance};
use crate::tree_walk;

/// Commits that may be left to catch up with before commits are held.
const CLOSE: Seq = 64;

/// How often it is caught up before they are held however many are left.
const ROUNDS: usize = 8;

/// Takes off the disk what retention let go of.
pub(crate) fn compact(
    log: &LocalStore,
    above: &dyn CompactionHost,
    tell: &mut dyn FnMut(CompactionStep),
) -> Result<Compacted> {
    let shared = &log.shared;
    shared.check_open()?;
    log.check_writable()?;
    let Some(_one) = shared.compacting.try_lock() else {
        return Err(Error::new(ErrorKind::Conflict, "a compaction is under way already"));
    };
    let first_pack = shared.packs.begin_another()?;
    shared.fresh.begin();
    let done = log.compact_noted(above, tell, first_pack);
    shared.fresh.end();
    done
}

impl LocalStore {
    fn compact_noted(
        &self,
        above: &dyn CompactionHost,
        tell: &mut dyn FnMut(CompactionStep),
        first_pack: u32,
    ) -> Result<Compacted> {
        let shared = &self.shared;
        packs::check_bases(shared)?;
        self.archive_all()?;
        let scan = |from: &[u8], to: &[u8], limit| shared.kv.scan(from, to, false, limit);
        let live = Liveness::scanned(&scan)?;
        archive::filter(shared, &live, tell)?;
        let mut build = Build::start(shared, &live)?;
        for _ in 0..ROUNDS {
            build.catch_up(tell)?;
            if self.seq_now() - build.seq() <= CLOSE {
                break;
            }
            self.archive_all()?;
        }
        above.hold(&mut || {
            self.archive_all()?;
            build.catch_up(&mut |_| {})?;
            build.switch(above)
        })?;
        build.clean_up()?;
        let (mut named, mut roots) = build.into_named();
        named.extend(above.keeps());
        roots.extend(above.roots()?);
        let forget = |id: &ChunkId| {
            self.whole.lock().remove(id);
        };
        let unread = tree_walk::follow(roots, &|id| shared.chunk(id), &mut named);
        // What such a capture needs is not known: all that is in packs stays.
        let left = unread.into_iter().next().map(|(_, error)| error);
        if left.is_none() {
            packs::compact(shared, named, first_pack, &forget, tell)?;
        }
        shared.shelf.discard(&shared.layout.journal())?;
        let untouched = remove_copies(&shared.layout, !live.is_everything())?;
        Ok(Compacted { left, untouched })
    }

    fn seq_now(&self) -> Seq {
        self.seq()
    }

    /// Finishes the segment that is written to, and waits until all that is finished now is applied
    /// and archived; not for what a writer that never pauses finishes after it. What is written
    /// next goes into a file that held nothing before.
    fn archive_all(&self) -> Result<()> {
        let shared = &self.shared;
        shared.shelf.discard(&shared.layout.journal())?;
        {
            let mut journal = shared.journal.lock();
            let Some(journal) = journal.as_mut() else {
                return Err(Error::new(ErrorKind::Unavailable, "the store is closed"));
            };
            let finished = journal.finish_segment(self.entropy.u64(), &shared.shelf);
            finished.inspect_err(|error| {
                if journal.is_unknown() {
                    shared.poison(error);
                }
            })?;
        }
        let until = shared.shelf.sealed.lock().back().map(|sealed| sealed.last);
        self.drain()?;
        let _ = self.wakes.send(Wake::Look);
        let waits = || {
            let sealed = shared.shelf.sealed.lock();
            sealed.front().is_some_and(|first| Some(first.last) <= until)
        };
        let mut guard = shared.waiting.lock();
        while waits() {
            if let Some(error) = shared.poisoned() {
                return Err(error);
            }
            let again = std::time::Duration::from_millis(100);
            if shared.progress.wait_for(&mut guard, again).timed_out() {
                let _ = self.wakes.send(Wake::Look);
            }
        }
        Ok(())
    }
}

/// Returns the most bytes that a compaction needs: another sled folder, what is live in packs, an
/// archive file and a segment.
pub(crate) fn needs(shared: &Inner) -> u64 {
    let sled = shared.kv.dir().map_or(0, |dir| files::disk_bytes(&dir));
    sled + files::disk_bytes(&shared.layout.packs()) + (16 << 20)
}

/// Returns about how many bytes of packs chunks take: of a group of chunks its part by their
/// number.
pub(crate) fn packed_bytes(shared: &Inner, ids: &HashSet<ChunkId>) -> Result<u64> {
    packs::bytes_of(shared, ids)
}

/// Removes copies of content that no compaction writes anew, where content was withdrawn since they
/// were made, or may have been. Gives the files that it knows nothing of.
fn remove_copies(layout: &Layout, withdrawn: bool) -> Result<Vec<PathBuf>> {
    let beside = layout.beside_the_log()?;
    for path in beside.copies.iter().filter(|_| withdrawn) {
        let removed = match path.is_dir() {
            true => fs::remove_dir_all(path),
            false => fs::remove_file(path),
        };
        match removed {
            // A capture has put the next one in the place of a stat cache.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            removed => removed.map_err(|e| files::io("remove", path, &e))?,
        }
        files::sync_parent(path)?;
        tracing::info!("removed {}, which may hold what is gone", path.display());
    }
    Ok(beside.others)
}
