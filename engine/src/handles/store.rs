//! The store of an engine: its opening, statistics, metrics and chunks.

use std::sync::Arc;

use milepost_codec::{LogId, Result, Seq, StoreId};
use milepost_store::clock::Clock;
use milepost_store::metrics::Metrics;
use milepost_store::open_report::OpenReport;

use crate::handles::chunk_store::ChunkStore;
use crate::handles::engine::Engine;
use crate::history::stats::Stats;

/// The store of an engine, apart from its tasks: see [`Engine::store`].
#[derive(Debug, Clone, Copy)]
pub struct Store<'a> {
    engine: &'a Engine,
}

impl Engine {
    /// Returns the operations on the store itself: the report of its opening, statistics, metrics,
    /// and chunks.
    pub fn store(&self) -> Store<'_> {
        Store { engine: self }
    }
}

impl<'a> Store<'a> {
    /// Returns the findings of opening the store, and their outcomes.
    pub fn report(&self) -> &'a OpenReport {
        &self.engine.inner.opened
    }

    /// Returns the id of the store.
    pub fn id(&self) -> StoreId {
        StoreId(self.engine.inner.store.0)
    }

    /// Returns the clock for the times of events.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.engine.inner.options.log.clock)
    }

    /// Checks that the store can be written to.
    ///
    /// # Errors
    ///
    /// `Unavailable` with [`Detail::ReadOnly`](crate::Detail): the store was opened with
    /// [`Options::read_only`](crate::Options::read_only).
    pub fn check_writable(&self) -> Result<()> {
        self.engine.check_writable()
    }

    /// Returns the id of the store's key, a digest of it, if the store is keyed.
    pub fn key_id(&self) -> Option<[u8; 16]> {
        self.engine.inner.options.log.key.map(|key| key.id())
    }

    /// Returns the statistics of the store. Reads no event.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn stats(&self) -> Result<Stats> {
        let mut stats = crate::history::stats::count(&self.engine.inner.catalog)?;
        let log = self.engine.inner.catalog.log();
        stats.seq = log.seq();
        stats.applied = log.applied();
        stats.disk = log.disk_bytes()?;
        let disk = &stats.disk;
        self.engine.inner.meters.disk([disk.journal, disk.archive, disk.sled, disk.packs]);
        stats.kept = self.engine.inner.kept.counts();
        (stats.recovered, stats.torn) = (self.engine.inner.opened.recovered, log.was_torn());
        if let Some(anchoring) = self.engine.inner.anchor.lock().as_ref() {
            stats.anchored = anchoring.writer.anchored();
        }
        Ok(stats)
    }

    /// Returns the number of the last commit.
    pub fn seq(&self) -> Seq {
        self.engine.inner.catalog.log().seq()
    }

    /// Returns `true` if the store can be read: it is not closed.
    pub fn is_open(&self) -> bool {
        self.engine.inner.catalog.log().head(LogId::STORE).is_ok()
    }

    /// Returns `true` after a write with unknown outcome: the store has to be reopened.
    pub fn is_poisoned(&self) -> bool {
        self.engine.inner.catalog.log().is_poisoned()
    }

    /// Waits until all commits are applied to sled.
    ///
    /// # Errors
    ///
    /// `Poisoned`: writing to sled failed. The commits are still in the journal.
    pub fn drain(&self) -> Result<()> {
        self.engine.inner.catalog.log().drain()
    }

    /// Returns the counts, levels and durations so far. Reads nothing from disk.
    ///
    /// ```
    /// use milepost::events::Message;
    /// use milepost::{Append, Engine, Options};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// let engine = Engine::open(dir.path().join(".milepost"), Options::default())?;
    /// let task = engine.start_task("tuning", "ana")?;
    /// let before = engine.store().metrics();
    /// task.append(Append::batch([Message::text("user", "a"), Message::text("user", "b")]))?;
    /// let now = engine.store().metrics();
    /// assert_eq!(now.appends - before.appends, 1);
    /// assert_eq!(now.events - before.events, 2);
    /// assert_eq!(now.journal_syncs, now.commits, "one sync for each commit");
    /// assert_eq!(now.append_us.count(), now.appends);
    /// assert_eq!(now.appends_per_commit.quantile(0.5), Some(1), "one append in each");
    /// assert_eq!(now.appends_per_commit.quantile(1.5), None, "no share of all values");
    /// println!("half of the appends took up to {:?} us", now.append_us.quantile(0.5));
    /// # engine.close()?;
    /// # Ok::<(), milepost::Error>(())
    /// ```
    pub fn metrics(&self) -> Metrics {
        self.engine.inner.meters.now()
    }

    /// Returns the maximum size of an event's body, in bytes.
    pub fn event_max(&self) -> usize {
        self.engine.inner.options.event_max
    }

    /// Delivers the queued events to the hooks, and waits for the calls that they have queued, as
    /// [`Engine::close`] does first. The store stays open, so that hooks which ask it are answered.
    /// Later events are not reported.
    pub fn end_hooks(&self) {
        self.engine.inner.end_hooks();
    }

    /// Returns the chunks of the store.
    pub fn chunks(&self) -> ChunkStore {
        ChunkStore { log: Arc::clone(self.engine.inner.catalog.log()) }
    }
}
