//! Packs: files of content-addressed chunks, appended to and never changed.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost_codec::{CHUNK_RAW_MAX, ChunkEntry, ChunkId, Error, ErrorKind, Result};
use parking_lot::Mutex;

use super::layout::Layout;
use crate::files;
use crate::metrics::Meters;
use crate::opened::{Finding, Outcome};

/// A pack is followed by another when it has grown to this.
const PACK_MAX: u64 = 256 << 20;

/// Bytes of a torn end that are kept, at most: two chunks of the largest size.
const CUT_MAX: u64 = 2 << 20;

/// Where a chunk is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) pack: u32,
    pub(crate) at: u64,
    pub(crate) len: u32,
}

impl Place {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = self.pack.to_le_bytes().to_vec();
        out.extend_from_slice(&self.at.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let (pack, rest) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (at, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
        let len = <[u8; 4]>::try_from(rest).map_err(|_| damaged())?;
        Ok(Self {
            pack: u32::from_le_bytes(*pack),
            at: u64::from_le_bytes(*at),
            len: u32::from_le_bytes(len),
        })
    }
}

fn damaged() -> Error {
    Error::corrupt("place of a chunk", "16 bytes", "others")
}

impl State {
    fn end(&self) -> Place {
        Place {
            pack: self.last,
            at: self.open.as_ref().map_or(0, |(_, _, at)| *at),
            len: 0,
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

/// The packs of a store.
#[derive(Debug)]
pub(crate) struct Packs {
    dir: PathBuf,
    state: Mutex<State>,
    meters: Arc<Meters>,
}

#[derive(Debug, Default)]
struct State {
    /// The pack that is appended to, its number and length.
    open: Option<(u32, File, u64)>,
    last: u32,
    dirty: bool,
    /// How far they are synced.
    synced: Place,
    /// A write or sync failed: what it covered may be gone though a later sync says it went well.
    failed: Option<String>,
    readers: HashMap<u32, std::sync::Arc<File>>,
}

impl Packs {
    /// Opens the packs and gives the chunks found after `known`, which the index has already.
    pub(crate) fn open(
        layout: &Layout,
        known: Place,
        synced: Place,
        findings: &mut Vec<Finding>,
        meters: Arc<Meters>,
    ) -> Result<(Self, Vec<(ChunkId, Place)>)> {
        let dir = &layout.packs();
        let mut state = State::default();
        let mut found = Vec::new();
        for (number, path) in files::numbered(dir, "pack")? {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            state.last = number;
            if number < known.pack {
                continue;
            }
            let known_at = if number == known.pack { known.at } else { 0 };
            let file = files::open_rw(&path)?;
            let len = length(&path, &file)?;
            // What was not synced may be gone: nothing but snapshots refers to it.
            let synced_at = if number == synced.pack { synced.at } else { 0 };
            if len < synced_at {
                findings.push(cut(&path, len, synced_at));
            }
            let from = if len < known_at { 0 } else { known_at };
            let end = scan(&path, &file, number, from, &mut found)?;
            if end < len {
                let finding = cut_end(layout, &path, &file, end, len)?;
                // Of a pack that lost its end that is said already.
                if len >= synced_at {
                    findings.push(finding);
                }
            }
            // What was read may have come from memory, and a sync that failed may have taken it for stored:
            // written again it is stored by this one.
            if number >= synced.pack {
                write_again(&path, &file, synced_at, end)?;
            }
            file.sync_data().map_err(|e| files::io("sync", &path, &e))?;
            if end < PACK_MAX {
                state.open = Some((number, file, end));
            }
        }
        let named: Vec<u64> = (files::numbered(dir, "pack")?.iter())
            .map(|(number, _)| *number)
            .collect();
        for number in (1..known.pack).map(u64::from) {
            if !named.contains(&number) {
                findings.push(missing(&files::numbered_path(dir, number, "pack")));
            }
        }
        if state.last < known.pack {
            if synced.pack == known.pack && synced.at > 0 {
                let path = files::numbered_path(dir, u64::from(known.pack), "pack");
                findings.push(cut(&path, 0, synced.at));
            }
            state.last = known.pack;
        }
        state.synced = state.end();
        if state.last > 0 {
            files::sync_dir(dir)?;
        }
        Ok((
            Self {
                dir: dir.to_owned(),
                state: Mutex::new(state),
                meters,
            },
            found,
        ))
    }

    /// How far the packs reach now.
    pub(crate) fn end(&self) -> Place {
        self.state.lock().end()
    }

    /// Appends a chunk's entry. It survives power loss after `sync`.
    pub(crate) fn append(&self, entry: &[u8]) -> Result<Place> {
        let mut state = self.state.lock();
        let appended = state
            .check()
            .and_then(|()| self.append_to(&mut state, entry));
        state.note(appended)
    }

    /// Begins another pack, unless the last one is empty; gives the number of the one that is appended
    /// to now.
    pub(crate) fn begin_another(&self) -> Result<u32> {
        let mut state = self.state.lock();
        state.check()?;
        let empty = state.open.as_ref().is_some_and(|(_, _, at)| *at == 0);
        let begun = if empty {
            Ok(())
        } else {
            self.begin(&mut state)
        };
        state.note(begun)?;
        Ok(state.last)
    }

    fn begin(&self, state: &mut State) -> Result<()> {
        if state.dirty {
            self.sync_open(state)?;
        }
        let number = state.last + 1;
        let path = files::numbered_path(&self.dir, u64::from(number), "pack");
        let file = files::open_rw(&path)?;
        file.sync_all().map_err(|e| files::io("sync", &path, &e))?;
        files::sync_dir(&self.dir)?;
        state.last = number;
        state.open = Some((number, file, 0));
        Ok(())
    }

    fn append_to(&self, state: &mut State, entry: &[u8]) -> Result<Place> {
        if state.open.as_ref().is_none_or(|(_, _, at)| *at >= PACK_MAX) {
            self.begin(state)?;
        }
        let Some((pack, file, at)) = state.open.as_mut() else {
            return Err(Error::invalid("no pack is open"));
        };
        file.write_all_at(entry, *at)
            .map_err(|e| files::io("write", &self.dir, &e))?;
        let place = Place {
            pack: *pack,
            at: *at,
            len: entry.len() as u32,
        };
        *at += entry.len() as u64;
        state.dirty = true;
        Ok(place)
    }

    /// Makes all chunks appended so far survive power loss.
    pub(crate) fn sync(&self) -> Result<()> {
        let mut state = self.state.lock();
        let synced = match (state.check(), state.dirty) {
            (Ok(()), true) => self.sync_open(&mut state),
            (checked, _) => checked,
        };
        state.note(synced)
    }

    fn sync_open(&self, state: &mut State) -> Result<()> {
        if let Some((_, file, _)) = &state.open {
            file.sync_data()
                .map_err(|e| files::io("sync", Path::new("pack"), &e))?;
            self.meters.pack_syncs.add(1);
        }
        state.dirty = false;
        state.synced = state.end();
        Ok(())
    }

    /// How far they are synced.
    pub(crate) fn synced(&self) -> Place {
        self.state.lock().synced
    }

    /// Reads a chunk's content and checks it.
    pub(crate) fn read(&self, id: &ChunkId, place: Place) -> Result<Vec<u8>> {
        self.read_flagged(id, place).map(|(content, _)| content)
    }

    /// The same, and whether it lists pieces.
    pub(crate) fn read_flagged(&self, id: &ChunkId, place: Place) -> Result<(Vec<u8>, bool)> {
        let entry = self.read_bytes(id, place)?;
        let what = || format!("pack {} at byte {}", place.pack, place.at);
        let (header, content) = ChunkEntry::decode(&entry).map_err(|e| e.at(what()))?;
        if header.id != *id {
            return Err(Error::corrupt(what(), format!("chunk {id}"), header.id));
        }
        Ok((content, header.pieces))
    }

    /// Bytes of a pack's file.
    pub(crate) fn length_of(&self, pack: u32) -> Result<u64> {
        let path = files::numbered_path(&self.dir, u64::from(pack), "pack");
        match std::fs::metadata(&path) {
            Ok(metadata) => Ok(metadata.len()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(0),
            Err(e) => Err(files::io("read", &path, &e)),
        }
    }

    /// Takes the bytes of a pack away: nothing names a chunk in it any more. The file stays, so that none
    /// is missed.
    pub(crate) fn empty(&self, pack: u32) -> Result<()> {
        let path = files::numbered_path(&self.dir, u64::from(pack), "pack");
        let file = files::open_rw(&path)?;
        self.state.lock().readers.remove(&pack);
        file.set_len(0)
            .and_then(|()| file.sync_all())
            .map_err(|e| files::io("empty", &path, &e))
    }

    /// The bytes of a chunk's entry.
    pub(crate) fn read_bytes(&self, id: &ChunkId, place: Place) -> Result<Vec<u8>> {
        let file = self.reader(place.pack)?;
        let what = || format!("pack {} at byte {}", place.pack, place.at);
        if place.len as usize > ChunkEntry::HEADER_LEN + CHUNK_RAW_MAX {
            return Err(Error::corrupt(what(), "the length of a chunk", place.len));
        }
        let mut entry = vec![0; place.len as usize];
        file.read_exact_at(&mut entry, place.at)
            .map_err(|_| Error::corrupt(what(), format!("chunk {id}"), "the end of the file"))?;
        Ok(entry)
    }

    fn reader(&self, pack: u32) -> Result<std::sync::Arc<File>> {
        let mut state = self.state.lock();
        if let Some(file) = state.readers.get(&pack) {
            return Ok(std::sync::Arc::clone(file));
        }
        let path = files::numbered_path(&self.dir, u64::from(pack), "pack");
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

/// Cuts a pack behind its last whole entry. What was there was never named by a record, unless it is
/// damaged: so it is kept aside.
fn cut_end(layout: &Layout, path: &Path, file: &File, end: u64, len: u64) -> Result<Finding> {
    let io = |e| files::io("cut", path, &e);
    let mut rest = vec![0; (len - end).min(CUT_MAX) as usize];
    file.read_exact_at(&mut rest, end).map_err(io)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    files::make_dir(&layout.damaged())?;
    let kept = layout.damaged().join(format!("{name}.from-{end}"));
    files::write_whole(&kept, &rest)?;
    file.set_len(end).map_err(io)?;
    Ok(Finding {
        place: format!("{} at byte {end}", path.display()),
        message: format!(
            "{} bytes that are no whole chunk, now in {}",
            len - end,
            kept.display()
        ),
        outcome: Outcome::Dropped,
    })
}

fn length(path: &Path, file: &File) -> Result<u64> {
    let metadata = file.metadata();
    Ok(metadata.map_err(|e| files::io("read", path, &e))?.len())
}

/// A pack that is not there. There is one copy of it.
fn missing(path: &Path) -> Finding {
    Finding {
        place: path.display().to_string(),
        message:
            "the pack is not there: events and snapshots whose chunks were in it cannot be read"
                .into(),
        outcome: Outcome::Left,
    }
}

/// A pack that lost its end. There is one copy of it.
fn cut(path: &Path, len: u64, known: u64) -> Finding {
    Finding {
        place: format!("{} at byte {len}", path.display()),
        message: format!(
            "the pack had {known} bytes and has {len}: events and snapshots whose chunks were there \
             cannot be read"
        ),
        outcome: Outcome::Left,
    }
}

/// Walks through whole entries from `at`; gives where they end. Damage between two of them is
/// passed over: it takes no other chunk with it.
fn scan(
    path: &Path,
    file: &File,
    pack: u32,
    mut at: u64,
    found: &mut Vec<(ChunkId, Place)>,
) -> Result<u64> {
    let len = length(path, file)?;
    while at < len {
        match whole_at(file, at) {
            Some((id, len)) => {
                found.push((id, Place { pack, at, len }));
                at += u64::from(len);
            }
            None => match next_whole(path, file, at + 1)? {
                Some(next) => at = next,
                None => break,
            },
        }
    }
    Ok(at)
}

/// The chunk of a whole entry, and how long that is.
fn whole_at(file: &File, at: u64) -> Option<(ChunkId, u32)> {
    let mut entry = vec![0; ChunkEntry::HEADER_LEN];
    file.read_exact_at(&mut entry, at).ok()?;
    let header = ChunkEntry::decode_header(&entry).ok()?;
    entry.resize(ChunkEntry::HEADER_LEN + header.stored_len(), 0);
    file.read_exact_at(&mut entry, at).ok()?;
    header
        .is_whole(&entry)
        .then_some((header.id, entry.len() as u32))
}

/// Where the next whole entry begins, from `at` on.
fn next_whole(path: &Path, file: &File, mut at: u64) -> Result<Option<u64>> {
    let magic = ChunkEntry::MAGIC;
    let mut window = vec![0; 1 << 20];
    loop {
        let read = file
            .read_at(&mut window, at)
            .map_err(|e| files::io("read", path, &e))?;
        let bytes = window.get(..read).unwrap_or_default();
        for (place, four) in (at..).zip(bytes.windows(magic.len())) {
            if four == magic && whole_at(file, place).is_some() {
                return Ok(Some(place));
            }
        }
        if read < magic.len() {
            return Ok(None);
        }
        at += (read - magic.len() + 1) as u64;
    }
}

/// Reads every chunk of a pack; gives where those begin that are whole, in order. What is between two
/// of them is none that was finished.
pub(crate) fn whole_in(path: &Path, pack: u32) -> Result<Vec<u64>> {
    let file = File::open(path).map_err(|e| files::io("open", path, &e))?;
    let mut found = Vec::new();
    scan(path, &file, pack, 0, &mut found)?;
    let mut whole = Vec::with_capacity(found.len());
    for (id, place) in found {
        let mut entry = vec![0; place.len as usize];
        file.read_exact_at(&mut entry, place.at)
            .map_err(|e| files::io("read", path, &e))?;
        if ChunkEntry::decode(&entry).is_ok_and(|(header, _)| header.id == id) {
            whole.push(place.at);
        }
    }
    Ok(whole)
}

/// Writes the bytes from one place to another again, as they are.
fn write_again(path: &Path, file: &File, from: u64, to: u64) -> Result<()> {
    const PIECE: u64 = 1 << 20;
    let mut piece = vec![0; to.saturating_sub(from).min(PIECE) as usize];
    let mut at = from;
    while at < to {
        let (bytes, _) = piece.split_at_mut((to - at).min(PIECE) as usize);
        file.read_exact_at(bytes, at)
            .and_then(|()| file.write_all_at(bytes, at))
            .map_err(|e| files::io("write", path, &e))?;
        at += bytes.len() as u64;
    }
    Ok(())
}
