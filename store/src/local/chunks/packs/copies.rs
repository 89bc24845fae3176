//! Copies of packs: the second copy of chunks that are in no group.
//!
//! `packs/0000000001.copy` has the bytes of such an entry where `0000000001.pack` has them, and
//! holes where the pack has groups: files that were captured have one copy. A copy follows its pack
//! in each round of the applier once the entries there are synced, and is as long as what it has
//! followed.

use std::cmp::Ordering;
use std::fs::{self, File};
use std::io::{self, ErrorKind as ErrorOf};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use milepost_codec::{CHUNK_RAW_MAX, ChunkEntry, ChunkId, Error, Result};

use crate::files;
use crate::local::chunks::packs::Packs;
use crate::local::chunks::packs::scan::{Source, cut, length, walk};
use crate::local::location::Location;
use crate::local::repairs::copies::{COPY_OF_PACK, PACK};
use crate::open_report::{Finding, Outcome};

/// The first bytes of a copy while it is emptied with its pack.
const EMPTYING: &[u8] = b"MPEMPTY\0";

/// All bytes of a pack.
const ALL: Range<u64> = 0..u64::MAX;

/// The maximum length of an entry of one chunk.
const ENTRY_MAX: usize = ChunkEntry::HEADER_LEN + CHUNK_RAW_MAX;

/// The ends of the entries that have a copy, and of those whose copy survives power loss.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Copied {
    pub(crate) written: Location,
    pub(crate) durable: Location,
}

/// Records a finding before it is repaired, with the copy that the repair reads.
pub(crate) type Record<'a> = &'a dyn Fn(&Finding, &str) -> Result<()>;

/// Returns the path of a copy.
pub(crate) fn path_of(dir: &Path, pack: u32) -> PathBuf {
    files::numbered_path(dir, u64::from(pack), "copy")
}

/// Returns the numbers and paths of existing packs, and of packs with a copy.
pub(super) fn numbered(dir: &Path) -> Result<Vec<(u32, PathBuf)>> {
    let mut numbers: Vec<u64> = Vec::new();
    for extension in ["pack", "copy"] {
        numbers.extend(files::numbered(dir, extension)?.iter().map(|(number, _)| number));
    }
    numbers.sort_unstable();
    numbers.dedup();
    let path = |number| files::numbered_path(dir, number, "pack");
    Ok(numbers.into_iter().map(|n| (u32::try_from(n).unwrap_or(u32::MAX), path(n))).collect())
}

/// Opens a file, or returns `None` if it is missing.
pub(super) fn open_if_there(path: &Path) -> Result<Option<File>> {
    match path.try_exists() {
        Ok(false) => Ok(None),
        _ => files::open_read(path).map(Some),
    }
}

/// Returns the bytes of a file, or 0 if it is missing.
pub(super) fn length_of(path: &Path) -> Result<u64> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len()),
        Err(e) if e.kind() == ErrorOf::NotFound => Ok(0),
        Err(e) => Err(files::io("read", path, &e)),
    }
}

/// Writes a pack or a copy that is missing or cut out of the other one. Returns the damage.
pub(super) fn restore_cut(
    dir: &Path,
    pack: u32,
    copied: Location,
    record: Record<'_>,
) -> Result<Vec<Finding>> {
    let (path, copy) = (files::numbered_path(dir, u64::from(pack), "pack"), path_of(dir, pack));
    if is_emptying(&copy)? {
        empty(dir, pack)?;
    }
    let (len, copy_len, mut findings) = (length_of(&path)?, length_of(&copy)?, Vec::new());
    if len < copy_len {
        let (mended, lost) = mend_pack(dir, pack, record)?;
        findings.extend(mended);
        if lost {
            findings.push(cut(&path, len, copy_len));
        }
    }
    let expected = copied_end(pack, copied, length_of(&path)?);
    if copy_len < expected {
        findings.extend(mend_copy(dir, pack, expected, record)?);
    }
    Ok(findings)
}

/// Returns the length of a copy; `len` is that of its pack.
fn copied_end(pack: u32, copied: Location, len: u64) -> u64 {
    match pack.cmp(&copied.file) {
        Ordering::Less => len,
        Ordering::Equal => copied.at,
        Ordering::Greater => 0,
    }
}

/// Writes entries of a cut pack out of its copy. Returns the finding if there are any, and `true`
/// if bytes are lost: captured files, of which the copy has none.
fn mend_pack(dir: &Path, pack: u32, record: Record<'_>) -> Result<(Option<Finding>, bool)> {
    let (path, copy) = (files::numbered_path(dir, u64::from(pack), "pack"), path_of(dir, pack));
    let Some(copy_file) = open_if_there(&copy)? else { return Ok((None, false)) };
    let old = open_if_there(&path)?;
    let (mut damaged, mut intact) = (0_u64, 0);
    walk(&path, [old.as_ref(), Some(&copy_file)], ALL, &mut |_, entry, source| {
        damaged += u64::from(source == Source::Copy);
        intact += entry.bytes.len() as u64;
        Ok(())
    })?;
    let lost = intact < length(&copy, &copy_file)?;
    if damaged == 0 {
        return Ok((None, lost));
    }
    let finding = mended(&path, damaged, COPY_OF_PACK, record)?;
    let file = files::open_rw(&path)?;
    let io = |e| files::io("write", &path, &e);
    let len = length(&path, &file)?;
    let written =
        walk(&path, [Some(&file), Some(&copy_file)], ALL, &mut |at, entry, source| match source {
            Source::Pack => Ok(()),
            Source::Copy => file.write_all_at(&entry.bytes, at).map_err(io),
        });
    let synced = written.and_then(|_| file.sync_all().map_err(io));
    // Shorter than its copy, it is mended by the next opening.
    let synced = synced.inspect_err(|_| drop(file.set_len(len)));
    synced.and_then(|()| files::sync_dir(dir))?;
    Ok((Some(finding), lost))
}

/// Writes a copy that is missing or cut out of its pack, up to `end`. Returns the finding if the
/// copy lacks entries.
fn mend_copy(dir: &Path, pack: u32, end: u64, record: Record<'_>) -> Result<Option<Finding>> {
    let (path, copy) = (files::numbered_path(dir, u64::from(pack), "pack"), path_of(dir, pack));
    let Some(file) = open_if_there(&path)? else { return Ok(None) };
    let old = open_if_there(&copy)?;
    let len = length_of(&copy)?;
    let mut damaged = 0_u64;
    walk(&path, [Some(&file), None], 0..end, &mut |at, entry, _| {
        let is_copied =
            entry.is_group || old.as_ref().is_some_and(|old| holds(old, at, &entry.bytes));
        damaged += u64::from(!is_copied);
        Ok(())
    })?;
    if damaged == 0 {
        return Ok(None);
    }
    let finding = mended(&copy, damaged, PACK, record)?;
    let synced = copy_range(dir, pack, 0..end).and_then(|()| sync(dir, pack));
    // Shorter than its pack, it is mended by the next opening.
    synced.inspect_err(|_| drop(files::open_rw(&copy).map(|copy| copy.set_len(len))))?;
    Ok(Some(finding))
}

/// Empties a pack and its copy. The copy is marked first: no entry of the pack comes back from it,
/// and an opening completes an interrupted call.
pub(super) fn empty(dir: &Path, pack: u32) -> Result<()> {
    let (path, copy) = (files::numbered_path(dir, u64::from(pack), "pack"), path_of(dir, pack));
    let io = |path: &Path, done: io::Result<()>| done.map_err(|e| files::io("empty", path, &e));
    let is_there = copy.try_exists();
    let is_there = is_there.map_err(|e| files::io("look at", &copy, &e))?;
    let target = is_there.then(|| files::open_rw(&copy)).transpose()?;
    if let Some(target) = &target {
        let marked = target.write_all_at(EMPTYING, 0);
        let marked = marked.and_then(|()| target.set_len(EMPTYING.len() as u64));
        io(&copy, marked.and_then(|()| target.sync_all()))?;
    }
    let file = files::open_rw(&path)?;
    io(&path, file.set_len(0).and_then(|()| file.sync_all()))?;
    match &target {
        Some(target) => io(&copy, target.set_len(0).and_then(|()| target.sync_all())),
        None => Ok(()),
    }
}

/// Returns `true` if the emptying of a pack was interrupted.
fn is_emptying(copy: &Path) -> Result<bool> {
    Ok(open_if_there(copy)?.is_some_and(|file| holds(&file, 0, EMPTYING)))
}

/// Writes entries of a file again, as `read` returns them.
fn rewrite(
    path: &Path,
    entries: &[(ChunkId, Location)],
    from: &str,
    record: Record<'_>,
    read: &dyn Fn(&ChunkId, Location) -> Result<Vec<u8>>,
) -> Result<Option<Finding>> {
    if entries.is_empty() {
        return Ok(None);
    }
    let finding = mended(path, entries.len() as u64, from, record)?;
    let file = files::open_rw(path)?;
    let io = |e| files::io("write", path, &e);
    for (id, place) in entries {
        file.write_all_at(&read(id, *place)?, place.at).map_err(io)?;
    }
    file.sync_all().map_err(io)?;
    files::sync_parent(path)?;
    Ok(Some(finding))
}

/// Records entries of a file that are written again, and returns the finding.
fn mended(path: &Path, entries: u64, from: &str, record: Record<'_>) -> Result<Finding> {
    let entries = match entries {
        1 => "1 chunk is".to_owned(),
        _ => format!("{entries} chunks are"),
    };
    let message = format!("{entries} damaged or missing, and written again from {from}");
    let finding = Finding::new(path.display().to_string(), message, Outcome::Repaired);
    record(&finding, from)?;
    Ok(finding)
}

/// Returns `true` if a file has these bytes.
fn holds(file: &File, at: u64, bytes: &[u8]) -> bool {
    let mut found = vec![0; bytes.len()];
    file.read_exact_at(&mut found, at).is_ok() && found == bytes
}

/// Returns `true` if these bytes are an intact entry of a chunk.
fn is_entry_of(id: &ChunkId, entry: &[u8]) -> bool {
    let header = ChunkEntry::decode_header(entry);
    header.is_ok_and(|header| header.id == *id && header.is_intact(entry))
}

/// Copies the entries of a pack between two places. Damaged ones are left out: the copy may have
/// them intact.
fn copy_range(dir: &Path, pack: u32, range: Range<u64>) -> Result<()> {
    let (path, copy) = (files::numbered_path(dir, u64::from(pack), "pack"), path_of(dir, pack));
    let (Some(file), false) = (open_if_there(&path)?, range.is_empty()) else { return Ok(()) };
    let target = files::open_rw(&copy)?;
    let io = |e| files::io("write", &copy, &e);
    // Existing bytes too: a failed sync may have lost them.
    walk(&path, [Some(&file), None], range.clone(), &mut |at, entry, _| match entry.is_group {
        true => Ok(()),
        false => target.write_all_at(&entry.bytes, at).map_err(io),
    })?;
    if length(&copy, &target)? < range.end {
        target.set_len(range.end).map_err(io)?;
    }
    Ok(())
}

/// Makes a copy survive power loss.
fn sync(dir: &Path, pack: u32) -> Result<()> {
    let copy = path_of(dir, pack);
    let Some(file) = open_if_there(&copy)? else { return Ok(()) };
    file.sync_all().map_err(|e| files::io("sync", &copy, &e))?;
    files::sync_dir(dir)
}

impl Packs {
    /// Copies the synced entries that have no copy yet. After an error the next call tries again.
    pub(crate) fn copy(&self) -> Result<()> {
        let _alone = self.copying.lock();
        self.copy_synced().inspect_err(|_| self.forget_unsynced())
    }

    /// Makes the next call copy all entries whose copy is not synced.
    fn forget_unsynced(&self) {
        let copied = &mut self.state.lock().copied;
        copied.written = copied.durable;
    }

    fn copy_synced(&self) -> Result<()> {
        loop {
            let Copied { written: from, durable } = self.copied();
            let to = self.synced();
            if self.scratch.is_some() || from >= to {
                return Ok(());
            }
            let is_last = from.file == to.file;
            let end = if is_last { to.at } else { self.length_of(from.file)? };
            copy_range(&self.dir, from.file, from.at..end)?;
            self.state.lock().copied = match is_last {
                true => Copied { written: to, durable },
                false => {
                    sync(&self.dir, from.file)?;
                    let next = Location { file: from.file + 1, ..Location::default() };
                    Copied { written: next, durable: next }
                }
            };
        }
    }

    /// Copies the synced entries that have no copy yet, and makes all copies survive power loss.
    pub(crate) fn sync_copies(&self) -> Result<()> {
        let _alone = self.copying.lock();
        let synced = || {
            self.copy_synced()?;
            let Copied { written, durable } = self.copied();
            if durable < written {
                sync(&self.dir, written.file)?;
                self.state.lock().copied.durable = written;
            }
            Ok(())
        };
        synced().inspect_err(|_| self.forget_unsynced())
    }

    /// Returns the ends of the entries that are copied.
    pub(crate) fn copied(&self) -> Copied {
        self.state.lock().copied
    }

    /// Mends chunks of a pack that the index names, each from its other copy. Returns the damage.
    pub(crate) fn mend(
        &self,
        pack: u32,
        named: &[(ChunkId, Location)],
        record: Record<'_>,
    ) -> Result<Vec<Finding>> {
        let _alone = self.copying.lock();
        let copied = self.copied().written;
        let (mut of_pack, mut of_copy) = (Vec::new(), Vec::new());
        for (id, place) in named.iter().filter(|(_, place)| place.member.is_none()) {
            let is_copied = self.is_copy_intact(id, *place);
            match self.is_intact(id, *place) {
                true if !is_copied && *place < copied => of_copy.push((*id, *place)),
                false if is_copied => of_pack.push((*id, *place)),
                _ => {}
            }
        }
        let (path, copy) = (self.path_of(pack), path_of(&self.dir, pack));
        let read_copied = |id: &ChunkId, place| self.read_copied(id, place);
        let read = |id: &ChunkId, place| self.read_bytes(id, place);
        let mut findings = Vec::new();
        findings.extend(rewrite(&path, &of_pack, COPY_OF_PACK, record, &read_copied)?);
        // A file that was missing is another one now.
        self.state.lock().readers.remove(&pack);
        findings.extend(rewrite(&copy, &of_copy, PACK, record, &read)?);
        Ok(findings)
    }

    /// Returns the bytes of an entry from the copy. Only chunks that are in no group have one.
    pub(super) fn read_copied(&self, id: &ChunkId, place: Location) -> Result<Vec<u8>> {
        let what = || format!("copy of pack {} at byte {}", place.file, place.at);
        let none = || Error::corrupt(what(), format!("chunk {id}"), "none");
        let copy = path_of(&self.dir, place.file);
        let has_copy = place.member.is_none() && place.len as usize <= ENTRY_MAX;
        let file = open_if_there(&copy)?.filter(|_| has_copy).ok_or_else(none)?;
        let mut entry = vec![0; place.len as usize];
        file.read_exact_at(&mut entry, place.at).map_err(|_| none())?;
        match is_entry_of(id, &entry) {
            true => Ok(entry),
            false => Err(none()),
        }
    }

    /// Returns the bytes of an entry that is moved: the copy's bytes if the pack's are damaged.
    pub(crate) fn intact_bytes(&self, id: &ChunkId, place: Location) -> Result<Vec<u8>> {
        let bytes = self.read_bytes(id, place);
        if place.member.is_some() || bytes.as_ref().is_ok_and(|entry| is_entry_of(id, entry)) {
            return bytes;
        }
        self.read_copied(id, place).or(bytes)
    }

    /// Returns `true` if the copy of a chunk is intact.
    pub(crate) fn is_copy_intact(&self, id: &ChunkId, place: Location) -> bool {
        self.read_copied(id, place)
            .is_ok_and(|entry| ChunkEntry::decode(&entry).is_ok_and(|(header, _)| header.id == *id))
    }
}
