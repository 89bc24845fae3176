//! Maintenance of the local store: waiting for the applier, checks, compaction, closing.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use milepost_codec::{ChunkId, Error, ErrorKind, FRAME_HEADER_LEN, Result, Seq};

use crate::commit_log::CommitLog;
use crate::files;
use crate::local::archive::rebuild;
use crate::local::compaction::{self, Compaction};
use crate::local::journal::writer::JournalWriter;
use crate::local::markers::closed;
use crate::local::{LocalStore, applier, check};
use crate::metrics::Meters;
use crate::open_report::{Finding, OpenReport, Repair};
use crate::projection::{Compacted, CompactionHost, CompactionStep, DiskBytes, Maintenance};
use crate::storage_check::StorageCheck;

/// The bytes in the tail from which writers count as busy: as many have come again after a round.
const BUSY: usize = applier::ROUND_DUE / 2;

/// The time without a commit after which writers are not busy: a tail of less than a round stays.
const PAUSE: Duration = Duration::from_millis(20);

impl Maintenance for LocalStore {
    fn applied(&self) -> Seq {
        self.shared.index.applied()
    }

    fn drain(&self) -> Result<()> {
        self.applier.drain(&self.shared)
    }

    fn settle(&self, is_urgent: &dyn Fn() -> bool) {
        let shared = &self.shared;
        let mut guard = shared.waiting.lock();
        loop {
            let seq = self.seq();
            let is_busy = shared.index.tail.read().bytes() > BUSY && shared.poisoned().is_none();
            if !is_busy || is_urgent() {
                return;
            }
            let paused = shared.progress.wait_for(&mut guard, PAUSE).timed_out();
            if paused && self.seq() == seq {
                return;
            }
        }
    }

    fn disk_bytes(&self) -> Result<DiskBytes> {
        let layout = &self.shared.layout;
        let sled = match &self.shared.look {
            Some(_) => Some(layout.sled()),
            None => self.shared.index.kv.dir(),
        };
        Ok(DiskBytes {
            journal: files::disk_bytes(&layout.journal()),
            archive: files::disk_bytes(&layout.archive()),
            sled: sled.map_or(0, |dir| files::disk_bytes(&dir)),
            packs: files::disk_bytes(&layout.packs()),
            total: files::disk_bytes(&layout.root),
        })
    }

    fn check_storage(&self, storage: &mut StorageCheck) -> Result<()> {
        check::check(&self.shared, storage)
    }

    fn close(&self) -> Result<()> {
        self.shared.owner.check()?;
        if self.shared.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        if let Some(look) = &self.shared.look {
            self.shared.closed.store(true, Ordering::Release);
            self.shared.index.kv.close(true);
            return look.close();
        }
        // A running compaction switches folders.
        let _no_compaction = self.shared.compacting.lock();
        let drained = self.drain();
        self.applier.stop();
        self.shared.closed.store(true, Ordering::Release);
        let done = drained.and_then(|()| self.finish());
        if done.is_ok() {
            self.drop_early_spare();
        }
        if let Some(mut journal) = self.shared.journal.lock().take()
            && done.is_ok()
        {
            journal.trim();
        }
        let sound = self.shared.poisoned().is_none() && done.is_ok();
        let sled = self.shared.index.kv.dir();
        self.shared.index.kv.close(sound);
        if let (Ok(()), Some(sled)) = (&done, sled) {
            // Without it the next opening reads all of sled.
            let _ = closed::note(&self.shared.layout, &sled);
        }
        self.lock.lock().take();
        done
    }

    fn folder(&self) -> Option<&Path> {
        Some(&self.shared.layout.root)
    }

    fn opened(&self) -> OpenReport {
        self.report.clone()
    }

    fn was_torn(&self) -> bool {
        self.was_torn
    }

    fn meters(&self) -> Option<&Arc<Meters>> {
        Some(&self.shared.meters)
    }

    fn is_poisoned(&self) -> bool {
        self.shared.poisoned().is_some()
    }

    fn compact(
        &self,
        above: &dyn CompactionHost,
        report: &mut dyn FnMut(CompactionStep) -> Result<()>,
    ) -> Result<Compacted> {
        let (shared, applier, entropy) = (&*self.shared, &self.applier, &*self.entropy);
        let forget = |id: &ChunkId| {
            self.intact_chunks.lock().remove(id);
        };
        Compaction { shared, applier, entropy, forget: &forget }.run(above, report)
    }

    fn compaction_needs(&self) -> u64 {
        compaction::needs(&self.shared)
    }

    fn packed_bytes(&self, ids: &HashSet<ChunkId>) -> Result<u64> {
        compaction::packs::bytes_of(&self.shared.index, ids)
    }

    fn mend_files(&self) -> Result<Vec<Finding>> {
        self.check_writable()?;
        self.drain()?;
        let shared = &self.shared;
        let mut findings = rebuild::mend_archive(&shared.index, &shared.layout, &*shared.clock)?;
        let record = |found: &Finding, copy: &str| {
            shared.layout.record(from_ref(found), copy, shared.clock.now_us())
        };
        let named = match compaction::packs::named(&shared.index, u32::MAX) {
            // The index is rebuilt first.
            Err(error) if error.kind() == ErrorKind::Corrupt => BTreeMap::new(),
            named => named?,
        };
        for (pack, named) in named {
            findings.extend(shared.index.packs.mend(pack, &named, &record)?);
        }
        shared.layout.record_mended(shared.clock.now_us())?;
        Ok(findings)
    }

    fn distrust_index(&self, damage: &str) -> Result<()> {
        self.check_writable()?;
        self.shared.layout.suspect_sled(damage)
    }

    fn repairs(&self) -> Result<Vec<Repair>> {
        self.shared.layout.read_repairs()
    }

    fn record_damage(&self, found: &[Finding], mended_from: &str) -> Result<()> {
        self.check_writable()?;
        self.shared.layout.record(found, mended_from, self.shared.clock.now_us())
    }

    fn acknowledge_repairs(&self) -> Result<u64> {
        self.check_writable()?;
        self.shared.layout.acknowledge_repairs(self.shared.clock.now_us())
    }

    fn note_verified(&self, events: u64, faults: usize) -> Result<()> {
        self.check_writable()?;
        self.shared.layout.note_verified(events, faults, self.shared.clock.now_us())
    }
}

impl LocalStore {
    /// Removes the free segment unless the active one is more than half full: a store that is
    /// closed may never be opened again.
    fn drop_early_spare(&self) {
        let shared = &self.shared;
        if shared.journal_wants_spare().is_none()
            && shared.segments.has_spare()
            && let Err(error) = shared.segments.discard(&shared.layout.journal())
        {
            // The next opening takes or removes a segment that stays.
            tracing::warn!("a free segment is not removed: {error}");
        }
    }

    /// Syncs sled, and writes the frame that marks the close of the store.
    fn finish(&self) -> Result<()> {
        self.shared.check_poison()?;
        let seq = self.seq();
        if self.closed_at == Some(seq) {
            return Ok(());
        }
        self.shared.index.packs.sync()?;
        if let Err(error) = self.shared.index.packs.sync_copies() {
            // Packs are copied when the store is used again.
            tracing::warn!("{error}");
        }
        let check = self.shared.journal.lock().as_ref().map(JournalWriter::check);
        let closed = || Error::new(ErrorKind::Unavailable, "the store is closed");
        self.shared.index.move_applied(seq, check.ok_or_else(closed)?)?;
        self.shared.index.kv.sync()?;
        self.commit(seq + 1, &mut vec![0; FRAME_HEADER_LEN], true)
    }
}
