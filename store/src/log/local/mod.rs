//! A log in a folder.
//!
//! ```text
//! layout.rs    the files of a store                      lock.rs     one process at a time
//! settings.rs  what a store was made with                acked.rs    what was acknowledged
//! journal.rs   appends frames, one sync each             survey.rs   finds them again
//! archive.rs   finished segments, compressed             packs/      chunks
//! kv.rs        sled                                      blocks.rs   blocks in it
//! applier.rs   moves commits from the tail into sled     applied.rs  how far it is, and the digests
//! open.rs      opening; setting a bad sled aside         closed.rs   whether sled's files changed
//! recovery.rs  what opening brings back                  replay.rs   frames into the tail
//! beside.rs    applying meanwhile                        unsynced.rs chunks that a power cut took
//! heal.rs      what is damaged, written again            rewrite.rs  commits out of sled
//! salvage/     what is left of both copies               check.rs    what verifying reads
//! upkeep.rs    what repairing asks for                   shared.rs   what all of these share
//! together.rs  many chunks at once                       audit.rs    sled against its digests
//! look/        a store that is opened for reading only
//! ```
//!
//! # Sync
//!
//! An append is one write and one `fdatasync` of the journal. sled is synced before a journal
//! segment is let go, packs before a record names a chunk.

mod acked;
mod applied;
mod applier;
mod archive;
mod audit;
mod beside;
mod blocks;
mod check;
mod closed;
mod compact;
mod heal;
mod journal;
mod kinds;
mod kv;
pub mod layout;
mod lock;
mod look;
mod named;
mod open;
mod packs;
mod recovery;
mod replay;
mod rewrite;
mod salvage;
mod settings;
mod shared;
mod survey;
mod together;
mod unsynced;
mod upkeep;

pub use self::compact::CompactionStep;
pub use self::compact::{Above, Compacted};
pub use self::salvage::{LostRange, Salvaged};
#[cfg(feature = "fuzzing")]
pub use self::upkeep::{read_archive, survey_segment};
pub use self::upkeep::{salvage_store, store_id, with_lock_unwritten};

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::Sender;
use milepost_codec::{
    ChunkEntry, ChunkId, Error, ErrorKind, FRAME_HEADER_LEN, LogId, Offset, Result, Seq, StoreId,
};
use parking_lot::Mutex;

use self::acked::Witness;
use self::applier::Wake;
use self::journal::Journal;
use self::layout::Layout;
use self::lock::StoreLock;
use self::look::Look;
use self::packs::Place;
use self::shared::{Shared, UnderWay};
use super::tail::merge;
use super::{Batch, Entry, Log, Stretch};
use crate::clock::Stopwatch;
use crate::digest::DigestPart;
use crate::entropy::Entropy;
use crate::files;
use crate::index::LogHead;
use crate::index::keys::{self, Kind};
use crate::log::DiskBytes;
use crate::log::OpenOptions;
use crate::log::StorageCheck;
use crate::meters::Meters;
use crate::opened::{Finding, OpenReport};
use crate::process::Owner;

/// What may wait to be applied while the snapshotter works: more than makes a round due, or it would
/// wait for ever.
const SETTLED: usize = applier::ROUND_DUE * 2;

/// How many bytes of the tail make the applier look whether a round is due.
const LOOK_EVERY: usize = 1 << 20;

/// A log in a folder.
pub struct LocalLog {
    shared: Arc<Shared>,
    entropy: Arc<Entropy>,
    wakes: Sender<Wake>,
    applier: Mutex<Option<JoinHandle<()>>>,
    since_look: AtomicU64,
    /// The last commit where the journal says at open that it was closed: then there is nothing to
    /// write at close.
    closed_at: Option<Seq>,
    lock: Mutex<Option<StoreLock>>,
    /// None where the store is opened for reading only.
    witness: Option<Witness>,
    kept: blocks::Kept,
    findings: Vec<Finding>,
    /// How many chunks could not be read, and those of them that were not stored again since.
    damaged: Mutex<(u64, HashSet<ChunkId>)>,
    /// Chunks that were stored or read whole since the store is open.
    whole: Mutex<HashSet<ChunkId>>,
    /// The packs' end when the store was opened: what is behind it was written since.
    opened_at: Place,
}

/// Ids in the set of whole chunks, at most: it is begun anew then.
const WHOLE_MAX: usize = 1 << 16;

impl LocalLog {
    /// Opens the store in a folder, or makes one.
    pub fn open(root: &Path, options: &OpenOptions, entropy: Arc<Entropy>) -> Result<Self> {
        if options.read_only {
            return Self::open_to_read(root, options, entropy);
        }
        let layout = Layout::new(root);
        let lock = open::prepare(&layout, options, &entropy)?;
        let mut findings = Vec::new();
        let config = open::settings(&layout, options, &mut findings)?;
        let (shared, end) = open::bring_back(&layout, &config, options, &mut findings)?;
        for Finding { place, message, outcome } in &findings {
            tracing::warn!("{}: {place}: {message} ({outcome})", root.display());
        }
        let witness = Witness::open(&layout.acked(), config.store, end.acked())?;
        shared.seq.store(end.last, Ordering::Release);
        let closed_at = end.active.is_some().then_some(end.last).filter(|last| *last > 0);
        let journal = Journal::new(&shared.layout.journal(), shared.config.store, end);
        *shared.journal.lock() = Some(journal);
        let (wakes, woken) = crossbeam_channel::unbounded();
        let applier = {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name("milepost-applier".into());
            thread.spawn(move || applier::run(&shared, &woken)).map_err(|e| {
                Error::new(ErrorKind::Unavailable, format!("cannot start a thread: {e}"))
            })?
        };
        let _ = wakes.send(Wake::Look);
        let mut log = Self::over(shared, entropy, wakes, findings);
        log.applier = Mutex::new(Some(applier));
        log.closed_at = closed_at;
        log.lock = Mutex::new(Some(lock));
        log.witness = Some(witness);
        Ok(log)
    }

    /// Opens a store for reading only: nothing in its folder is changed, and no lock is taken.
    fn open_to_read(root: &Path, options: &OpenOptions, entropy: Arc<Entropy>) -> Result<Self> {
        let (shared, findings) = look::open(&Layout::new(root), options)?;
        let (wakes, _) = crossbeam_channel::unbounded();
        Ok(Self::over(shared, entropy, wakes, findings))
    }

    fn over(
        shared: Arc<Shared>,
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
            kept: blocks::Kept::default(),
            findings,
            damaged: Mutex::default(),
            whole: Mutex::default(),
        }
    }

    /// The store's id.
    pub fn root(&self) -> &Path {
        &self.shared.layout.root
    }

    /// Returns the store's id.
    pub fn store(&self) -> StoreId {
        self.shared.config.store
    }

    /// Commits that opening found in the journal and not in sled, and whether a torn frame
    /// followed them.
    pub fn recovered(&self) -> (u64, bool) {
        (self.shared.recovered.load(Ordering::Relaxed), self.shared.torn.load(Ordering::Relaxed))
    }

    /// What is measured of the store.
    pub fn meters(&self) -> &Arc<Meters> {
        &self.shared.meters
    }

    /// How many commits wait to be applied, and their bytes.
    pub fn lag(&self) -> (u64, u64) {
        let tail = self.shared.tail.read();
        (tail.commits() as u64, tail.bytes() as u64)
    }

    /// Returns `true` after a write failed.
    pub fn is_poisoned(&self) -> bool {
        self.shared.poisoned().is_some()
    }

    /// What opening found.
    pub fn opened(&self) -> OpenReport {
        OpenReport { recovered: self.recovered().0, findings: self.findings.clone() }
    }

    /// Waits while the tail is over its limit.
    fn wait_for_room(&self) -> Result<()> {
        let shared = &self.shared;
        if shared.tail.read().bytes() <= shared.backlog_bytes {
            return Ok(());
        }
        let _ = self.wakes.send(Wake::Look);
        let mut guard = shared.waiting.lock();
        while shared.tail.read().bytes() > shared.backlog_bytes {
            if let Some(error) = shared.poisoned() {
                return Err(error);
            }
            shared.progress.wait(&mut guard);
        }
        Ok(())
    }

    /// Whether a chunk is stored and whole. The index alone does not say: a crash may have taken
    /// what was written of a pack and not synced. So the first time it is read.
    fn holds(&self, id: &ChunkId) -> Result<bool> {
        if self.whole.lock().contains(id) {
            return Ok(true);
        }
        let Some(place) = self.shared.sled(self.shared.kv.get(&keys::chunk(id)))? else {
            return Ok(false);
        };
        let place = Place::decode(&place)?;
        let whole = self.shared.packs.read(id, place).is_ok();
        if whole {
            self.seen_whole(*id);
        }
        Ok(whole)
    }

    /// A write that fails poisons: its outcome is unknown.
    fn poisons<T>(&self, done: Result<T>) -> Result<T> {
        done.inspect_err(|error| self.shared.poison(error))
    }

    /// A pack that could not be opened refuses one append: nothing of it was written.
    fn append_to_pack(&self, entry: &[u8]) -> Result<Place> {
        let packs = &self.shared.packs;
        packs.append(entry).inspect_err(|error| {
            if packs.has_failed() {
                self.shared.poison(error);
            }
        })
    }

    fn seen_whole(&self, id: ChunkId) {
        let mut whole = self.whole.lock();
        if whole.len() >= WHOLE_MAX {
            whole.clear();
        }
        whole.insert(id);
    }

    fn commit(&self, seq: Seq, buf: &mut Vec<u8>, closed: bool) -> Result<()> {
        let mut journal = self.shared.journal.lock();
        let Some(journal) = journal.as_mut() else {
            return Err(Error::new(ErrorKind::Unavailable, "the store is closed"));
        };
        let epoch = self.entropy.u64();
        let begun = Stopwatch::start();
        let (shelf, key) = (&self.shared.shelf, self.shared.key.as_ref());
        let appended = journal.append(seq, buf, closed, epoch, shelf, key);
        appended.inspect_err(|error| {
            if journal.is_unknown() {
                self.shared.poison(error);
            }
        })?;
        // Nobody is told of the frame that says that the store was closed.
        if !closed {
            let meters = &self.shared.meters;
            meters.commit_us.record(begun.us());
            meters.journal_syncs.add(1);
            meters.journal_bytes.add(buf.len() as u64);
            if let Some(witness) = &self.witness {
                witness.note(seq);
            }
        }
        Ok(())
    }
}

impl Log for LocalLog {
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

    fn append(&self, mut batch: Batch) -> Result<()> {
        self.shared.check_open()?;
        self.check_writable()?;
        if let Some(error) = self.shared.poisoned() {
            return Err(error);
        }
        self.wait_for_room()?;
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

    fn head(&self, log: LogId) -> Result<Option<LogHead>> {
        self.get(&keys::head(log))?.map(|bytes| LogHead::decode(&bytes)).transpose()
    }

    fn stretch(&self, log: LogId, offset: Offset) -> Result<Option<Stretch>> {
        self.shared.check_open()?;
        if let Some(stretch) = self.shared.tail.read().stretch(log, offset) {
            return Ok(Some(stretch));
        }
        let shared = &self.shared;
        let key = shared.key.as_ref();
        let read = shared.sled(self.kept.stretch(&shared.kv, key, log, offset))?;
        if read.is_none()
            && let Some(head) = shared.sled(shared.stored_head(log))?
            && (head.start..head.head.next).contains(&offset)
        {
            return shared.sled(Err(Error::corrupt(
                log.to_string(),
                format!("a block with offset {offset}"),
                "none",
            )));
        }
        Ok(read)
    }

    fn forget_unpacked(&self) {
        self.kept.forget();
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.shared.check_open()?;
        let waiting = self.shared.tail.read().get(key);
        if let Some(value) = waiting {
            return Ok(value);
        }
        self.shared.sled(self.shared.kv.get(key))
    }

    fn scan(&self, from: &[u8], to: &[u8], backwards: bool, limit: usize) -> Result<Vec<Entry>> {
        self.shared.check_open()?;
        let waiting = self.shared.tail.read().scan(from, to, backwards, limit);
        let removals = waiting.iter().filter(|(_, value)| value.is_none()).count();
        let stored = self.shared.kv.scan(from, to, backwards, limit.saturating_add(removals));
        let stored = self.shared.sled(stored)?;
        if stored.is_empty() && from.first() == Some(&(Kind::Key as u8)) {
            self.shared.sled(self.shared.audit(DigestPart::Keys))?;
        }
        Ok(merge(waiting, stored, backwards, limit))
    }

    fn put_note(&self, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        let _here = self.shared.switching.read();
        let done = self.shared.kv.apply(vec![(key, Some(value))]);
        self.poisons(self.shared.sled(done))
    }

    fn drop_note(&self, key: Vec<u8>) -> Result<()> {
        let _here = self.shared.switching.read();
        let done = self.shared.kv.apply(vec![(key, None)]);
        self.poisons(self.shared.sled(done))
    }

    fn put_chunk(&self, content: &[u8], pieces: bool) -> Result<ChunkId> {
        self.shared.check_open()?;
        if let Some(error) = self.shared.poisoned() {
            return Err(error);
        }
        let id = ChunkEntry::id_of(content);
        let _here = self.shared.switching.read();
        self.shared.fresh.used(id);
        if self.holds(&id)? {
            return Ok(id);
        }
        let mut entry = Vec::new();
        ChunkEntry::encode(content, pieces, &mut entry)?;
        {
            let _indexing = self.shared.indexing.read();
            let place = self.append_to_pack(&entry)?;
            let put = vec![(keys::chunk(&id), Some(place.encode()))];
            self.poisons(self.shared.sled(self.shared.kv.apply(put)))?;
            self.shared.fresh.stored(id, place);
        }
        self.shared.meters.chunks.add(1);
        self.shared.meters.chunk_bytes.add(entry.len() as u64);
        self.damaged.lock().1.remove(&id);
        self.seen_whole(id);
        Ok(id)
    }

    fn put_chunks(&self, contents: &[&[u8]]) -> Result<Vec<ChunkId>> {
        self.put_together(contents)
    }

    fn has_chunks(&self, ids: &[ChunkId]) -> Result<Vec<bool>> {
        self.has_together(ids)
    }

    fn uses_chunks(&self, ids: &[ChunkId]) {
        self.shared.fresh.all_used(ids);
    }

    fn notes_uses(&self) -> bool {
        self.shared.fresh.takes_note()
    }

    fn order_chunks(&self, ids: &mut [ChunkId]) -> Result<()> {
        self.order_together(ids)
    }

    fn get_chunk(&self, id: &ChunkId) -> Result<Option<Vec<u8>>> {
        self.shared.check_open()?;
        self.shared.fresh.used(*id);
        let mut before = None;
        let read = loop {
            let Some(place) = self.shared.sled(self.shared.kv.get(&keys::chunk(id)))? else {
                return Ok(None);
            };
            let read = self.shared.packs.read(id, Place::decode(&place)?);
            // A compaction may have moved it meanwhile.
            if read.is_ok() || before.as_ref() == Some(&place) {
                break read;
            }
            before = Some(place);
        };
        if read.is_err() {
            let mut damaged = self.damaged.lock();
            damaged.0 += u64::from(damaged.1.insert(*id));
            self.whole.lock().remove(id);
        }
        self.shared.packed(read).map(Some)
    }

    fn lists_pieces(&self, id: &ChunkId) -> Result<bool> {
        self.shared.check_open()?;
        let mut before = None;
        loop {
            let Some(place) = self.shared.sled(self.shared.kv.get(&keys::chunk(id)))? else {
                return Ok(false);
            };
            let read = self.shared.packs.read_flagged(id, Place::decode(&place)?);
            // A compaction may have moved it meanwhile.
            if read.is_ok() || before.as_ref() == Some(&place) {
                return self.shared.packed(read).map(|(_, pieces)| pieces);
            }
            before = Some(place);
        }
    }

    fn damaged_chunks(&self) -> (u64, usize) {
        let damaged = self.damaged.lock();
        (damaged.0, damaged.1.len())
    }

    fn storing(&self) -> Option<Box<dyn std::any::Any + Send>> {
        Some(Box::new(UnderWay::begin(&self.shared)))
    }

    fn sync_chunks(&self) -> Result<()> {
        self.poisons(self.shared.packs.sync())
    }

    fn applied(&self) -> Seq {
        self.shared.applied()
    }

    fn drain(&self) -> Result<()> {
        self.shared.owner.check()?;
        let until = self.seq();
        let _ = self.wakes.send(Wake::Drain(until));
        let mut guard = self.shared.waiting.lock();
        while self.shared.applied() < until {
            if let Some(error) = self.shared.poisoned() {
                return Err(error);
            }
            let again = std::time::Duration::from_millis(100);
            if self.shared.progress.wait_for(&mut guard, again).timed_out() {
                let _ = self.wakes.send(Wake::Drain(until));
            }
        }
        Ok(())
    }

    fn settle(&self) {
        let shared = &self.shared;
        let mut guard = shared.waiting.lock();
        while shared.tail.read().bytes() > SETTLED && shared.poisoned().is_none() {
            shared.progress.wait(&mut guard);
        }
    }

    fn disk_bytes(&self) -> Result<DiskBytes> {
        let layout = &self.shared.layout;
        let sled = match &self.shared.look {
            Some(_) => Some(layout.sled()),
            None => self.shared.kv.dir(),
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
            self.shared.kv.close(true);
            return look.close();
        }
        // One that is under way switches folders.
        let _no_compaction = self.shared.compacting.lock();
        let drained = self.drain();
        let _ = self.wakes.send(Wake::Stop);
        if let Some(applier) = self.applier.lock().take() {
            let _ = applier.join();
        }
        self.shared.closed.store(true, Ordering::Release);
        let done = drained.and_then(|()| self.finish());
        self.shared.journal.lock().take();
        let sound = self.shared.poisoned().is_none() && done.is_ok();
        let sled = self.shared.kv.dir().unwrap_or_default();
        self.shared.kv.close(sound);
        if done.is_ok() {
            // Without it the next opening reads all of sled.
            let _ = closed::note(&self.shared.layout, &sled);
        }
        self.lock.lock().take();
        done
    }
}

impl LocalLog {
    /// Syncs sled and writes the frame that says that the store was closed.
    fn finish(&self) -> Result<()> {
        if let Some(error) = self.shared.poisoned() {
            return Err(error);
        }
        let seq = self.seq();
        if self.closed_at == Some(seq) {
            return Ok(());
        }
        self.shared.packs.sync()?;
        let check = self.shared.journal.lock().as_ref().map(Journal::check);
        self.shared.move_applied(seq, check.unwrap_or_default())?;
        self.shared.kv.sync()?;
        self.commit(seq + 1, &mut vec![0; FRAME_HEADER_LEN], true)
    }
}

impl Drop for LocalLog {
    fn drop(&mut self) {
        if self.shared.owner.is_elsewhere() {
            // sled would write, and the lock is the parent's too.
            std::mem::forget(Arc::clone(&self.shared));
            std::mem::forget(self.lock.get_mut().take());
            return;
        }
        let _ = self.close();
    }
}
