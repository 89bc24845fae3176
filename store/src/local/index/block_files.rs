//! Block files: packed blocks of runs, next to sled, appended to and never changed.
//!
//! sled has the location of each run. The blocks of a round survive power loss before sled gets
//! their locations. So each location names a whole block, and bytes after the end that sled has
//! belong to an interrupted round.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fs;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost_codec::{
    BlockFileHeader, BlockHeader, Error, Result, Run, RunBlock, SegmentHeader, StoreId, StoreKey,
};
use parking_lot::Mutex;

use crate::cache::{Cache, InMemory};
use crate::extent::Extent;
use crate::files;
use crate::local::location::Location;
use crate::local::markers::applied::UNKNOWN;

/// The name of the folder, in sled's.
pub(crate) const FOLDER: &str = "blocks";

/// The extension of the files.
const EXTENSION: &str = "blocks";

/// The size in bytes at which another file is begun.
const FILE_MAX: u64 = 256 << 20;

/// The maximum bytes of unpacked blocks in memory.
const UNPACKED_MAX: usize = 1 << 20;

/// The block files of a sled folder.
#[derive(Debug)]
pub(crate) struct BlockFiles {
    dir: PathBuf,
    state: Mutex<State>,
    unpacked: Cache<Location, UnpackedBlock>,
}

#[derive(Debug, Default)]
struct State {
    /// The end of the blocks.
    end: Location,
    /// The store that a new file names; `None` before the first blocks are prepared for.
    store: Option<StoreId>,
    /// Set if the files need not survive power loss.
    temporary: bool,
    /// The files that are open.
    open: HashMap<u32, Arc<File>>,
}

/// A block whose hash was compared.
#[derive(Debug)]
struct UnpackedBlock {
    runs: Vec<(Run, Range<usize>)>,
    bytes: Arc<Vec<u8>>,
}

impl InMemory for UnpackedBlock {
    fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

impl BlockFiles {
    /// Returns the files of a sled folder, which are opened when they are read.
    pub(crate) fn of(sled: &Path) -> Self {
        Self { dir: sled.join(FOLDER), state: Mutex::default(), unpacked: Cache::of(UNPACKED_MAX) }
    }

    /// Returns `true` if there are blocks after `end`. After a clean close this means that sled
    /// returned an older position: it does not report reads that fail while it is opened.
    pub(crate) fn extend_beyond(&self, end: Location) -> Result<bool> {
        let found = match self.dir.exists() {
            true => files::numbered(&self.dir, EXTENSION)?,
            false => Vec::new(),
        };
        for (number, path) in found.iter().rev() {
            let held = match number.cmp(&u64::from(end.file)) {
                Ordering::Less => break,
                Ordering::Equal => end.at,
                Ordering::Greater => 0,
            };
            let len = fs::metadata(path).map_err(|e| files::io("read", path, &e))?.len();
            if len > held {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Prepares for appending after `end`, the end of the blocks that sled names, and removes the
    /// remains of an interrupted round after it. `Corrupt`: blocks before it are missing.
    pub(crate) fn resume(&self, end: Location, store: StoreId, temporary: bool) -> Result<()> {
        let found = match self.dir.exists() {
            true => files::numbered(&self.dir, EXTENSION)?,
            false => Vec::new(),
        };
        for file in 1..=end.file {
            if !found.iter().any(|(number, _)| *number == u64::from(file)) {
                return Err(missing(&self.path_of(file)));
            }
        }
        let later = found.iter().filter(|(number, _)| *number > u64::from(end.file));
        for (_, path) in later {
            fs::remove_file(path).map_err(|e| files::io("remove", path, &e))?;
            files::sync_dir(&self.dir)?;
        }
        let mut state = State { end, store: Some(store), temporary, open: HashMap::new() };
        if end.file > 0 {
            let path = self.path_of(end.file);
            let file = open(&path, end.file)?;
            let io = |e| files::io("cut", &path, &e);
            let len = file.metadata().map_err(io)?.len();
            if len < end.at {
                let (place, expected) = (path.display().to_string(), format!("{} bytes", end.at));
                return Err(Error::corrupt(place, expected, format!("{len} bytes")));
            }
            if len > end.at {
                file.set_len(end.at).and_then(|()| file.sync_all()).map_err(io)?;
            }
            state.open.insert(end.file, Arc::new(file));
        }
        *self.state.lock() = state;
        Ok(())
    }

    /// Returns the end of the blocks.
    pub(crate) fn end(&self) -> Location {
        self.state.lock().end
    }

    /// Appends blocks; when this returns, they survive power loss. Returns their locations. After
    /// an error nothing is appended.
    pub(crate) fn append(&self, blocks: &[Vec<u8>]) -> Result<Vec<Location>> {
        if blocks.is_empty() {
            return Ok(Vec::new());
        }
        let mut state = self.state.lock();
        if state.end.file == 0 || state.end.at >= FILE_MAX {
            self.begin(&mut state)?;
        }
        let (temporary, end) = (state.temporary, state.end);
        let file = self.file(&mut state, end.file)?;
        let mut at = end.at;
        let mut place = |block: &Vec<u8>| {
            let place = Location { at, len: block.len() as u32, ..end };
            at += block.len() as u64;
            place
        };
        let places = blocks.iter().map(&mut place).collect();
        let written = file.write_all_at(&blocks.concat(), end.at);
        let synced = written.and_then(|()| if temporary { Ok(()) } else { file.sync_data() });
        synced.map_err(|e| files::io("write", &self.path_of(end.file), &e))?;
        state.end.at = at;
        Ok(places)
    }

    /// Begins the next file.
    fn begin(&self, state: &mut State) -> Result<()> {
        let unprepared = || Error::invalid("block files are prepared before they are written");
        let store = state.store.ok_or_else(unprepared)?;
        if !self.dir.exists() {
            files::make_dir(&self.dir)?;
            if !state.temporary {
                files::sync_parent(&self.dir)?;
            }
        }
        let number = state.end.file + 1;
        let path = self.path_of(number);
        let header = BlockFileHeader(SegmentHeader {
            store,
            number: number.into(),
            epoch: 0,
            first: 0,
            recycled: false,
            prev: UNKNOWN,
        });
        let file = files::open_rw(&path)?;
        let written = file.set_len(0).and_then(|()| file.write_all_at(&header.encode(), 0));
        let synced = written.and_then(|()| if state.temporary { Ok(()) } else { file.sync_all() });
        synced.map_err(|e| files::io("write", &path, &e))?;
        if !state.temporary {
            files::sync_dir(&self.dir)?;
        }
        state.open.insert(number, Arc::new(file));
        let at = BlockFileHeader::LEN as u64;
        state.end = Location { file: number, at, len: 0, member: None };
        Ok(())
    }

    /// Returns a run and its sections.
    pub(crate) fn run(&self, place: Location, key: Option<&StoreKey>) -> Result<(Run, Extent)> {
        let block = self.unpacked.get(place.entry(), || {
            let read = RunBlock::decode(&self.read(place)?, key);
            let (runs, bytes) = read.map_err(|e| e.at(self.name_of(place)))?.into_parts();
            Ok(Arc::new(UnpackedBlock { runs, bytes: Arc::new(bytes) }))
        })?;
        let run = place.member.and_then(|n| block.runs.get(usize::from(n)));
        let (run, range) = run.ok_or_else(|| {
            let found = format!("{} runs", block.runs.len());
            Error::corrupt(self.name_of(place), format!("run {:?}", place.member), found)
        })?;
        let Run { first, count, prev, .. } = *run;
        let bytes = Arc::clone(&block.bytes);
        Ok((*run, Extent { first, count, prev, range: range.clone(), bytes }))
    }

    /// Compares a block with its hash.
    pub(crate) fn check(&self, place: Location, key: Option<&StoreKey>) -> Result<()> {
        let block = self.read(place)?;
        match BlockHeader::decode(&block).is_ok_and(|header| header.is_intact(&block, key)) {
            true => Ok(()),
            false => Err(Error::corrupt(self.name_of(place), "a block", "other bytes")),
        }
    }

    /// Removes unpacked blocks from memory.
    pub(crate) fn forget_unpacked(&self) {
        self.unpacked.clear();
    }

    fn read(&self, place: Location) -> Result<Vec<u8>> {
        let file = self.file(&mut self.state.lock(), place.file)?;
        let short = || Error::corrupt(self.name_of(place), "a block", "the end of the file");
        let failed = |e: io::Error| match e.kind() {
            io::ErrorKind::UnexpectedEof => short(),
            _ => files::io("read", &self.path_of(place.file), &e),
        };
        // A damaged location may name any length.
        let len = file.metadata().map_err(failed)?.len();
        if len.saturating_sub(place.at) < u64::from(place.len) {
            return Err(short());
        }
        let mut block = vec![0; place.len as usize];
        files::read_whole_at(&file, &mut block, place.at).map_err(failed)?;
        Ok(block)
    }

    fn file(&self, state: &mut State, number: u32) -> Result<Arc<File>> {
        if let Some(file) = state.open.get(&number) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(open(&self.path_of(number), number)?);
        state.open.insert(number, Arc::clone(&file));
        Ok(file)
    }

    fn path_of(&self, number: u32) -> PathBuf {
        files::numbered_path(&self.dir, number.into(), EXTENSION)
    }

    fn name_of(&self, place: Location) -> String {
        format!("{} at byte {}", self.path_of(place.file).display(), place.at)
    }
}

/// Opens a file, and checks its header.
fn open(path: &Path, number: u32) -> Result<File> {
    if !path.exists() {
        return Err(missing(path));
    }
    let file = files::open_rw(path)?;
    let mut header = vec![0; BlockFileHeader::LEN];
    files::read_whole_at(&file, &mut header, 0).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => {
            Error::corrupt(path.display().to_string(), "a block file", "the end of the file")
        }
        _ => files::io("read", path, &e),
    })?;
    let found = BlockFileHeader::decode(&header).map_err(|e| e.at(path.display()))?.0.number;
    match found == u64::from(number) {
        true => Ok(file),
        false => {
            let (place, expected) = (path.display().to_string(), format!("file {number}"));
            Err(Error::corrupt(place, expected, format!("file {found}")))
        }
    }
}

fn missing(path: &Path) -> Error {
    Error::corrupt(path.display().to_string(), "a block file", "no such file")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use milepost_codec::{ErrorKind, Hash, LogId, Packing, Sealing, TaskNo};
    use proptest::prelude::*;

    use super::*;

    const STORE: StoreId = StoreId([7; 16]);

    fn log() -> LogId {
        LogId::control(TaskNo(1))
    }

    /// Returns a packed block of one run with these bytes in place of sections.
    fn block(first: u64, bytes: &[u8]) -> Vec<u8> {
        let run = Run { log: log(), first, count: 1, indexed: true, prev: Hash::ZERO };
        let of = Sealing { packing: Packing::Level(1), rewritten: false, epoch: 0, key: None };
        let mut out = Vec::new();
        RunBlock::encode(&[(run, vec![bytes])], &of, &mut out).unwrap();
        out
    }

    fn prepared(dir: &Path, end: Location) -> BlockFiles {
        let files = BlockFiles::of(dir);
        files.resume(end, STORE, false).unwrap();
        files
    }

    fn read(files: &BlockFiles, place: Location) -> Result<Vec<u8>> {
        let place = Location { member: Some(0), ..place };
        files.run(place, None).map(|(_, extent)| extent.section_bytes().to_vec())
    }

    #[test]
    fn blocks_are_found_again_and_those_of_an_interrupted_round_make_room() {
        let dir = tempfile::tempdir().unwrap();
        let files = prepared(dir.path(), Location::default());
        let first = files.append(&[block(0, b"one"), block(1, &[2; 9000])]).unwrap();
        let end = files.end();
        let late = files.append(&[block(2, b"late")]).unwrap();
        assert_eq!(read(&files, late[0]).unwrap(), b"late");

        assert!(files.extend_beyond(end).unwrap() && !files.extend_beyond(files.end()).unwrap());
        let files = prepared(dir.path(), end);
        assert!(!files.extend_beyond(end).unwrap());
        assert_eq!(read(&files, first[0]).unwrap(), b"one");
        assert_eq!(read(&files, first[1]).unwrap(), [2; 9000]);
        assert_eq!(read(&files, late[0]).unwrap_err().kind(), ErrorKind::Corrupt);
        let next = files.append(&[block(2, b"next")]).unwrap();
        assert_eq!((next[0].at, read(&files, next[0]).unwrap()), (late[0].at, b"next".to_vec()));

        // A file that a round began, and that sled does not name.
        fs::copy(files.path_of(1), files.path_of(2)).unwrap();
        assert!(files.extend_beyond(files.end()).unwrap());
        let files = prepared(dir.path(), files.end());
        assert!(!files.path_of(2).exists());
        let reader = BlockFiles::of(dir.path());
        assert_eq!(read(&reader, first[0]).unwrap(), b"one", "a reader needs no end");
    }

    #[test]
    fn a_block_is_unpacked_once_until_memory_is_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let files = prepared(dir.path(), Location::default());
        let place = files.append(&[block(0, b"one")]).unwrap()[0];
        let place = Location { member: Some(0), ..place };
        let bytes = || files.run(place, None).unwrap().1.bytes;
        let first = bytes();
        assert!(Arc::ptr_eq(&first, &bytes()));
        files.forget_unpacked();
        assert!(!Arc::ptr_eq(&first, &bytes()));
    }

    #[test]
    fn missing_short_and_foreign_files_are_damage() {
        let dir = tempfile::tempdir().unwrap();
        let files = prepared(dir.path(), Location::default());
        files.append(&[block(0, b"one")]).unwrap();
        let (end, path) = (files.end(), files.path_of(1));
        let whole = fs::read(&path).unwrap();
        let refused = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let refused = BlockFiles::of(dir.path()).resume(end, STORE, false).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused}");
        };
        refused(&whole[..whole.len() - 1]);
        refused(&whole[..100]);
        refused(&[]);
        let mut other = whole.clone();
        other[24] ^= 3;
        refused(&other);
        fs::remove_file(&path).unwrap();
        let refused = BlockFiles::of(dir.path()).resume(end, STORE, false).unwrap_err();
        assert!(refused.to_string().contains("no such file"), "{refused}");
    }

    proptest! {
        #[test]
        fn any_location_and_any_changed_byte_is_the_block_or_damage(
            file in 0..3_u32,
            at in prop_oneof![0..5000_u64, any::<u64>()],
            len in prop_oneof![0..300_u32, any::<u32>()],
            member in proptest::option::of(0..3_u16),
            changed in 0..200_usize,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let files = prepared(dir.path(), Location::default());
            let place = files.append(&[block(0, b"one")]).unwrap()[0];
            let place = Location { member: Some(0), ..place };
            let other = Location { file, at, len, member };
            if other != place {
                prop_assert!(files.run(other, None).is_err());
            }
            let path = files.path_of(1);
            let mut bytes = fs::read(&path).unwrap();
            let changed = 4096 + changed % (bytes.len() - 4096);
            bytes[changed] ^= 1;
            fs::write(&path, &bytes).unwrap();
            prop_assert!(files.run(place, None).is_err());
            prop_assert!(files.check(place, None).is_err());
        }
    }
}
