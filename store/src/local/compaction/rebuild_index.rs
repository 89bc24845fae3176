//! A second sled folder, rebuilt from the archive without withdrawn content.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use milepost_codec::{ChunkId, Error, ErrorKind, LogId, PieceSource, Result, Seq};
use parking_lot::Mutex;

use crate::index::IndexPut;
use crate::index::keys;
use crate::index::keys::KeyKind;
use crate::index::{LogHead, SnapshotNote};
use crate::liveness::Liveness;
use crate::local::applier;
use crate::local::archive::ArchiveScan;
use crate::local::chunks::gc_roots::ReferencedChunks;
use crate::local::compaction::switch;
use crate::local::index::kv::Kv;
use crate::local::inner::{Inner, StoreParts};
use crate::local::location::Location;
use crate::local::markers::applied::AppliedPosition;
use crate::local::recovery::parallel_apply::ParallelApplier;
use crate::local::recovery::replay::{Position, Replay};
use crate::metrics::Meters;
use crate::projection::{CompactionHost, CompactionStep};

/// The number of entries that are copied together.
const COPIED: usize = 512;

/// A sled folder that is being rebuilt.
pub(crate) struct Build<'a> {
    shared: &'a Inner,
    live: &'a Liveness,
    /// The parts that its replay works on.
    next: Arc<Inner>,
    /// The folder in use before.
    before: PathBuf,
    /// Chunks that live events name.
    references: ReferencedChunks,
}

impl<'a> Build<'a> {
    pub(crate) fn start(shared: &'a Inner, live: &'a Liveness) -> Result<Self> {
        let layout = &shared.layout;
        let before = shared.kv.dir().unwrap_or_else(|| layout.sled());
        let dir = match before == layout.sled() {
            true => layout.sled_next(),
            false => layout.sled(),
        };
        switch::remove(&dir)?;
        let kv = Kv::open(&dir, shared.cache_bytes, shared.config.sled_segment)?;
        kv.blocks()?.resume(Location::default(), shared.config.store, false)?;
        // Its work is not counted in the store's metrics.
        let meters = Arc::new(Meters::new(format!("{} compaction", shared.config.store)));
        let next = Inner::new(StoreParts {
            layout: layout.clone(),
            config: shared.config.clone(),
            kv,
            packs: Arc::clone(&shared.packs),
            key: shared.key,
            backlog_bytes: shared.backlog_bytes,
            cache_bytes: shared.cache_bytes,
            applied: AppliedPosition::none(shared.config.store),
            audited: true,
            meters,
            clock: Arc::clone(&shared.clock),
            look: None,
        });
        let build = Self {
            shared,
            live,
            next: Arc::new(next),
            before,
            references: ReferencedChunks::default(),
        };
        build.copy(KeyKind::Chunk, &|_, _| true)?;
        Ok(build)
    }

    /// Returns the last commit that the new folder holds.
    pub(crate) fn seq(&self) -> Seq {
        self.next.position().seq
    }

    /// Applies the commits that the archive holds beyond the new folder's.
    pub(crate) fn catch_up(
        &mut self,
        report: &mut dyn FnMut(CompactionStep) -> Result<()>,
    ) -> Result<()> {
        let next = &self.next;
        let Inner { layout, config, key, .. } = self.shared;
        let files = ArchiveScan::take(&layout.archive(), config.store, key.as_ref())?;
        let AppliedPosition { seq, check, .. } = next.position();
        let all = files.end();
        let reporter = Mutex::new(report);
        let report = |at: Seq| (reporter.lock())(CompactionStep::Sled(at, all));
        let (at, references) = std::thread::scope(|scope| -> Result<_> {
            let applier = ParallelApplier::start(scope, next);
            let mut replay =
                Replay::new(next, applier, Position { seq, check }, &report, self.live);
            replay.archive(&files.files)?;
            let (at, _, references) = replay.finish_with_references()?;
            Ok((at, references))
        })?;
        applier::all(next)?;
        next.move_applied(at.seq, at.check)?;
        next.set_applied(at.seq);
        self.references.extend(references);
        next.kv.sync()
    }

    /// Replaces the index by the new one. No commit is running, and everything is applied and
    /// archived.
    pub(crate) fn switch(&mut self, above: &dyn CompactionHost) -> Result<()> {
        let (shared, next) = (self.shared, &self.next);
        let _alone = shared.switching.write();
        put_places(&next.kv, &shared.fresh.stored_after(0))?;
        self.copy_snapshots(above)?;
        self.copy_sources()?;
        next.move_applied(next.position().seq, next.position().check)?;
        next.kv.sync()?;
        let dir = next.kv.dir().ok_or_else(|| {
            Error::new(ErrorKind::Unavailable, "the new index was closed before it was complete")
        })?;
        switch::write_now(&shared.layout, &dir)?;
        shared.kv.exchange(&next.kv);
        let mut position = shared.position.lock();
        *position = next.position();
        Ok(())
    }

    /// Removes the folder that was in use before.
    pub(crate) fn clean_up(&self) -> Result<()> {
        self.next.kv.close(true);
        switch::remove(&self.before)
    }

    /// Returns the chunks that live events name, and the roots of trees.
    pub(crate) fn into_references(self) -> (HashSet<ChunkId>, HashSet<ChunkId>) {
        self.references.into_parts()
    }

    /// Copies the entries of a kind that `stays` returns `true` for.
    fn copy(&self, kind: KeyKind, stays: &dyn Fn(&[u8], &[u8]) -> bool) -> Result<()> {
        let mut puts: Vec<IndexPut> = Vec::new();
        let mut failed = Ok(());
        let kv = &self.next.kv;
        self.shared.kv.walk(&keys::all(kind), &mut |key, value| {
            if stays(key, value) {
                puts.push((key.to_vec(), Some(value.to_vec())));
            }
            if puts.len() >= COPIED && failed.is_ok() {
                failed = kv.apply(std::mem::take(&mut puts));
            }
        })?;
        failed?;
        kv.apply(puts)
    }

    /// Copies the sources of pieces, without those whose events were removed.
    fn copy_sources(&self) -> Result<()> {
        self.copy(KeyKind::PieceSource, &|key, value| {
            let (task, lineage) = keys::source_lineage(key);
            let log = LogId::lineage(task, lineage);
            let begin = self.live.base(log).map_or(0, |base| base.next);
            let has_events = PieceSource::decode(value).is_ok_and(|source| source.first >= begin);
            has_events && !self.live.is_gone(log)
        })
    }

    /// Copies the notes of snapshots that are still useful. Their byte counts leave out the events
    /// that the lineage lost.
    fn copy_snapshots(&self, above: &dyn CompactionHost) -> Result<()> {
        let (shared, next) = (self.shared, &self.next);
        let mut lost: HashMap<LogId, u64> = HashMap::new();
        let mut notes = Vec::new();
        shared.kv.walk(&keys::all(KeyKind::Snapshot), &mut |key, value| {
            notes.push((key.to_vec(), value.to_vec()));
        })?;
        let mut puts: Vec<IndexPut> = Vec::new();
        for (key, value) in notes {
            let log = keys::log_of(&key);
            if self.live.is_gone(log) {
                continue;
            }
            let Ok(note) = SnapshotNote::unseal(&key, &value, shared.key.as_ref()) else {
                continue;
            };
            if !above.uses(&key, &note)? {
                continue;
            }
            let lost = match lost.get(&log) {
                Some(lost) => *lost,
                None => {
                    let bytes = |head: Option<LogHead>| head.map_or(0, |head| head.bytes);
                    let before = bytes(shared.stored_head(log)?);
                    let now = bytes(next.stored_head(log)?);
                    *lost.entry(log).or_insert(before.saturating_sub(now))
                }
            };
            let note = SnapshotNote { log_bytes: note.log_bytes.saturating_sub(lost), ..note };
            let note = note.sealed(&key, shared.key.as_ref());
            puts.push((key, Some(note.encode())));
        }
        for puts in puts.chunks(COPIED) {
            next.kv.apply(puts.to_vec())?;
        }
        Ok(())
    }
}

/// Puts the locations of chunks into an index.
fn put_places(kv: &Kv, stored: &[(ChunkId, Location)]) -> Result<()> {
    for some in stored.chunks(COPIED) {
        let put = |(id, place): &(ChunkId, Location)| (keys::chunk(id), Some(place.encode()));
        kv.apply(some.iter().map(put).collect())?;
    }
    Ok(())
}
