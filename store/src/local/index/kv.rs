//! The entries of an index, in sled or in memory: the only file that names sled.
//!
//! sled's `flush` does not survive a power cut, damage makes it panic, and values over 4 KiB cost
//! it memory and durability. So calls into it catch panics, this module syncs its file, and no
//! value is larger than [`VALUE_MAX`].

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::ops::{Bound, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use milepost_codec::{Error, ErrorKind, Result};
use parking_lot::RwLock;

use crate::files;
use crate::index::ENTRY_MAX;
use crate::index::{Entry, IndexPut, walk};
use crate::local::index::block_files::BlockFiles;
use crate::local::index::groups::{self, Expansion};
use crate::threads;

/// The maximum bytes of a value.
pub(crate) const VALUE_MAX: usize = ENTRY_MAX;

/// The segment size of a store's sled folder, in bytes. A single write of more than a quarter of it
/// becomes a blob.
pub(crate) const SEGMENT: u32 = 256 << 10;

// A leaf splits at more than 16 entries, and may have merged with one of fewer than 4. The keys of
// large values are short.
const _: () = assert!(20 * (VALUE_MAX + 64) < SEGMENT as usize / 4);

/// Retries for sled's own lock: one second in all.
const LOCK_TRIES: u32 = 20;
const LOCK_PATIENCE: Duration = Duration::from_millis(50);

/// The time limit for opening sled, extended by the size of the folder, which sled reads after an
/// unclean stop.
const OPEN_PATIENCE: Duration = Duration::from_secs(10);
const OPEN_BYTES_PER_SEC: u64 = 10 << 20;

/// The time limit for sled to write out its buffers and a few segments.
const FLUSH_PATIENCE: Duration = Duration::from_secs(30);

/// The time after which a flush that takes long is woken again. Time limits are multiples of it.
const WAKE_EVERY: Duration = Duration::from_secs(1);

/// The time limit for dropping sled after an error.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

/// An index: a sled folder, or entries in memory.
#[derive(Debug)]
pub(crate) struct Kv {
    /// `None` once the store is closed: sled locks its folder until it is dropped.
    open: RwLock<Option<Opened>>,
}

/// An open index.
#[derive(Debug, Clone)]
struct Opened {
    stored: Stored,
    dir: PathBuf,
    blocks: Arc<BlockFiles>,
}

/// The entries as they are stored: groups share one value.
#[derive(Debug, Clone)]
enum Stored {
    /// In sled, with its file.
    Sled(sled::Db, Arc<File>),
    Memory(Arc<RwLock<BTreeMap<Vec<u8>, Vec<u8>>>>),
}

impl Stored {
    /// Passes the value of a key to `read`.
    fn get<T>(
        &self,
        key: &[u8],
        read: impl FnOnce(Option<&[u8]>) -> std::io::Result<T>,
    ) -> sled::Result<T> {
        Ok(match self {
            Self::Sled(db, _) => read(db.get(key)?.as_deref()),
            Self::Memory(entries) => read(entries.read().get(key).map(Vec::as_slice)),
        }?)
    }

    /// Passes the entries of a range to `each` in order of keys, from the end if `backwards`, until
    /// it returns `false`.
    fn visit(
        &self,
        range: Range<&[u8]>,
        backwards: bool,
        mut each: impl FnMut(&[u8], &[u8]) -> std::io::Result<bool>,
    ) -> sled::Result<()> {
        let memory;
        let mut entries: Box<dyn DoubleEndedIterator<Item = sled::Result<_>>> = match self {
            Self::Sled(db, _) => Box::new(db.range(range)),
            Self::Memory(entries) => {
                memory = entries.read();
                let bounds = (Bound::Included(range.start), Bound::Excluded(range.end));
                let entries = memory.range::<[u8], _>(bounds);
                Box::new(entries.map(|(key, value)| Ok((key[..].into(), value[..].into()))))
            }
        };
        while let Some(item) = if backwards { entries.next_back() } else { entries.next() } {
            let (key, value): (sled::IVec, sled::IVec) = item?;
            if !each(&key, &value)? {
                break;
            }
        }
        Ok(())
    }

    /// Applies changes atomically.
    fn apply(&self, puts: Vec<IndexPut>) -> sled::Result<()> {
        match self {
            Self::Sled(db, _) => {
                let mut batch = sled::Batch::default();
                for (key, value) in puts {
                    match value {
                        Some(value) => batch.insert(key, value),
                        None => batch.remove(key),
                    }
                }
                db.apply_batch(batch)
            }
            Self::Memory(entries) => {
                let mut entries = entries.write();
                for (key, value) in puts {
                    match value {
                        Some(value) => drop(entries.insert(key, value)),
                        None => drop(entries.remove(&key)),
                    }
                }
                Ok(())
            }
        }
    }
}

impl Kv {
    /// Opens or creates the folder. After an error it cannot be used, and the caller rebuilds it
    /// from the journal.
    ///
    /// sled is opened on a separate thread, which is abandoned if damage makes it hang.
    pub(crate) fn open(dir: &Path, cache_bytes: usize, segment_size: u32) -> Result<Self> {
        let limit =
            OPEN_PATIENCE + Duration::from_secs(files::disk_bytes(dir) / OPEN_BYTES_PER_SEC);
        let (sender, opened) = crossbeam_channel::bounded(1);
        let path = dir.to_owned();
        threads::start("sled", move || {
            let _ = sender.send(Self::open_here(&path, cache_bytes, segment_size));
        })?;
        opened.recv_timeout(limit).unwrap_or_else(|_| {
            let found = format!("one that is not open after {} s", limit.as_secs());
            Err(Error::corrupt("sled", "a store it can open", found))
        })
    }

    /// Creates an index whose entries are in memory. Its block files are in `dir`.
    pub(crate) fn in_memory(dir: &Path) -> Self {
        let (stored, blocks) = (Stored::Memory(Arc::default()), Arc::new(BlockFiles::of(dir)));
        let opened = Opened { stored, dir: dir.to_owned(), blocks };
        Self { open: RwLock::new(Some(opened)) }
    }

    fn open_here(dir: &Path, cache_bytes: usize, segment_size: u32) -> Result<Self> {
        let fresh = !dir.exists();
        let config = sled::Config::new()
            .path(dir)
            .cache_capacity(cache_bytes as u64)
            .mode(sled::Mode::HighThroughput)
            .flush_every_ms(None)
            .segment_size(segment_size as usize);
        let mut tries = 0;
        let db = loop {
            match caught("open", || config.open()) {
                // The system releases the lock of a dead process a moment after its death.
                Err(e) if tries < LOCK_TRIES && e.to_string().contains("acquire lock") => {
                    tries += 1;
                    std::thread::sleep(LOCK_PATIENCE);
                }
                opened => break opened?,
            }
        };
        let file = match File::open(dir.join("db")) {
            Ok(file) => file,
            Err(e) => {
                drop_caught(db);
                return Err(files::io("open", dir, &e));
            }
        };
        let blocks = Arc::new(BlockFiles::of(dir));
        let stored = Stored::Sled(db, Arc::new(file));
        let opened = Opened { stored, dir: dir.to_owned(), blocks };
        let kv = Self { open: RwLock::new(Some(opened)) };
        if fresh {
            kv.sync()?;
            files::sync_dir(dir)?;
            files::sync_dir(dir.parent().unwrap_or(dir))?;
        }
        Ok(kv)
    }

    /// Closes the folder, so that it can be reopened even while readers hold the log. Dropping sled
    /// writes out its buffers, and may never end after a failed write. So the wait is limited, and
    /// shorter after a known error (`sound` is `false`).
    pub(crate) fn close(&self, sound: bool) {
        let Some(Opened { stored: Stored::Sled(db, _), .. }) = self.open.write().take() else {
            return;
        };
        let patience = match sound {
            true => FLUSH_PATIENCE,
            false => CLOSE_PATIENCE,
        };
        // Dropping flushes as well, and cannot be woken.
        let _ = flush(db.clone(), patience);
        let (sender, dropped) = crossbeam_channel::bounded(1);
        let spawned = threads::start("sled", move || {
            drop_caught(db);
            let _ = sender.send(());
        });
        if spawned.is_ok() {
            let _ = dropped.recv_timeout(patience);
        }
    }

    /// Returns the folder.
    pub(crate) fn dir(&self) -> Option<PathBuf> {
        self.open.read().as_ref().map(|opened| opened.dir.clone())
    }

    /// Returns `true` if a write of sled's own threads has failed: sled refuses every write until
    /// it is opened again.
    pub(crate) fn has_failed(&self) -> bool {
        match self.open.read().as_ref().map(|opened| &opened.stored) {
            Some(Stored::Sled(db, _)) => db.context.global_error().is_err(),
            Some(Stored::Memory(_)) | None => false,
        }
    }

    /// Swaps folders with `other`, which holds the same content.
    pub(crate) fn exchange(&self, other: &Self) {
        let mut theirs = other.open.write();
        std::mem::swap(&mut *self.open.write(), &mut *theirs);
    }

    fn with<T>(&self, what: &str, call: impl FnOnce(&Stored) -> sled::Result<T>) -> Result<T> {
        match self.open.read().as_ref() {
            Some(opened) => caught(what, || call(&opened.stored)),
            None => Err(closed()),
        }
    }

    /// Passes the stored value of a key to `read`.
    pub(super) fn value<T>(
        &self,
        key: &[u8],
        read: impl FnOnce(Option<&[u8]>) -> std::io::Result<T>,
    ) -> Result<T> {
        self.with("get", |stored| stored.get(key, read))
    }

    /// Returns the block files of the folder.
    pub(crate) fn blocks(&self) -> Result<Arc<BlockFiles>> {
        let opened = self.open.read();
        opened.as_ref().map(|opened| Arc::clone(&opened.blocks)).ok_or_else(closed)
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.with("get", |stored| {
            if let Some((name, end)) = groups::place(key) {
                let found = stored.get(&name, |group| match group {
                    Some(group) => groups::find(&name, group, end),
                    None => Ok((None, false)),
                })?;
                if let (found, false) = found {
                    return Ok(found);
                }
            }
            stored.get(key, |value| Ok(value.map(<[u8]>::to_vec)))
        })
    }

    /// Returns entries of a range in order of keys, from the end if `backwards`.
    pub(crate) fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        backwards: bool,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        if from >= to {
            return Ok(Vec::new());
        }
        let (begin, end) = groups::stored_range(from, to);
        self.with("scan", |stored| {
            let mut found = Expansion::new((from, to), backwards, limit);
            if limit > 0 {
                stored.visit(&begin[..]..&end[..], backwards, |key, value| {
                    found.push(key, value)?;
                    Ok(!found.is_full())
                })?;
            }
            Ok(found.finish())
        })
    }

    /// Passes all entries whose keys begin with `prefix` to `each`, in order of keys.
    pub(crate) fn walk(&self, prefix: &[u8], each: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        let scan = |from: &[u8], to: &[u8], limit| self.scan(from, to, false, limit);
        walk(prefix, &scan, &mut |key, value| {
            each(key, value);
            Ok(())
        })
    }

    /// Writes and removes stored values atomically.
    pub(super) fn write(&self, puts: Vec<IndexPut>) -> Result<()> {
        let longest = puts.iter().flat_map(|(_, value)| value).map(Vec::len).max();
        assert!(longest <= Some(VALUE_MAX), "a value of {longest:?} bytes");
        self.with("write", |stored| stored.apply(puts))
    }

    /// Returns `true` if sled has no stored value in a range.
    #[cfg(test)]
    pub(crate) fn is_bare(&self, from: &[u8], to: &[u8]) -> bool {
        let mut any = false;
        let visited = self.with("scan", |stored| {
            stored.visit(from..to, false, |_, _| Ok(std::mem::replace(&mut any, true)))
        });
        visited.is_ok() && !any
    }

    /// Makes all applied changes survive power loss.
    pub(crate) fn sync(&self) -> Result<()> {
        let Some(Opened { stored, dir, .. }) = self.open.read().clone() else {
            return Err(closed());
        };
        let Stored::Sled(db, file) = stored else {
            return Ok(());
        };
        flush(db, FLUSH_PATIENCE)?;
        file.sync_data().map_err(|e| files::io("sync", &dir, &e))?;
        check_blobs(&dir)
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Unavailable, "the store is closed")
}

/// Flushes sled's buffers. After a failed write in sled's own threads this may never end, so a
/// thread does it with a time limit and is abandoned after that.
///
/// A flush holds a lock of all sled folders of the process while it waits for writes, and sled
/// wakes it after some failed writes only: a folder that cannot be written would stop the others.
/// So it is woken if it takes long.
fn flush(db: sled::Db, patience: Duration) -> Result<()> {
    let (sender, flushed) = crossbeam_channel::bounded(1);
    let flushing = db.clone();
    threads::start("sled", move || {
        let done = caught("flush", || flushing.flush().map(|_| ()));
        drop_caught(flushing);
        let _ = sender.send(done);
    })?;
    let mut waking: Option<JoinHandle<()>> = None;
    for _ in 0..patience.as_secs() {
        if let Ok(done) = flushed.recv_timeout(WAKE_EVERY) {
            // The folder is locked until each thread has dropped it.
            if let Some(waking) = waking.filter(|_| done.is_ok()) {
                let _ = waking.join();
            }
            return done;
        }
        if waking.as_ref().is_none_or(JoinHandle::is_finished) {
            waking = Some(wake(db.clone())?);
        }
    }
    let text = format!("sled flush: not done after {} s", patience.as_secs());
    Err(Error::new(ErrorKind::Unavailable, text))
}

/// Wakes threads that wait for a write of sled's own that has failed. Only a reservation in sled's
/// log does that, and creating a tree is the only one that does not take the lock of a flush.
fn wake(db: sled::Db) -> Result<JoinHandle<()>> {
    const TREE: &str = "wake";
    threads::start("sled", move || {
        let _ = caught("wake", || db.open_tree(TREE).and_then(|_| db.drop_tree(TREE)));
        drop_caught(db);
    })
}

/// Fails if sled wrote a blob: pages over 128 KiB go to files that sled never syncs.
fn check_blobs(dir: &Path) -> Result<()> {
    let blob = fs::read_dir(dir.join("blobs")).ok().and_then(|mut all| all.next());
    match blob {
        None => Ok(()),
        Some(_) => Err(Error::new(
            ErrorKind::Unavailable,
            format!("sled wrote a blob in {}, which it does not sync", dir.display()),
        )),
    }
}

impl Drop for Kv {
    fn drop(&mut self) {
        // A folder that was not closed before is dropped after an error.
        self.close(false);
    }
}

/// Returns the error kind for an I/O error of sled. sled's copies of system errors lose the number
/// but keep the kind. Its own reports of damaged files use the kinds listed here.
fn kind_of(error: &std::io::Error) -> ErrorKind {
    use std::io::ErrorKind as Io;
    match (error.kind(), error.raw_os_error()) {
        (Io::NotFound | Io::UnexpectedEof | Io::InvalidData, _) => ErrorKind::Corrupt,
        (Io::Other | Io::InvalidInput, None) => ErrorKind::Corrupt,
        _ => ErrorKind::Unavailable,
    }
}

/// Drops sled, which panics if a sync fails at that time.
fn drop_caught(db: sled::Db) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(db)));
}

/// Calls sled, and turns a panic caused by damage into an error.
fn caught<T>(what: &str, call: impl FnOnce() -> sled::Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            let kind = match &error {
                sled::Error::Io(e) => kind_of(e),
                _ => ErrorKind::Corrupt,
            };
            let failure = match kind {
                ErrorKind::Corrupt => {
                    Error::corrupt(format!("sled {what}"), "a store it can read", &error)
                }
                kind => Error::new(kind, format!("sled {what}: {error}")),
            };
            Err(failure.with_source(error))
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(Error::corrupt("sled", "a store it can read", text.unwrap_or("a panic")))
        }
    }
}
