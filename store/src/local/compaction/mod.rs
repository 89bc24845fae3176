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

use std::fs;
use std::path::PathBuf;

use milepost_codec::{ChunkId, Error, ErrorKind, Result, Seq};

use crate::entropy::Entropy;
use crate::liveness::Liveness;
use crate::local::applier::Applier;
use crate::local::archive::from_index::Files;
use crate::local::compaction::rebuild_index::Build;
use crate::local::inner::Inner;
use crate::local::layout::Layout;
use crate::projection::{Compacted, CompactionHost, CompactionStep};
use crate::{files, tree_walk};

/// The number of remaining commits at which new commits are held.
const CLOSE: Seq = 64;

/// The maximum number of rounds before commits are held, however many remain.
const ROUNDS: usize = 8;

/// A compaction of a store, and the parts that it works with.
pub(crate) struct Compaction<'a> {
    pub(crate) shared: &'a Inner,
    pub(crate) applier: &'a Applier,
    pub(crate) entropy: &'a Entropy,
    /// Called for each chunk that is removed.
    pub(crate) forget: &'a dyn Fn(&ChunkId),
}

impl Compaction<'_> {
    /// Removes withdrawn content from the disk.
    pub(crate) fn run(
        &self,
        above: &dyn CompactionHost,
        report: &mut dyn FnMut(CompactionStep) -> Result<()>,
    ) -> Result<Compacted> {
        let shared = self.shared;
        shared.check_open()?;
        shared.check_writable()?;
        let Some(_one) = shared.compacting.try_lock() else {
            return Err(Error::new(ErrorKind::Conflict, "a compaction is under way already"));
        };
        let first_pack = shared.index.packs.begin_another()?;
        shared.fresh.begin();
        let outcome = self.run_noted(above, report, first_pack);
        shared.fresh.end();
        outcome
    }

    fn run_noted(
        &self,
        above: &dyn CompactionHost,
        report: &mut dyn FnMut(CompactionStep) -> Result<()>,
        first_pack: u32,
    ) -> Result<Compacted> {
        let (shared, index) = (self.shared, &self.shared.index);
        packs::check_bases(index)?;
        self.archive_all()?;
        let scan = |from: &[u8], to: &[u8], limit| index.kv.scan(from, to, false, limit);
        let live = Liveness::scanned(&scan)?;
        let (dir, store, key) = (&shared.layout.archive(), index.store, index.key.as_ref());
        archive::filter(&Files { dir, store, key }, &live, report)?;
        let mut build = Build::start(shared, &live)?;
        for _ in 0..ROUNDS {
            build.catch_up(report)?;
            if shared.seq() - build.seq() <= CLOSE {
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
        let unread = tree_walk::follow(roots, &|id| index.chunk(id), &mut reachable);
        // The chunks of an unreadable capture are unknown, so all packs stay.
        let left = unread.into_iter().next().map(|(_, error)| error);
        if left.is_none() {
            packs::compact(index, &shared.fresh, reachable, first_pack, self.forget, report)?;
        }
        shared.segments.discard(&shared.layout.journal())?;
        let untouched = remove_copies(&shared.layout, !live.is_everything())?;
        Ok(Compacted { left, untouched })
    }

    /// Finishes the active segment, and waits until it is applied and archived. Later commits go
    /// into a file that holds no old frames.
    fn archive_all(&self) -> Result<()> {
        let shared = self.shared;
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
        self.applier.archive_finished(shared)
    }
}

/// Returns the maximum bytes that a compaction needs: another sled folder, the live content of
/// packs, an archive file and a segment.
pub(crate) fn needs(shared: &Inner) -> u64 {
    let sled = shared.index.kv.dir().map_or(0, |dir| files::disk_bytes(&dir));
    sled + files::disk_bytes(&shared.layout.packs()) + (16 << 20)
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
