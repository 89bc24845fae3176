//! The index of a store: the tail first, then sled.
//!
//! Readers, the applier, a replay and a compaction, which fills a second one, work on it alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use milepost_codec::{ChunkId, LogId, Result, Seq, StoreId, StoreKey};
use parking_lot::{Mutex, RwLock};

use crate::digest::DigestPart;
use crate::index::{IndexPut, LogHead, keys};
use crate::local::chunks::packs::Packs;
use crate::local::index::digest_check::CheckedParts;
use crate::local::index::kv::Kv;
use crate::local::location::Location;
use crate::local::markers::applied::AppliedPosition;
use crate::metrics::Meters;
use crate::tail::Tail;

/// The tail and sled, with the packs that both name.
pub(crate) struct LocalIndex {
    pub(crate) kv: Kv,
    pub(crate) packs: Arc<Packs>,
    pub(crate) tail: RwLock<Tail>,
    /// The bytes of the tail at which commits wait.
    pub(crate) backlog_bytes: usize,
    pub(crate) store: StoreId,
    /// The key of a keyed store.
    pub(crate) key: Option<StoreKey>,
    /// The applied position; locked while it changes.
    pub(crate) position: Mutex<AppliedPosition>,
    applied: AtomicU64,
    checked: CheckedParts,
    /// Locked for reading while a chunk is stored and indexed, for writing while a round determines
    /// the end of the indexed packs.
    pub(crate) indexing: RwLock<()>,
    /// Locked for reading while a note is written, for writing while sled's folder is switched.
    pub(crate) switching: RwLock<()>,
    pub(crate) meters: Arc<Meters>,
}

impl LocalIndex {
    /// Returns the index at a position. `audited` is set if sled's entries need no comparison with
    /// their digests.
    pub(crate) fn new(
        (kv, packs): (Kv, Arc<Packs>),
        (key, backlog_bytes): (Option<StoreKey>, usize),
        applied: AppliedPosition,
        audited: bool,
        meters: Arc<Meters>,
    ) -> Self {
        Self {
            kv,
            packs,
            tail: RwLock::default(),
            backlog_bytes,
            store: applied.store,
            key,
            position: Mutex::new(applied),
            applied: AtomicU64::new(applied.seq),
            checked: CheckedParts::new(audited),
            indexing: RwLock::new(()),
            switching: RwLock::new(()),
            meters,
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

    /// Checks all entries of sled, each part once per opening.
    pub(crate) fn audit_all(&self) -> Result<()> {
        DigestPart::ALL.into_iter().try_for_each(|part| self.audit(part))
    }

    /// Checks the entries of a part, unless that was done since sled was opened. `Corrupt`: they
    /// differ from the entries that were written.
    pub(crate) fn audit(&self, part: DigestPart) -> Result<()> {
        self.checked.check(part, &self.kv, &self.position, self.key.as_ref())
    }

    /// Returns an entry, applied or still in the tail.
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
            Some(place) => self.packs.read(id, Location::decode(&place)?).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn stored_head(&self, log: LogId) -> Result<Option<LogHead>> {
        self.kv.get(&keys::head(log))?.map(|bytes| LogHead::decode(&bytes)).transpose()
    }
}
