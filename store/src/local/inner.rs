//! State shared by the writer, the readers and the applier of a folder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use milepost_codec::{ChunkId, Error, ErrorKind, LogId, Result, Seq, StoreKey};
use parking_lot::{Condvar, Mutex, RwLock};

use crate::clock::Clock;
use crate::index::IndexPut;
use crate::index::{LogHead, keys};
use crate::local::chunks::packs::Packs;
use crate::local::gc_barrier::GcBarrier;
use crate::local::index::digest_check::CheckedParts;
use crate::local::index::kv::Kv;
use crate::local::journal::pool::SegmentPool;
use crate::local::journal::writer::JournalWriter;
use crate::local::layout::Layout;
use crate::local::location::Location;
use crate::local::look::Look;
use crate::local::markers::applied::AppliedPosition;
use crate::local::settings::StoreConfig;
use crate::metrics::Meters;
use crate::process::Owner;
use crate::tail::Tail;

/// State shared by the writer, the readers and the applier.
pub(crate) struct Inner {
    pub(crate) layout: Layout,
    pub(crate) config: StoreConfig,
    pub(crate) kv: Kv,
    pub(crate) packs: Arc<Packs>,
    pub(crate) segments: SegmentPool,
    pub(crate) tail: RwLock<Tail>,
    pub(crate) backlog_bytes: usize,
    pub(crate) cache_bytes: usize,
    /// The key of a keyed store.
    pub(crate) key: Option<StoreKey>,
    /// The applied position; locked while it changes.
    pub(crate) position: Mutex<AppliedPosition>,
    /// The parts of sled that were compared with their digests.
    pub(crate) audited: CheckedParts,
    pub(crate) journal: Mutex<Option<JournalWriter>>,
    pub(crate) applied: AtomicU64,
    pub(crate) seq: AtomicU64,
    pub(crate) poison: Mutex<Option<String>>,
    pub(crate) closed: AtomicBool,
    pub(crate) recovered: AtomicU64,
    pub(crate) torn: AtomicBool,
    /// Set if the opening built sled anew.
    pub(crate) rebuilt: AtomicBool,
    /// Set once damage is found in sled: the next opening rebuilds it.
    pub(crate) suspect: AtomicBool,
    /// Locked for reading while a chunk is stored and indexed, for writing while a round determines
    /// the end of the indexed packs.
    pub(crate) indexing: RwLock<()>,
    /// Locked for reading while a note is written, for writing while sled's folder is switched.
    pub(crate) switching: RwLock<()>,
    /// Chunks that are stored or used during a compaction.
    pub(crate) fresh: Arc<GcBarrier>,
    /// Locked by a compaction: one at a time.
    pub(crate) compacting: Mutex<()>,
    /// Guards the wait for the tail to shrink.
    pub(crate) waiting: Mutex<()>,
    pub(crate) progress: Condvar,
    pub(crate) meters: Arc<Meters>,
    pub(crate) owner: Owner,
    pub(crate) clock: Arc<dyn Clock>,
    /// Set for a store opened for reading only: nothing in its folder is changed.
    pub(crate) look: Option<Look>,
}

/// The parts of an opened store.
pub(crate) struct StoreParts {
    pub(crate) layout: Layout,
    pub(crate) config: StoreConfig,
    pub(crate) kv: Kv,
    pub(crate) packs: Arc<Packs>,
    pub(crate) key: Option<StoreKey>,
    pub(crate) backlog_bytes: usize,
    pub(crate) cache_bytes: usize,
    /// The applied position.
    pub(crate) applied: AppliedPosition,
    /// Set if sled's entries need no comparison with their digests.
    pub(crate) audited: bool,
    pub(crate) meters: Arc<Meters>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Set if the store is opened for reading only.
    pub(crate) look: Option<Look>,
}

impl Inner {
    pub(crate) fn new(parts: StoreParts) -> Self {
        let StoreParts {
            layout,
            config,
            kv,
            packs,
            key,
            backlog_bytes,
            cache_bytes,
            applied,
            audited,
            meters,
            clock,
            look,
        } = parts;
        packs.unpack_at_most(cache_bytes / 2);
        Self {
            layout,
            config,
            kv,
            packs,
            segments: SegmentPool::new(Arc::clone(&meters)),
            tail: RwLock::default(),
            backlog_bytes,
            cache_bytes,
            key,
            position: Mutex::new(applied),
            audited: CheckedParts::new(audited),
            journal: Mutex::new(None),
            applied: AtomicU64::new(applied.seq),
            seq: AtomicU64::new(applied.seq),
            poison: Mutex::new(None),
            closed: AtomicBool::new(false),
            recovered: AtomicU64::new(0),
            torn: AtomicBool::new(false),
            rebuilt: AtomicBool::new(false),
            suspect: AtomicBool::new(false),
            indexing: RwLock::new(()),
            switching: RwLock::new(()),
            fresh: Arc::default(),
            compacting: Mutex::new(()),
            waiting: Mutex::new(()),
            progress: Condvar::new(),
            meters,
            owner: Owner::default(),
            clock,
            look,
        }
    }

    pub(crate) fn applied(&self) -> Seq {
        self.applied.load(Ordering::Acquire)
    }

    pub(crate) fn set_applied(&self, seq: Seq) {
        self.applied.store(seq, Ordering::Release);
    }

    /// Returns the applied position.
    pub(crate) fn position(&self) -> AppliedPosition {
        *self.position.lock()
    }

    /// Applies the changes of a round, together with the new applied position.
    pub(crate) fn apply(&self, puts: Vec<IndexPut>, seq: Seq, check: [u8; 16]) -> Result<()> {
        let packs = {
            let _none_between = self.indexing.write();
            self.packs.end()
        };
        let mut position = self.position.lock();
        let (synced, blocks) = (self.packs.synced(), self.kv.blocks()?.end());
        let copied = self.packs.copied().durable;
        let mut next = AppliedPosition { seq, check, packs, synced, copied, blocks, ..*position };
        let mut digests = position.digests;
        self.kv.apply_counted(puts, &mut digests, |digests| {
            next.digests = digests;
            next.put()
        })?;
        *position = next;
        Ok(())
    }

    /// Advances the position without other changes.
    pub(crate) fn move_applied(&self, seq: Seq, check: [u8; 16]) -> Result<()> {
        self.apply(Vec::new(), seq, check)
    }

    pub(crate) fn set_recovered(&self, commits: u64, torn: bool) {
        self.recovered.store(commits, Ordering::Relaxed);
        self.torn.store(torn, Ordering::Relaxed);
    }

    pub(crate) fn set_rebuilt(&self) {
        self.rebuilt.store(true, Ordering::Relaxed);
    }

    /// Returns an entry of the index, applied or still in the tail.
    pub(crate) fn entry(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let waiting = self.tail.read().get(key);
        match waiting {
            Some(value) => Ok(value),
            None => self.kv.get(key),
        }
    }

    /// Returns a chunk's content.
    pub(crate) fn chunk(&self, id: &ChunkId) -> Result<Option<Vec<u8>>> {
        match self.kv.get(&keys::chunk(id))? {
            Some(place) => {
                let read = self.packs.read(id, Location::decode(&place)?);
                self.packed(read).map(Some)
            }
            None => Ok(None),
        }
    }

    pub(crate) fn stored_head(&self, log: LogId) -> Result<Option<LogHead>> {
        self.kv.get(&keys::head(log))?.map(|bytes| LogHead::decode(&bytes)).transpose()
    }

    pub(crate) fn journal_wants_spare(&self) -> Option<u64> {
        self.journal
            .try_lock()
            .and_then(|journal| journal.as_ref().and_then(JournalWriter::wants_spare))
    }

    pub(crate) fn poison(&self, error: &Error) {
        self.poison.lock().get_or_insert_with(|| error.to_string());
        self.meters.poisoned();
    }

    /// Fails with `Poisoned` after a write whose outcome is unknown.
    pub(crate) fn check_poison(&self) -> Result<()> {
        self.poisoned().map_or(Ok(()), Err)
    }

    pub(crate) fn poisoned(&self) -> Option<Error> {
        self.poison.lock().as_deref().map(earlier_write_failed)
    }

    /// Marks sled as suspect after damage, and adds to the error that a reopen repairs it. If a
    /// write of sled's own threads has failed, the store is poisoned, whichever call notices it.
    pub(crate) fn sled<T>(&self, done: Result<T>) -> Result<T> {
        done.map_err(|error| {
            // Sled refuses every call. Other reads succeed, so this cause is reported.
            if self.kv.has_failed() {
                self.poison(&error);
                return earlier_write_failed(&error.to_string());
            }
            if error.kind() != ErrorKind::Corrupt {
                return error;
            }
            // After a failed write sled may hold half of the batch.
            if let Some(poisoned) = self.poisoned() {
                return poisoned;
            }
            if let Some(look) = &self.look {
                return look.index_damaged(&error);
            }
            if !self.suspect.swap(true, Ordering::AcqRel) {
                let _ = self.layout.suspect_sled(&error.to_string());
            }
            error.at("sled is damaged, open the store again to have it rebuilt")
        })
    }

    /// Adjusts the error of a chunk read: in a store opened for reading, the cause may be that its
    /// files were replaced since.
    pub(crate) fn packed<T>(&self, read: Result<T>) -> Result<T> {
        match &self.look {
            Some(look) => read.map_err(|error| look.check_unmoved().err().unwrap_or(error)),
            None => read,
        }
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        self.owner.check()?;
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Unavailable, "the store is closed"));
        }
        Ok(())
    }
}

fn earlier_write_failed(cause: &str) -> Error {
    let why = format!("an earlier write failed, reopen the store: {cause}");
    Error::new(ErrorKind::Poisoned, why)
}
