//! What the writer, the readers and the applier of a folder share.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use milepost_codec::{ChunkId, Error, ErrorKind, LogId, Result, Seq, StoreKey};
use parking_lot::{Condvar, Mutex, RwLock};

use crate::files;
use crate::index::IndexPut;
use crate::index::{LogHead, keys};
use crate::local::chunks::packs::{ChunkLocation, Packs};
use crate::local::index::digest_check::CheckedParts;
use crate::local::index::kv::Kv;
use crate::local::journal::writer::{JournalWriter, SegmentPool};
use crate::local::layout::Layout;
use crate::local::look::Look;
use crate::local::markers::applied::AppliedPosition;
use crate::local::settings::StoreConfig;
use crate::metrics::Meters;
use crate::process::Owner;
use crate::tail::Tail;

/// What the writer, the readers and the applier share.
pub(crate) struct Inner {
    pub(crate) layout: Layout,
    pub(crate) config: StoreConfig,
    pub(crate) kv: Kv,
    pub(crate) packs: Arc<Packs>,
    pub(crate) shelf: SegmentPool,
    pub(crate) tail: RwLock<Tail>,
    pub(crate) backlog_bytes: usize,
    pub(crate) cache_bytes: usize,
    /// The key of a keyed store.
    pub(crate) key: Option<StoreKey>,
    /// What sled says about itself; held while that is changed.
    pub(crate) position: Mutex<AppliedPosition>,
    /// Which parts of sled have been compared with their digests.
    pub(crate) audited: CheckedParts,
    pub(crate) journal: Mutex<Option<JournalWriter>>,
    pub(crate) applied: AtomicU64,
    pub(crate) seq: AtomicU64,
    pub(crate) poison: Mutex<Option<String>>,
    pub(crate) closed: AtomicBool,
    pub(crate) recovered: AtomicU64,
    pub(crate) torn: AtomicBool,
    /// Damage was met in sled: the next open builds it anew.
    pub(crate) suspect: AtomicBool,
    /// Held for reading while a chunk is stored and indexed, for writing while it is looked how far
    /// the packs are indexed.
    pub(crate) indexing: RwLock<()>,
    /// Held for reading while a note is put, for writing while sled's folder is switched.
    pub(crate) switching: RwLock<()>,
    /// What a compaction has to know of chunks meanwhile.
    pub(crate) fresh: GcBarrier,
    /// Held by a compaction: one at a time.
    pub(crate) compacting: Mutex<()>,
    /// Guards the wait for the tail to shrink.
    pub(crate) waiting: Mutex<()>,
    pub(crate) progress: Condvar,
    pub(crate) meters: Arc<Meters>,
    pub(crate) owner: Owner,
    /// A store that was opened for reading only: nothing in its folder is changed.
    pub(crate) look: Option<Look>,
}

/// What a log in a folder stands on.
pub(crate) struct StoreParts {
    pub(crate) layout: Layout,
    pub(crate) config: StoreConfig,
    pub(crate) kv: Kv,
    pub(crate) packs: Arc<Packs>,
    pub(crate) key: Option<StoreKey>,
    pub(crate) backlog_bytes: usize,
    pub(crate) cache_bytes: usize,
    /// What sled says about itself.
    pub(crate) applied: AppliedPosition,
    /// Whether sled's entries need no look.
    pub(crate) audited: bool,
    pub(crate) meters: Arc<Meters>,
    /// Where it is opened for reading only.
    pub(crate) look: Option<Look>,
}

/// Chunks that are stored or used while a compaction is under way, and appends that have stored
/// chunks and are not committed.
#[derive(Debug, Default)]
pub(crate) struct GcBarrier {
    inner: Mutex<FreshInner>,
    /// Told when an append is done.
    done: Condvar,
}

#[derive(Debug, Default)]
struct FreshInner {
    /// Where chunks are that were stored since it began, in order; nothing while there is none.
    stored: Option<Vec<(ChunkId, ChunkLocation)>>,
    /// Chunks that were there already and were stored again, or read.
    used: HashSet<ChunkId>,
    /// Appends under way, by whether they began before the last compaction.
    under_way: [usize; 2],
    turn: usize,
}

/// An append that stores chunks is under way until this is dropped.
pub(crate) struct ChunkWrite {
    shared: Arc<Inner>,
    turn: usize,
}

impl ChunkWrite {
    pub(crate) fn begin(shared: &Arc<Inner>) -> Self {
        let mut inner = shared.fresh.inner.lock();
        let turn = inner.turn;
        if let Some(count) = inner.under_way.get_mut(turn) {
            *count += 1;
        }
        Self { shared: Arc::clone(shared), turn }
    }
}

impl Drop for ChunkWrite {
    fn drop(&mut self) {
        let mut inner = self.shared.fresh.inner.lock();
        if let Some(count) = inner.under_way.get_mut(self.turn) {
            *count -= 1;
        }
        self.shared.fresh.done.notify_all();
    }
}

impl GcBarrier {
    /// Begins to take note, and waits for appends that began before.
    pub(crate) fn begin(&self) {
        let mut inner = self.inner.lock();
        inner.stored = Some(Vec::new());
        inner.used.clear();
        let before = inner.turn;
        inner.turn = 1 - before;
        while inner.under_way.get(before).is_some_and(|count| *count > 0) {
            self.done.wait(&mut inner);
        }
    }

    /// A chunk was stored.
    pub(crate) fn stored(&self, id: ChunkId, place: ChunkLocation) {
        if let Some(stored) = &mut self.inner.lock().stored {
            stored.push((id, place));
        }
    }

    /// A chunk that was there is needed.
    pub(crate) fn used(&self, id: ChunkId) {
        let mut inner = self.inner.lock();
        if inner.stored.is_some() {
            inner.used.insert(id);
        }
    }

    /// Chunks that were there are needed.
    pub(crate) fn all_used(&self, ids: &[ChunkId]) {
        let mut inner = self.inner.lock();
        if inner.stored.is_some() {
            inner.used.extend(ids);
        }
    }

    /// Whether note is taken.
    pub(crate) fn takes_note(&self) -> bool {
        self.inner.lock().stored.is_some()
    }

    /// Chunks that were stored since the compaction began, the first `skip` of them left out.
    pub(crate) fn stored_after(&self, skip: usize) -> Vec<(ChunkId, ChunkLocation)> {
        let inner = self.inner.lock();
        let stored = inner.stored.as_deref().unwrap_or_default();
        stored.get(skip..).unwrap_or_default().to_vec()
    }

    /// Whether a chunk was used.
    pub(crate) fn is_used(&self, id: &ChunkId) -> bool {
        self.inner.lock().used.contains(id)
    }

    /// Ends taking note.
    pub(crate) fn end(&self) {
        let mut inner = self.inner.lock();
        inner.stored = None;
        inner.used = HashSet::new();
    }
}

impl Inner {
    pub(crate) fn new(ground: StoreParts) -> Self {
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
            look,
        } = ground;
        Self {
            layout,
            config,
            kv,
            packs,
            shelf: SegmentPool::new(Arc::clone(&meters)),
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
            suspect: AtomicBool::new(false),
            indexing: RwLock::new(()),
            switching: RwLock::new(()),
            fresh: GcBarrier::default(),
            compacting: Mutex::new(()),
            waiting: Mutex::new(()),
            progress: Condvar::new(),
            meters,
            owner: Owner::default(),
            look,
        }
    }

    pub(crate) fn applied(&self) -> Seq {
        self.applied.load(Ordering::Acquire)
    }

    pub(crate) fn set_applied(&self, seq: Seq) {
        self.applied.store(seq, Ordering::Release);
    }

    /// What sled says about itself.
    pub(crate) fn position(&self) -> AppliedPosition {
        *self.position.lock()
    }

    /// Applies what a round brings, with the position it brings sled to.
    pub(crate) fn apply(&self, puts: Vec<IndexPut>, seq: Seq, check: [u8; 16]) -> Result<()> {
        let packs = {
            let _none_between = self.indexing.write();
            self.packs.end()
        };
        let mut position = self.position.lock();
        let mut next =
            AppliedPosition { seq, check, packs, synced: self.packs.synced(), ..*position };
        let mut digests = position.digests;
        self.kv.apply_counted(puts, &mut digests, |digests| {
            next.digests = digests;
            next.put()
        })?;
        *position = next;
        Ok(())
    }

    /// Moves the position on, where there is nothing to apply up to there.
    pub(crate) fn move_applied(&self, seq: Seq, check: [u8; 16]) -> Result<()> {
        self.apply(Vec::new(), seq, check)
    }

    pub(crate) fn set_recovered(&self, commits: u64, torn: bool) {
        self.recovered.store(commits, Ordering::Relaxed);
        self.torn.store(torn, Ordering::Relaxed);
    }

    /// An entry of the index, whether it was applied already or not.
    pub(crate) fn entry(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let waiting = self.tail.read().get(key);
        match waiting {
            Some(value) => Ok(value),
            None => self.kv.get(key),
        }
    }

    /// A chunk's content.
    pub(crate) fn chunk(&self, id: &ChunkId) -> Result<Option<Vec<u8>>> {
        match self.kv.get(&keys::chunk(id))? {
            Some(place) => {
                let read = self.packs.read(id, ChunkLocation::decode(&place)?);
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

    pub(crate) fn poisoned(&self) -> Option<Error> {
        self.poison.lock().as_ref().map(|cause| {
            Error::new(
                ErrorKind::Poisoned,
                format!("an earlier write failed, reopen the store: {cause}"),
            )
        })
    }

    /// Takes note of damage in sled: an error says that a reopen repairs it.
    pub(crate) fn sled<T>(&self, done: Result<T>) -> Result<T> {
        done.map_err(|error| {
            if error.kind() != ErrorKind::Corrupt {
                return error;
            }
            // After a failed write sled refuses all, or has half of it.
            if let Some(poisoned) = self.poisoned() {
                return poisoned;
            }
            if let Some(look) = &self.look {
                return look.index_damaged(&error);
            }
            if !self.suspect.swap(true, Ordering::AcqRel) {
                let _ = files::write_whole(&self.layout.suspect(), b"");
            }
            error.at("sled is damaged, open the store again to have it rebuilt")
        })
    }

    /// Gives why a chunk cannot be read. Of a store that was opened for reading, its files may have
    /// been replaced since.
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
