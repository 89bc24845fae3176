//! What went leaves the disk.

use std::collections::HashSet;
use std::path::PathBuf;

use milepost_codec::{ChunkId, LogKind, Result};
use milepost_store::CompactionStep;
use milepost_store::DiskBytes;
use milepost_store::index::SnapshotNote;
use milepost_store::index::keys;
use milepost_store::{Compacted, CompactionHost};

use crate::handles::engine::{Engine, Inner};
use crate::history::base;

/// What a compaction takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionPlan {
    /// What the store takes on disk now.
    pub disk: DiskBytes,
    /// How many bytes have to be free beside it, at most.
    pub needs: u64,
}

/// What a compaction did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionReport {
    /// What the store took on disk before.
    pub before: DiskBytes,
    /// What it takes now.
    pub after: DiskBytes,
    /// Why packs were left as they are: a captured workspace cannot be read whole, and nobody knows
    /// what it needs. They are compacted again once retention has let go of that capture.
    pub packs_left: Option<String>,
    /// Files below the store's folder that may hold content which was withdrawn and that no
    /// compaction touches: results of tools that could not be recorded (`unrecorded/`), and files
    /// that no part of Milepost makes.
    pub untouched: Vec<PathBuf>,
}

impl CompactionHost for Inner {
    fn hold(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let done = self.committer.hold(work);
        // Whatever was read of blocks before may be another now.
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
        let of_lineage = matches!(log.kind, LogKind::Lineage(_));
        Ok(of_lineage && note.erased == self.catalog.erased_count(log.task))
    }
}

impl Engine {
    /// What a compaction takes. Nothing is changed.
    ///
    /// # Errors
    ///
    /// `Unavailable` where the store is closed.
    pub fn plan_compaction(&self) -> Result<CompactionPlan> {
        let log = self.inner.catalog.log();
        Ok(CompactionPlan { disk: log.disk_bytes()?, needs: log.compaction_needs() })
    }

    /// Takes off the disk what retention let go of: from sled, which is built anew in a fresh
    /// folder, from the archive, the journal and the packs. Where anything was erased, trimmed or
    /// deleted it also removes copies that may hold it, as `damaged/` and the stat caches of
    /// workspaces. It runs beside appends, which wait for the moment of the switch only, and so
    /// does closing the store, for all of it. Cut short anywhere, it has changed nothing that can
    /// be seen, and can be done again. A store in memory has nothing to compact.
    ///
    /// A state that was taken from a task before events of it were trimmed or erased, before it was
    /// deleted, or some gigabytes of folded states ago, may lose messages that it has not read
    /// yet: take it again.
    ///
    /// # Errors
    ///
    /// `Conflict` where one is under way; `Unavailable` where the disk is full, and then nothing
    /// has changed; `Corrupt` where what is to be kept cannot be read: `repair` comes first.
    pub fn compact(&self, tell: &mut dyn FnMut(CompactionStep)) -> Result<CompactionReport> {
        let inner = &self.inner;
        let log = inner.catalog.log();
        let before = log.disk_bytes()?;
        let Compacted { left, untouched } = log.compact(inner.as_ref(), tell)?;
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
