//! Compaction: removes withdrawn content from the disk. `docs/RETENTION.md` gives the order of its
//! steps, and explains why it can be interrupted anywhere.
//!
//! ```text
//! archive.rs        archive files without withdrawn content, each replaced by a rename
//! rebuild_index.rs  a second sled folder, rebuilt from the archive
//! switch.rs         the marker of the sled folder in use
//! packs.rs          packs without chunks that nothing names
//! move_chunks.rs    the remaining chunks, moved to the newest pack
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

/// The number of remaining commits at which new commits are held.
const CLOSE: Seq = 64;

/// The maximum number of rounds before commits are held, however many remain.
const ROUNDS: usize = 8;

/// Removes withdrawn content from the disk.
pub(crate) fn compact(
    log: &LocalStore,
    above: &dyn CompactionHost,
    report: &mut dyn FnMut(CompactionStep) -> Result<()>,
) -> Result<Compacted> {
    let shared = &log.shared;
    shared.check_open()?;
    log.check_writable()?;
    let Some(_one) = shared.compacting.try_lock() else {
        return Err(Error::new(ErrorKind::Conflict, "a compaction is under way already"));
    };
    let first_pack = shared.packs.begin_another()?;
    shared.fresh.begin();
    let outcome = log.compact_noted(above, report, first_pack);
    shared.fresh.end();
    outcome
}

impl LocalStore {
    fn compact_noted(
        &self,
        above: &dyn CompactionHost,
        report: &mut dyn FnMut(CompactionStep) -> Result<()>,
        first_pack: u32,
    ) -> Result<Compacted> {
        let shared = &self.shared;
        packs::check_bases(shared)?;
        self.archive_all()?;
        let scan = |from: &[u8], to: &[u8], limit| shared.kv.scan(from, to, false, limit);
        let live = Liveness::scanned(&scan)?;
        archive::filter(shared, &live, report)?;
        let mut build = Build::start(shared, &live)?;
        for _ in 0..ROUNDS {
            build.catch_up(report)?;
            if self.seq_now() - build.seq() <= CLOSE {
                break;
            }
            self.archive_all()?;
        }
        above.hold(&mut || {
            self.archive_all()?;
            build.catch_up(&mut |_| Ok(()))?;
            build.switch(above)
        })?;
        build.clean_up()?;
        let (mut reachable, mut roots) = build.into_references();
        reachable.extend(above.keeps());
        roots.extend(above.roots()?);
        let forget = |id: &ChunkId| {
            self.intact_chunks.lock().remove(id);
        };
        let unread = tree_walk::follow(roots, &|id| shared.chunk(id), &mut reachable);
        // The chunks of an unreadable capture are unknown, so all packs stay.
        let left = unread.into_iter().next().map(|(_, error)| error);
        if left.is_none() {
            packs::compact(shared, reachable, first_pack, &forget, report)?;
        }
        shared.segments.discard(&shared.layout.journal())?;
        let untouched = remove_copies(&shared.layout, !live.is_everything())?;
        Ok(Compacted { left, untouched })
    }

    fn seq_now(&self) -> Seq {
        self.seq()
    }

    /// Finishes the active segment, and waits until all segments finished so far are applied and
    /// archived, but not for segments that a busy writer finishes later. Later commits go into a
    /// file that holds no old frames.
    fn archive_all(&self) -> Result<()> {
        let shared = &self.shared;
        shared.segments.discard(&shared.layout.journal())?;
        {
            let mut journal = shared.journal.lock();
            let Some(journal) = journal.as_mut() else {
                return Err(Error::new(ErrorKind::Unavailable, "the store is closed"));
            };
            let finished = journal.finish_segment(self.entropy.u64(), &shared.segments);
            finished.inspect_err(|error| {
                if journal.is_unknown() {
                    shared.poison(error);
                }
            })?;
        }
        let until = shared.segments.sealed.lock().back().map(|sealed| sealed.last);
        self.drain()?;
        drop(shared.segments.retry_archiving());
        let _ = self.wakes.send(Wake::Look);
        let waits = || {
            let sealed = shared.segments.sealed.lock();
            sealed.front().is_some_and(|first| Some(first.last) <= until)
        };
        let mut guard = shared.waiting.lock();
        while waits() {
            if let Some(error) = shared.poisoned().or_else(|| shared.segments.retry_archiving()) {
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

/// Returns the maximum bytes that a compaction needs: another sled folder, the live content of
/// packs, an archive file and a segment.
pub(crate) fn needs(shared: &Inner) -> u64 {
    let sled = shared.kv.dir().map_or(0, |dir| files::disk_bytes(&dir));
    sled + files::disk_bytes(&shared.layout.packs()) + (16 << 20)
}

/// Estimates the bytes of packs that chunks take. A member of a group counts as an equal share.
pub(crate) fn packed_bytes(shared: &Inner, ids: &HashSet<ChunkId>) -> Result<u64> {
    packs::bytes_of(shared, ids)
}

/// Removes copies of content that no compaction rewrites, if content may have been withdrawn since
/// they were made. Returns the files of unknown kinds.
fn remove_copies(layout: &Layout, withdrawn: bool) -> Result<Vec<PathBuf>> {
    let extra = layout.extra_files()?;
    for path in extra.copies.iter().filter(|_| withdrawn) {
        let removed = match path.is_dir() {
            true => fs::remove_dir_all(path),
            false => fs::remove_file(path),
        };
        match removed {
            // A capture has replaced the stat cache.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            removed => removed.map_err(|e| files::io("remove", path, &e))?,
        }
        files::sync_parent(path)?;
        tracing::info!("removed {}, which may hold what is gone", path.display());
    }
    Ok(extra.others)
}
