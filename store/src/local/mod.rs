//! The local store: a log in a folder.
//!
//! ```text
//! open.rs        opening: names, lock, settings; a damaged sled is set aside and rebuilt
//! layout.rs      the files of a store                   kinds.rs     content in each of them
//! lock.rs        one process at a time                  settings.rs  settings of the store
//! markers/       small files and entries: acknowledged, applied, closed, unsynced
//! journal/       writer: frames, one sync each; scan: finds frames after a crash
//! archive/       finished segments, compressed; rebuild: damaged files, from_index: out of sled
//! recovery/      decide: the table of RECOVERY.md; replay: frames into the tail; parallel_apply
//! index/         sled, the block files, and the check of both against digests
//! chunks/        chunks in packs
//! location.rs    places in packs and block files        inner.rs     the parts that all share
//! applier.rs     moves commits from the tail into sled, in rounds
//! reading.rs     the tail first, then sled
//! maintenance.rs waiting, checks, compaction, closing   compaction/  removal of withdrawn content
//! salvage/       a new archive from damaged copies      upkeep.rs    repair of a store
//! check.rs       the files that a verification reads    look/        a store opened for reading
//! repairs.rs     records of repaired damage
//! ```
//!
//! # Sync
//!
//! An append is one write and one `fdatasync` of the journal. sled is synced before a journal
//! segment is recycled, packs before a record names a chunk.

mod applier;
mod archive;
mod check;
mod chunks;
mod compaction;
mod gc_barrier;
mod index;
mod inner;
mod journal;
mod kinds;
mod layout;
mod location;
mod lock;
mod look;
mod maintenance;
mod markers;
mod open;
mod reading;
mod recovery;
mod repairs;
mod salvage;
mod settings;
mod upkeep;

pub use crate::local::salvage::{LostRange, Salvaged};
#[cfg(feature = "fuzzing")]
pub use crate::local::upkeep::{read_archive, survey_segment};
pub use crate::local::upkeep::{
    repairs_on_record, salvage_store, store_id, store_key_id, with_lock_unwritten,
};

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::Sender;
use milepost_codec::{ChunkId, Error, ErrorKind, Result, Seq, StoreId};
use parking_lot::Mutex;

use crate::clock::Stopwatch;
use crate::commit_batch::CommitBatch;
use crate::commit_log::{ChunkStore, CommitLog};
use crate::entropy::Entropy;
use crate::local::applier::Wake;
use crate::local::inner::Inner;
use crate::local::journal::writer::JournalWriter;
use crate::local::layout::Layout;
use crate::local::location::Location;
use crate::local::lock::StoreLock;
use crate::local::look::Look;
use crate::local::markers::acked::AckMarker;
use crate::open_report::Finding;
use crate::options::OpenOptions;
use crate::process::Owner;
use crate::projection::Maintenance;
use crate::threads;

/// The number of appended bytes after which the applier checks if a round is due.
const LOOK_EVERY: usize = 1 << 20;

/// A log in a folder.
pub struct LocalStore {
    shared: Arc<Inner>,
    entropy: Arc<Entropy>,
    wakes: Sender<Wake>,
    applier: Mutex<Option<JoinHandle<()>>>,
    since_look: AtomicU64,
    /// The last commit at opening, if the journal ended with a closed or an empty segment. While it
    /// is the last, close writes nothing.
    closed_at: Option<Seq>,
    lock: Mutex<Option<StoreLock>>,
    /// `None` if the store is opened for reading only.
    witness: Option<AckMarker>,
    findings: Vec<Finding>,
    /// The number of unreadable chunks, and the chunks that were not stored again since.
    damaged: Mutex<(u64, HashSet<ChunkId>)>,
    /// Chunks that were stored or read intact since the store was opened.
    intact_chunks: Mutex<HashSet<ChunkId>>,
    /// Fingerprints of earlier contents, to recognize repeated ones; `None` if each body is stored
    /// by itself.
    came: Option<Mutex<HashSet<u64>>>,
    /// The end of the packs when the store was opened: later chunks are this process's.
    opened_at: Location,
}

impl LocalStore {
    /// Opens the store in a folder, or creates one.
    pub fn open(root: &Path, options: &OpenOptions, entropy: Arc<Entropy>) -> Result<Self> {
        if options.read_only {
            return Self::open_to_read(root, options, entropy);
        }
        let layout = Layout::new(root);
        if options.only_reads
            && look::is_quick(&layout)
            && let Ok(log) = Self::open_to_read(root, options, Arc::clone(&entropy))
            // An opening for writing repairs findings.
            && log.findings.is_empty()
        {
            return Ok(log);
        }
        let lock = open::prepare(&layout, options, &entropy)?;
        let mut findings = Vec::new();
        let config = open::settings(&layout, options, &mut findings)?;
        let (shared, end) = open::bring_back(&layout, &config, options, &mut findings)?;
        for Finding { place, message, outcome } in &findings {
            tracing::warn!("{}: {place}: {message} ({outcome})", root.display());
        }
        let witness = AckMarker::open(&layout.acked(), config.store, end.acked())?;
        layout.record_mended(options.clock.now_us())?;
        shared.seq.store(end.last, Ordering::Release);
        let closed_at = end.active.is_some().then_some(end.last).filter(|last| *last > 0);
        let journal = JournalWriter::new(&shared.layout.journal(), shared.config.store, end);
        *shared.journal.lock() = Some(journal);
        let (wakes, woken) = crossbeam_channel::unbounded();
        let applier = {
            let shared = Arc::clone(&shared);
            threads::start("applier", move || applier::run(&shared, &woken))?
        };
        let _ = wakes.send(Wake::Look);
        let mut log = Self::over(shared, entropy, wakes, findings);
        log.applier = Mutex::new(Some(applier));
        log.closed_at = closed_at;
        log.lock = Mutex::new(Some(lock));
        log.witness = Some(witness);
        log.came = options.share_bodies.then(Mutex::default);
        Ok(log)
    }

    /// Opens a store for reading only: nothing in its folder is changed or locked.
    fn open_to_read(root: &Path, options: &OpenOptions, entropy: Arc<Entropy>) -> Result<Self> {
        let (shared, findings) = look::open(&Layout::new(root), options)?;
        let (wakes, _) = crossbeam_channel::unbounded();
        Ok(Self::over(shared, entropy, wakes, findings))
    }

    fn over(
        shared: Arc<Inner>,
        entropy: Arc<Entropy>,
        wakes: Sender<Wake>,
        findings: Vec<Finding>,
    ) -> Self {
        Self {
            opened_at: shared.packs.end(),
            shared,
            entropy,
            wakes,
            applier: Mutex::default(),
            since_look: AtomicU64::new(0),
            closed_at: None,
            lock: Mutex::default(),
            witness: None,
            findings,
            damaged: Mutex::default(),
            intact_chunks: Mutex::default(),
            came: None,
        }
    }

    /// Returns the store's id.
    pub fn store(&self) -> StoreId {
        self.shared.config.store
    }

    /// Waits while the tail exceeds the backlog limit.
    fn wait_for_room(&self) -> Result<()> {
        let shared = &self.shared;
        if shared.tail.read().bytes() <= shared.backlog_bytes {
            return Ok(());
        }
        let _ = self.wakes.send(Wake::Look);
        let mut guard = shared.waiting.lock();
        while shared.tail.read().bytes() > shared.backlog_bytes {
            shared.check_poison()?;
            shared.progress.wait(&mut guard);
        }
        Ok(())
    }

    /// Poisons the store after a failed write, whose outcome is unknown.
    fn poisons<T>(&self, done: Result<T>) -> Result<T> {
        done.inspect_err(|error| self.shared.poison(error))
    }

    fn commit(&self, seq: Seq, buf: &mut Vec<u8>, closed: bool) -> Result<()> {
        let mut journal = self.shared.journal.lock();
        let Some(journal) = journal.as_mut() else {
            return Err(Error::new(ErrorKind::Unavailable, "the store is closed"));
        };
        let epoch = self.entropy.u64();
        let started = Stopwatch::start();
        let (segments, key) = (&self.shared.segments, self.shared.key.as_ref());
        let appended = journal.append(seq, buf, closed, epoch, segments, key);
        appended.inspect_err(|error| {
            if journal.is_unknown() {
                self.shared.poison(error);
            }
        })?;
        // The frame that marks the close of the store is not acknowledged.
        if !closed {
            let meters = &self.shared.meters;
            meters.commit_us.record(started.us());
            meters.journal_syncs.add(1);
            meters.journal_bytes.add(buf.len() as u64);
            if let Some(witness) = &self.witness {
                witness.note(seq);
            }
        }
        Ok(())
    }
}

impl CommitLog for LocalStore {
    fn owner(&self) -> &Owner {
        &self.shared.owner
    }

    fn check_writable(&self) -> Result<()> {
        match &self.shared.look {
            Some(look) => Err(look.refusal()),
            None => Ok(()),
        }
    }

    fn check_unmoved(&self) -> Result<()> {
        self.shared.look.as_ref().map_or(Ok(()), Look::check_unmoved)
    }

    fn append(&self, mut batch: CommitBatch) -> Result<()> {
        self.shared.check_open()?;
        self.check_writable()?;
        self.shared.check_poison()?;
        self.wait_for_room()?;
        if batch.names_chunks {
            self.sync_chunks()?;
        }
        self.commit(batch.seq, &mut batch.buf, false)?;
        let size = batch.buf.len();
        let seq = batch.seq;
        {
            let mut tail = self.shared.tail.write();
            tail.push(batch);
            self.shared.meters.lag(tail.commits(), tail.bytes());
        }
        self.shared.seq.store(seq, Ordering::Release);
        let since = self.since_look.fetch_add(size as u64, Ordering::Relaxed) + size as u64;
        if since >= LOOK_EVERY as u64 {
            self.since_look.store(0, Ordering::Relaxed);
            let _ = self.wakes.send(Wake::Look);
        }
        Ok(())
    }

    fn has_failed(&self) -> bool {
        self.is_poisoned()
    }

    fn seq(&self) -> Seq {
        self.shared.seq.load(Ordering::Acquire)
    }
}

impl Drop for LocalStore {
    fn drop(&mut self) {
        if self.shared.owner.is_elsewhere() {
            // Dropping would let sled write, and release the lock that the parent holds.
            std::mem::forget(Arc::clone(&self.shared));
            std::mem::forget(self.lock.get_mut().take());
            return;
        }
        let _ = self.close();
    }
}
