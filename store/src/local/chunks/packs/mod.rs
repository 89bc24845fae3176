//! Packs: files of content-addressed chunks, appended to and never changed.
//!
//! ```text
//! groups.rs  groups of chunks      scan.rs    intact entries
//! read.rs    reads of chunks       copies.rs  the second copy
//! ```

pub(crate) mod copies;
pub(crate) mod groups;
mod read;
pub(crate) mod scan;

pub(crate) use crate::local::chunks::packs::groups::{
    GATHERED_RAW, GROUP_LEVEL, GROUP_RAW, group_up, is_small,
};
pub(crate) use crate::local::chunks::packs::scan::{intact_in, placed};

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost_codec::{CHUNK_RAW_MAX, ChunkId, Error, ErrorKind, Result};
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::cache::Cache;
use crate::files;
use crate::local::chunks::packs::copies::{Copied, Record};
use crate::local::chunks::packs::scan::{cut, cut_end, length, missing, scan, write_again};
use crate::local::layout::Layout;
use crate::local::location::Location;
use crate::metrics::Meters;
use crate::open_report::{Finding, Outcome};

/// The maximum bytes of entries that stay unpacked in memory, unless a limit is set.
const UNPACKED_MAX: usize = 16 << 20;

/// The size at which another pack is begun.
const PACK_MAX: u64 = 256 << 20;

/// The distance between the last pack of a store opened for reading and its first scratch pack.
const SCRATCH_FROM: u32 = 1 << 20;

impl State {
    fn end(&self) -> Location {
        Location {
            file: self.last,
            at: self.open.as_ref().map_or(0, |(_, _, at)| *at),
            len: 0,
            member: None,
        }
    }

    fn check(&self) -> Result<()> {
        match &self.failed {
            Some(cause) => Err(Error::new(
                ErrorKind::Poisoned,
                format!("an earlier write failed, reopen the store: {cause}"),
            )),
            None => Ok(()),
        }
    }

    fn note<T>(&mut self, done: Result<T>) -> Result<T> {
        done.inspect_err(|error| {
            self.failed.get_or_insert_with(|| error.to_string());
        })
    }
}

/// The ends of packs that the index knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackEnds {
    /// The end of the indexed entries.
    pub(crate) scanned_to: Location,
    /// The end of the synced entries.
    pub(crate) synced: Location,
    /// The end of the entries whose copy survived any power loss.
    pub(crate) copied: Location,
}

/// The packs of a store.
#[derive(Debug)]
pub(crate) struct Packs {
    dir: PathBuf,
    /// The first number and the folder of scratch packs, in a store opened for reading.
    scratch: Option<(u32, PathBuf)>,
    state: Mutex<State>,
    /// Notified when a sync has ended.
    ended: Condvar,
    unpacked: Cache<Location, read::UnpackedEntry>,
    meters: Arc<Meters>,
    /// Held while copies or packs are mended, or emptied.
    copying: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// The pack that is appended to: its number, file and length.
    open: Option<(u32, Arc<File>, u64)>,
    last: u32,
    dirty: bool,
    /// Set while a thread syncs the entries appended so far. Other threads may append, but do not
    /// sync: only one caller gets the error of a failed sync.
    syncing: bool,
    /// The end of the synced entries.
    synced: Location,
    copied: Copied,
    /// The error of a failed write or sync. The bytes that it covered may be lost even if a later
    /// sync succeeds.
    failed: Option<String>,
    readers: HashMap<u32, std::sync::Arc<File>>,
}

impl Packs {
    /// Opens the packs. Returns the chunks found after the position up to which they are indexed.
    /// A pack or a copy that is missing or cut is written from the other one.
    pub(crate) fn open(
        layout: &Layout,
        ends: PackEnds,
        findings: &mut Vec<Finding>,
        record: Record<'_>,
        meters: Arc<Meters>,
    ) -> Result<(Self, Vec<(ChunkId, Location)>)> {
        let dir = &layout.packs();
        let PackEnds { scanned_to, synced, copied } = ends;
        let mut state = State::default();
        let mut found = Vec::new();
        for (number, path) in copies::numbered(dir)? {
            (state.last, state.open) = (number, None);
            let restored = copies::restore_cut(dir, number, copied, record)?;
            let is_told = restored.iter().any(|finding| finding.outcome == Outcome::Left);
            findings.extend(restored);
            if number < scanned_to.file || !path.exists() {
                continue;
            }
            let scanned_at = if number == scanned_to.file { scanned_to.at } else { 0 };
            let file = files::open_rw(&path)?;
            let len = length(&path, &file)?;
            // Bytes that were not synced may be lost: only snapshots refer to them.
            let synced_at = if number == synced.file { synced.at } else { 0 };
            if len < synced_at && !is_told {
                findings.push(cut(&path, len, synced_at));
            }
            let from = if len < scanned_at { 0 } else { scanned_at };
            let copy = copies::open_if_there(&copies::path_of(dir, number))?;
            let end = scan(&path, [Some(&file), copy.as_ref()], number, from, &mut found)?;
            if end < len {
                let finding = cut_end(layout, &path, &file, end, len)?;
                // The missing end of such a pack is reported already.
                if len >= synced_at {
                    findings.push(finding);
                }
            }
            // The bytes read may exist in the page cache only, and a failed sync may have marked
            // them clean. Written again, they are covered by this sync.
            if number >= synced.file {
                write_again(&path, &file, synced_at, end)?;
            }
            file.sync_data().map_err(|e| files::io("sync", &path, &e))?;
            state.open = Some((number, Arc::new(file), end));
        }
        let numbers: Vec<u64> =
            (files::numbered(dir, "pack")?.iter()).map(|(number, _)| *number).collect();
        for number in (1..scanned_to.file).map(u64::from) {
            let copy = files::numbered_path(dir, number, "copy");
            if !numbers.contains(&number) && !copy.exists() {
                findings.push(missing(&files::numbered_path(dir, number, "pack")));
            }
        }
        if state.last < scanned_to.file {
            if synced.file == scanned_to.file && synced.at > 0 {
                let path = files::numbered_path(dir, u64::from(scanned_to.file), "pack");
                findings.push(cut(&path, 0, synced.at));
            }
            (state.last, state.open) = (scanned_to.file, None);
        }
        state.synced = state.end();
        let copied = copied.min(state.synced);
        state.copied = Copied { written: copied, durable: copied };
        if state.last > 0 {
            files::sync_dir(dir)?;
        }
        Ok((
            Self {
                dir: dir.to_owned(),
                scratch: None,
                state: Mutex::new(state),
                ended: Condvar::new(),
                unpacked: Cache::of(UNPACKED_MAX),
                meters,
                copying: Mutex::new(()),
            },
            found,
        ))
    }

    /// Opens the packs for reading, and passes the chunks of each to `show`. New chunks are stored
    /// in `scratch`.
    pub(crate) fn look(
        dir: &Path,
        scratch: PathBuf,
        meters: Arc<Meters>,
        show: &mut dyn FnMut(Vec<(ChunkId, Location)>) -> Result<()>,
    ) -> Result<Self> {
        let (mut state, mut is_copied) = (State::default(), true);
        for (number, path) in copies::numbered(dir)? {
            let mut found = Vec::new();
            let file = copies::open_if_there(&path)?;
            let copy_path = copies::path_of(dir, number);
            let copy = copies::open_if_there(&copy_path)?;
            scan(&path, [file.as_ref(), copy.as_ref()], number, 0, &mut found)?;
            show(found)?;
            state.last = number;
            let at = copies::length_of(&copy_path)?;
            if is_copied {
                state.copied.written = Location { file: number, at, ..Location::default() };
            }
            is_copied &= at >= copies::length_of(&path)?;
        }
        // Another process may create the next pack, so its number stays free.
        state.last = state.last.saturating_add(SCRATCH_FROM);
        Ok(Self {
            dir: dir.to_owned(),
            scratch: Some((state.last, scratch)),
            state: Mutex::new(state),
            ended: Condvar::new(),
            unpacked: Cache::of(UNPACKED_MAX),
            meters,
            copying: Mutex::new(()),
        })
    }

    /// Returns the folder of new packs.
    fn appended_dir(&self) -> &Path {
        match &self.scratch {
            Some((_, dir)) => dir,
            None => &self.dir,
        }
    }

    /// Removes unpacked entries from memory.
    pub(crate) fn forget_unpacked(&self) {
        self.unpacked.clear();
    }

    /// Sets the maximum bytes of entries that stay unpacked; there is always room for one.
    pub(crate) fn unpack_at_most(&self, bytes: usize) {
        self.unpacked.set_limit(bytes.max(CHUNK_RAW_MAX));
    }

    /// Returns the path of a pack.
    pub(crate) fn path_of(&self, pack: u32) -> PathBuf {
        let dir = match &self.scratch {
            Some((from, dir)) if pack >= *from => dir,
            _ => &self.dir,
        };
        files::numbered_path(dir, u64::from(pack), "pack")
    }

    /// Returns the numbers of all packs.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        let last = self.end().file;
        let from = self.scratch.as_ref().map(|(from, _)| *from);
        let of_store = match from {
            Some(from) => from.saturating_sub(SCRATCH_FROM),
            None => last,
        };
        (1..=of_store).chain(from.map(|from| from..=last).into_iter().flatten())
    }

    /// Returns the end of the packs.
    pub(crate) fn end(&self) -> Location {
        self.state.lock().end()
    }

    /// Appends the entry of a chunk or of a group. The entry survives power loss after `sync`. If
    /// `has_failed` is `false` after an error, nothing was written and the next append may succeed.
    pub(crate) fn append(&self, entry: &[u8]) -> Result<Location> {
        let mut state = self.state.lock();
        state.check()?;
        self.append_to(&mut state, entry)
    }

    /// Returns `true` after a failed write or sync, whose outcome is unknown.
    pub(crate) fn has_failed(&self) -> bool {
        self.state.lock().failed.is_some()
    }

    /// Begins another pack, unless the last one is empty. Returns the number of the pack that is
    /// appended to now.
    pub(crate) fn begin_another(&self) -> Result<u32> {
        let mut state = self.state.lock();
        state.check()?;
        let empty = state.open.as_ref().is_some_and(|(_, _, at)| *at == 0);
        if !empty {
            self.begin(&mut state)?;
        }
        Ok(state.last)
    }

    fn begin(&self, state: &mut MutexGuard<'_, State>) -> Result<()> {
        let last = state.last;
        while state.syncing {
            self.ended.wait(state);
        }
        state.check()?;
        if state.last != last {
            // Another thread has begun one.
            return Ok(());
        }
        if state.dirty {
            // The lock is held: an entry appended now would never be synced.
            let synced = state.open.as_ref().map(|(_, file, _)| file.sync_data());
            let end = state.end();
            self.synced_to(state, end, synced)?;
        }
        let number = state.last + 1;
        let (path, dir) = (self.path_of(number), self.appended_dir());
        // Both are opened before a write: if too many files are open, only this append fails.
        let dir = File::open(dir).map_err(|e| files::io("open", dir, &e))?;
        let file = files::open_rw(&path)?;
        let synced = file.sync_all().and_then(|()| dir.sync_all());
        state.note(synced.map_err(|e| files::io("sync", &path, &e)))?;
        state.last = number;
        state.open = Some((number, Arc::new(file), 0));
        Ok(())
    }

    fn append_to(&self, state: &mut MutexGuard<'_, State>, entry: &[u8]) -> Result<Location> {
        if state.open.as_ref().is_none_or(|(_, _, at)| *at >= PACK_MAX) {
            self.begin(state)?;
        }
        let Some((pack, file, at)) = state.open.as_mut() else {
            return Err(Error::invalid("no pack is open"));
        };
        let place = Location { file: *pack, at: *at, len: entry.len() as u32, member: None };
        let written = file.write_all_at(entry, *at);
        let written = written.map_err(|e| files::io("write", &self.dir, &e));
        if written.is_ok() {
            *at += entry.len() as u64;
            state.dirty = true;
        }
        state.note(written)?;
        Ok(place)
    }

    /// Makes all chunks appended so far survive power loss. A caller that arrives during a sync
    /// waits for its end; the next sync then covers all waiting callers.
    pub(crate) fn sync(&self) -> Result<()> {
        let mut state = self.state.lock();
        let target = state.end();
        loop {
            state.check()?;
            if !state.dirty || state.synced >= target {
                return Ok(());
            }
            match state.syncing {
                true => self.ended.wait(&mut state),
                false => self.sync_open(&mut state)?,
            }
        }
    }

    /// Syncs the entries appended so far. Other threads may append during the sync.
    fn sync_open(&self, state: &mut MutexGuard<'_, State>) -> Result<()> {
        let end = state.end();
        let file = state.open.as_ref().map(|(_, file, _)| Arc::clone(file));
        state.syncing = true;
        let synced = MutexGuard::unlocked(state, || file.map(|file| file.sync_data()));
        state.syncing = false;
        self.ended.notify_all();
        self.synced_to(state, end, synced)
    }

    /// Records the result of a sync up to `end`; `synced` is `None` if no pack is open.
    fn synced_to(
        &self,
        state: &mut State,
        end: Location,
        synced: Option<io::Result<()>>,
    ) -> Result<()> {
        if let Some(synced) = synced {
            let synced = synced.map_err(|e| files::io("sync", Path::new("pack"), &e));
            state.note(synced)?;
            self.meters.pack_syncs.add(1);
        }
        state.synced = end;
        state.dirty = state.end() != end;
        Ok(())
    }

    /// Returns the end of the synced entries.
    pub(crate) fn synced(&self) -> Location {
        self.state.lock().synced
    }

    /// Returns the bytes of a pack's file, or 0 if it is missing.
    pub(crate) fn length_of(&self, pack: u32) -> Result<u64> {
        copies::length_of(&self.path_of(pack))
    }

    /// Truncates a pack in which no chunk is named any more. The file stays, so that it is not
    /// reported as missing.
    pub(crate) fn empty(&self, pack: u32) -> Result<()> {
        let _alone = self.copying.lock();
        self.state.lock().readers.remove(&pack);
        self.unpacked.forget(|entry| entry.file == pack);
        copies::empty(&self.dir, pack)
    }

    fn reader(&self, pack: u32) -> Result<std::sync::Arc<File>> {
        let mut state = self.state.lock();
        if let Some(file) = state.readers.get(&pack) {
            return Ok(std::sync::Arc::clone(file));
        }
        let path = self.path_of(pack);
        let file = File::open(&path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                Error::corrupt(path.display().to_string(), "a pack", "no such file")
            }
            _ => files::io("open", &path, &e),
        })?;
        let file = std::sync::Arc::new(file);
        state.readers.insert(pack, std::sync::Arc::clone(&file));
        Ok(file)
    }
}
