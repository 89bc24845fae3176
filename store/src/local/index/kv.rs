//! sled: the only file that names it.
//!
//! sled's `flush` does not survive a power cut, damage makes it panic, and values over 4 KiB cost
//! it memory and durability. So calls into it catch panics, this module syncs its file, and no
//! value is larger than [`VALUE_MAX`].

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use milepost_codec::{Error, ErrorKind, Result};
use parking_lot::RwLock;

use crate::digest::Digests;
use crate::files;
use crate::index::ENTRY_MAX;
use crate::index::{Entry, IndexPut, walk};
use crate::local::index::groups::{self, Expansion, Group};
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

/// The time limit for dropping sled after an error.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

/// A sled folder.
#[derive(Debug)]
pub(crate) struct Kv {
    /// `None` once the store is closed: sled locks its folder until it is dropped.
    open: RwLock<Option<Opened>>,
    /// The number of applied batches. If it changes, a read in several steps may be inconsistent.
    packed: AtomicU64,
}

/// An open sled folder.
#[derive(Debug, Clone)]
struct Opened {
    db: sled::Db,
    dir: PathBuf,
    file: Arc<File>,
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
        let opened = Opened { db, dir: dir.to_owned(), file: Arc::new(file) };
        let kv = Self { open: RwLock::new(Some(opened)), packed: AtomicU64::new(0) };
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
        let Some(Opened { db, .. }) = self.open.write().take() else {
            return;
        };
        let patience = match sound {
            true => FLUSH_PATIENCE,
            false => CLOSE_PATIENCE,
        };
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

    /// Swaps folders with `other`, which holds the same content.
    pub(crate) fn exchange(&self, other: &Self) {
        let mut theirs = other.open.write();
        std::mem::swap(&mut *self.open.write(), &mut *theirs);
        self.packed.fetch_add(1, Ordering::AcqRel);
    }

    fn with<T>(&self, what: &str, call: impl FnOnce(&sled::Db) -> sled::Result<T>) -> Result<T> {
        match self.open.read().as_ref() {
            Some(opened) => caught(what, || call(&opened.db)),
            None => Err(Error::new(ErrorKind::Unavailable, "the store is closed")),
        }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.with("get", |db| {
            if let Some((name, end)) = groups::place(key) {
                let Some(group) = db.get(&name)? else { return Ok(None) };
                if let (found, false) = groups::find(&name, &group, end)? {
                    return Ok(found);
                }
            }
            Ok(db.get(key)?.map(|value| value.to_vec()))
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
        self.with("scan", |db| {
            let mut found = Expansion::new((from, to), backwards, limit);
            let mut range = db.range(begin..end);
            while !found.is_full()
                && let Some(item) = if backwards { range.next_back() } else { range.next() }
            {
                let (stored, value) = item?;
                found.push(&stored, &value)?;
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

    /// Returns the number of applied batches.
    pub(crate) fn packed(&self) -> u64 {
        self.packed.load(Ordering::Acquire)
    }

    /// Applies changes atomically, and leaves digests alone.
    pub(crate) fn apply(&self, puts: Vec<IndexPut>) -> Result<()> {
        if puts.iter().any(|(key, _)| groups::place(key).is_some()) {
            let stored = self.grouped(puts, &mut Digests::default())?;
            return self.write(stored);
        }
        self.write(puts)
    }

    /// Writes and removes stored values atomically.
    fn write(&self, puts: Vec<IndexPut>) -> Result<()> {
        let mut batch = sled::Batch::default();
        for (key, value) in puts {
            match value {
                Some(value) => {
                    assert!(value.len() <= VALUE_MAX, "a value of {} bytes", value.len());
                    batch.insert(key, value);
                }
                None => batch.remove(key),
            }
        }
        let done = self.with("write", |db| db.apply_batch(batch));
        self.packed.fetch_add(1, Ordering::AcqRel);
        done
    }

    /// Applies changes atomically, and updates the digests of counted entries: removes the old
    /// value of each key, adds the new one. `position` returns the entry that is written with them
    /// and holds the new digests.
    pub(crate) fn apply_counted(
        &self,
        puts: Vec<IndexPut>,
        digests: &mut Digests,
        position: impl FnOnce(Digests) -> IndexPut,
    ) -> Result<()> {
        let mut after = *digests;
        let mut stored = self.grouped(puts, &mut after)?;
        stored.push(position(after));
        self.write(stored)?;
        *digests = after;
        Ok(())
    }

    /// Returns the changes of stored values that change these entries, and updates the digests.
    fn grouped(&self, puts: Vec<IndexPut>, digests: &mut Digests) -> Result<Vec<IndexPut>> {
        // The last change of a key wins.
        let puts: BTreeMap<_, _> = puts.into_iter().collect();
        let mut stored: Vec<IndexPut> = Vec::with_capacity(puts.len() + 1);
        let mut puts = puts.into_iter().peekable();
        while let Some((key, value)) = puts.next() {
            let Some((name, _)) = groups::place(&key) else {
                self.with("get", |db| {
                    if let Some(old) = db.get(&key)? {
                        digests.remove(&key, &old);
                    }
                    Ok(())
                })?;
                if let Some(value) = &value {
                    digests.add(&key, value);
                }
                stored.push((key, value));
                continue;
            };
            let mut group = self.open_group(name)?;
            self.change(&mut group, (key, value), digests, &mut stored)?;
            // Keys of one group follow each other.
            while let Some(put) = puts.next_if(|(key, _)| groups::is_in(&group.0, key)) {
                self.change(&mut group, put, digests, &mut stored)?;
            }
            stored.push((group.0, group.1.encode()));
        }
        Ok(stored)
    }

    /// Reads a group.
    fn open_group(&self, name: Vec<u8>) -> Result<(Vec<u8>, Group)> {
        let group = self.with("get", |db| match db.get(&name)? {
            Some(value) => Ok(Group::decode(&name, &value)?),
            None => Ok(Group::default()),
        })?;
        Ok((name, group))
    }

    /// Changes an entry of a group, and the digests. A value that the group has no room for goes to
    /// `stored`, under its own key.
    fn change(
        &self,
        (_, group): &mut (Vec<u8>, Group),
        (key, value): IndexPut,
        digests: &mut Digests,
        stored: &mut Vec<IndexPut>,
    ) -> Result<()> {
        let Some((_, end)) = groups::place(&key) else { return Ok(()) };
        let mut old = group.members.remove(end);
        let mut is_outside = false;
        if old.is_none() && group.outside > 0 {
            old = self.with("get", |db| Ok(db.get(&key)?.map(|value| value.to_vec())))?;
            is_outside = old.is_some();
        }
        if let Some(old) = old {
            digests.remove(&key, &old);
        }
        if let Some(value) = &value {
            digests.add(&key, value);
        }
        let fits = |value: &Vec<u8>| group.len() + end.len() + 3 + value.len() <= VALUE_MAX;
        if let Some(value) = value.as_ref().filter(|value| !is_outside && fits(value)) {
            group.members.insert(end.to_vec(), value.clone());
            return Ok(());
        }
        match (is_outside, value.is_some()) {
            (false, true) => group.outside = group.outside.saturating_add(1),
            (true, false) => group.outside = group.outside.saturating_sub(1),
            (true, true) => {}
            (false, false) => return Ok(()),
        }
        stored.push((key, value));
        Ok(())
    }

    /// Returns `true` if sled has no stored value in a range.
    #[cfg(test)]
    pub(crate) fn is_bare(&self, from: &[u8], to: &[u8]) -> bool {
        self.with("scan", |db| Ok(db.range(from..to).next().is_none())).is_ok_and(|bare| bare)
    }

    /// Makes all applied changes survive power loss.
    pub(crate) fn sync(&self) -> Result<()> {
        let Some(Opened { db, dir, file }) = self.open.read().clone() else {
            return Err(Error::new(ErrorKind::Unavailable, "the store is closed"));
        };
        flush(db)?;
        file.sync_data().map_err(|e| files::io("sync", &dir, &e))?;
        check_blobs(&dir)
    }
}

/// Flushes sled's buffers. After a failed write in sled's own threads this may never end, so a
/// thread does it with a time limit and is abandoned after that.
fn flush(db: sled::Db) -> Result<()> {
    let (sender, flushed) = crossbeam_channel::bounded(1);
    threads::start("sled", move || {
        let done = caught("flush", || db.flush().map(|_| ()));
        drop_caught(db);
        let _ = sender.send(done);
    })?;
    flushed.recv_timeout(FLUSH_PATIENCE).unwrap_or_else(|_| {
        Err(Error::new(
            ErrorKind::Unavailable,
            format!("sled flush: not done after {} s", FLUSH_PATIENCE.as_secs()),
        ))
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
