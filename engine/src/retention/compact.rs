//! Compaction: removes withdrawn content from the disk.

use std::collections::HashSet;
use std::path::PathBuf;

use milepost_codec::{ChunkId, LogKind, Result};
use milepost_store::CompactionStep;
use milepost_store::DiskBytes;
use milepost_store::index::SnapshotNote;
use milepost_store::index::keys;
use milepost_store::{Compacted, CompactionHost};

use super::Retention;
use crate::handles::inner::Inner;
use crate::history::base;
use crate::history::events::Ancestry;
use crate::history::state::is_usable;

/// The disk space that a compaction needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionPlan {
    /// The bytes that the store takes on disk now.
    pub disk: DiskBytes,
    /// The maximum of further bytes that have to be free.
    pub needs: u64,
}

/// Result of a compaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionReport {
    /// The bytes on disk before.
    pub before: DiskBytes,
    /// The bytes on disk after.
    pub after: DiskBytes,
    /// The reason why packs were not compacted: a captured workspace cannot be read whole, so the
    /// chunks that it needs are unknown. They are compacted again once retention has removed that
    /// capture.
    pub packs_left: Option<String>,
    /// Files in the store's folder that may hold withdrawn content and that no compaction touches:
    /// tool results that could not be recorded (`unrecorded/`), and files not made by Milepost.
    pub untouched: Vec<PathBuf>,
}

impl CompactionHost for Inner {
    fn hold(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let done = self.committer.hold(work);
        // Blocks read before may have changed.
        self.catalog.withdrew();
        done
    }

    fn keeps(&self) -> HashSet<ChunkId> {
        let (pieces, forgot) = self.catalog.pieces.all();
        if forgot {
            self.kept.forget_all();
        }
        pieces
    }

    fn roots(&self) -> Result<HashSet<ChunkId>> {
        let mut roots = HashSet::new();
        for (_, entry) in base::all(&self.catalog)? {
            roots.extend(base::workspace(&self.catalog, &entry)?);
        }
        Ok(roots)
    }

    fn uses(&self, key: &[u8], note: &SnapshotNote) -> Result<bool> {
        let log = keys::log_of(key);
        let LogKind::Lineage(lineage) = log.kind else {
            return Ok(false);
        };
        let ancestry = Ancestry::of(&self.catalog, log.task, lineage)?;
        Ok(is_usable(&self.catalog, log.task, &ancestry, note))
    }
}

impl Retention<'_> {
    /// Returns the disk space that a compaction needs. Changes nothing.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn plan_compaction(&self) -> Result<CompactionPlan> {
        let log = self.engine.inner.catalog.log();
        Ok(CompactionPlan { disk: log.disk_bytes()?, needs: log.compaction_needs() })
    }

    /// Removes withdrawn content from the disk: from sled, which is rebuilt in a new folder, and
    /// from the archive, the journal and the packs. If anything was erased, trimmed or deleted, it
    /// also removes copies that may hold it, such as `damaged/` and the stat caches of workspaces.
    /// Appends continue and wait only for the switch; closing the store waits for the whole
    /// compaction. An interrupted compaction has no visible effect and can be repeated. A store in
    /// memory has nothing to compact.
    ///
    /// A state that was read before events of its task were trimmed or erased, before the task was
    /// deleted, or some gigabytes of folded states ago, may lose messages that it has not loaded
    /// yet: read it again.
    ///
    /// # Errors
    ///
    /// - `Conflict`: another compaction is in progress.
    /// - `Unavailable`: the disk is full: nothing has changed. Or the call is
    ///   [cancelled](crate::calls::Cancel): what is removed by then stays removed, and another
    ///   compaction removes the rest.
    /// - `Corrupt`: content to be kept cannot be read. Run `repair` first.
    pub fn compact(&self, tell: &mut dyn FnMut(CompactionStep)) -> Result<CompactionReport> {
        let inner = &self.engine.inner;
        let log = inner.catalog.log();
        let before = log.disk_bytes()?;
        let report = &mut |step| {
            tell(step);
            self.engine.cancel().check()
        };
        let Compacted { left, untouched } = log.compact(inner.as_ref(), report)?;
        if let Some(error) = &left {
            tracing::warn!("packs are left as they are: {error}");
        }
        Ok(CompactionReport {
            before,
            after: log.disk_bytes()?,
            packs_left: left.map(|error| error.to_string()),
            untouched,
        })
    }
}
