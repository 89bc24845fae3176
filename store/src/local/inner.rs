//! State shared by the writer, the readers and the applier of a folder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use milepost_codec::{Error, ErrorKind, Result, Seq};
use parking_lot::{Condvar, Mutex};

use crate::clock::Clock;
use crate::local::gc_barrier::GcBarrier;
use crate::local::index::local_index::LocalIndex;
use crate::local::journal::pool::SegmentPool;
use crate::local::journal::writer::JournalWriter;
use crate::local::layout::Layout;
use crate::local::look::opened::Look;
use crate::local::settings::StoreConfig;
use crate::metrics::Meters;
use crate::options::OpenOptions;
use crate::process::Owner;

/// State shared by the writer, the readers and the applier.
pub(crate) struct Inner {
    pub(crate) layout: Layout,
    pub(crate) config: StoreConfig,
    pub(crate) index: LocalIndex,
    pub(crate) segments: SegmentPool,
    pub(crate) cache_bytes: usize,
    pub(crate) journal: Mutex<Option<JournalWriter>>,
    pub(crate) seq: AtomicU64,
    pub(crate) poison: Mutex<Option<String>>,
    pub(crate) closed: AtomicBool,
    /// Set once damage is found in sled: the next opening rebuilds it.
    suspect: AtomicBool,
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

impl Inner {
    pub(crate) fn new(
        layout: &Layout,
        config: &StoreConfig,
        options: &OpenOptions,
        index: LocalIndex,
        look: Option<Look>,
    ) -> Self {
        index.packs.unpack_at_most(options.cache_bytes / 2);
        let meters = Arc::clone(&index.meters);
        Self {
            layout: layout.clone(),
            config: config.clone(),
            segments: SegmentPool::new(Arc::clone(&meters)),
            cache_bytes: options.cache_bytes,
            journal: Mutex::new(None),
            seq: AtomicU64::new(index.applied()),
            index,
            poison: Mutex::new(None),
            closed: AtomicBool::new(false),
            suspect: AtomicBool::new(false),
            fresh: Arc::default(),
            compacting: Mutex::new(()),
            waiting: Mutex::new(()),
            progress: Condvar::new(),
            meters,
            owner: Owner::default(),
            clock: Arc::clone(&options.clock),
            look,
        }
    }

    /// Returns the size of the free segment that the writer wants, unless it is at work.
    pub(crate) fn journal_wants_spare(&self) -> Option<u64> {
        self.journal.try_lock()?.as_ref()?.wants_spare()
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
            if self.index.kv.has_failed() {
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

    /// Returns the last commit.
    pub(crate) fn seq(&self) -> Seq {
        self.seq.load(Ordering::Acquire)
    }

    /// Fails if the store is opened for reading only.
    pub(crate) fn check_writable(&self) -> Result<()> {
        match &self.look {
            Some(look) => Err(look.refusal()),
            None => Ok(()),
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
