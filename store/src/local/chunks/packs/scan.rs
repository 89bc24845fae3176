//! Scanning packs: finding intact entries, and handling the bytes between them.

use std::fs::File;
use std::io::ErrorKind as ErrorOf;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use milepost_codec::{ChunkEntry, ChunkGroup, ChunkId, Result};

use crate::files;
use crate::local::layout::Layout;
use crate::local::location::Location;
use crate::open_report::{Finding, Outcome};

/// The maximum bytes of a torn end that are saved: two chunks of the largest size.
const CUT_MAX: u64 = 2 << 20;

/// Truncates a pack after its last intact entry. No record ever named the rest, unless it is
/// damaged, so it is saved in `damaged/`.
pub(crate) fn cut_end(
    layout: &Layout,
    path: &Path,
    file: &File,
    end: u64,
    len: u64,
) -> Result<Finding> {
    let io = |e| files::io("cut", path, &e);
    let mut rest = vec![0; (len - end).min(CUT_MAX) as usize];
    file.read_exact_at(&mut rest, end).map_err(io)?;
    let name = files::name_of(path);
    files::make_dir(&layout.damaged())?;
    let saved = layout.damaged().join(format!("{name}.from-{end}"));
    files::write_whole(&saved, &rest)?;
    file.set_len(end).map_err(io)?;
    Ok(Finding {
        place: format!("{} at byte {end}", path.display()),
        message: format!("{} bytes that are no whole chunk, now in {}", len - end, saved.display()),
        outcome: Outcome::Dropped,
    })
}

pub(crate) fn length(path: &Path, file: &File) -> Result<u64> {
    let metadata = file.metadata();
    Ok(metadata.map_err(|e| files::io("read", path, &e))?.len())
}

/// Returns the finding for a missing pack that has no copy.
pub(crate) fn missing(path: &Path) -> Finding {
    Finding {
        place: path.display().to_string(),
        message:
            "the pack is not there: events and snapshots whose chunks were in it cannot be read"
                .into(),
        outcome: Outcome::Left,
    }
}

/// Returns the finding for a pack that lost its end, which its copy does not have.
pub(crate) fn cut(path: &Path, len: u64, recorded: u64) -> Finding {
    Finding {
        place: format!("{} at byte {len}", path.display()),
        message: format!(
            "the pack had {recorded} bytes and has {len}: what its copy does not have cannot be \
             read"
        ),
        outcome: Outcome::Left,
    }
}

/// Collects the intact entries from `at` on, and returns their end. An entry that only the copy has
/// is one of them. Damage between two entries is skipped: it affects no other chunk.
pub(crate) fn scan(
    path: &Path,
    files: [Option<&File>; 2],
    pack: u32,
    at: u64,
    found: &mut Vec<(ChunkId, Location)>,
) -> Result<u64> {
    walk(path, files, at..u64::MAX, &mut |at, entry, _| {
        found.extend(entry.places(pack, at));
        Ok(())
    })
}

/// The file that an entry is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Pack,
    Copy,
}

/// Passes the intact entries of a pack that begin in a range to `each`, with those that only its
/// copy has. Returns their end.
pub(super) fn walk(
    path: &Path,
    [file, copy]: [Option<&File>; 2],
    Range { start: mut at, end }: Range<u64>,
    each: &mut dyn FnMut(u64, &IntactEntry, Source) -> Result<()>,
) -> Result<u64> {
    let sources = [(file, Source::Pack), (copy, Source::Copy)];
    let sources = sources.into_iter().filter_map(|(file, source)| Some((file?, source)));
    let mut sources: Vec<_> = sources.map(|(file, source)| (file, source, at)).collect();
    while at < end {
        let mut found = None;
        for (file, source, _) in sources.iter().filter(|(_, _, next)| *next <= at) {
            if found.is_none() {
                found = intact_at(path, file, at)?.map(|intact| (intact, *source));
            }
        }
        if let Some((intact, source)) = found {
            each(at, &intact, source)?;
            at += intact.bytes.len() as u64;
            continue;
        }
        for (file, _, next) in sources.iter_mut().filter(|(_, _, next)| *next <= at) {
            *next = match at < length(path, file)? {
                true => next_intact(path, file, at + 1)?.unwrap_or(u64::MAX),
                false => u64::MAX,
            };
        }
        match sources.iter().map(|(_, _, next)| *next).min() {
            Some(next) if next < u64::MAX => at = next,
            _ => break,
        }
    }
    Ok(at)
}

/// An intact entry.
pub(super) struct IntactEntry {
    pub(super) bytes: Vec<u8>,
    /// The chunk, or the members of a group.
    ids: Vec<ChunkId>,
    pub(super) is_group: bool,
}

impl IntactEntry {
    /// Returns its chunks with their locations.
    fn places(&self, pack: u32, at: u64) -> impl Iterator<Item = (ChunkId, Location)> {
        let (len, is_group) = (self.bytes.len() as u32, self.is_group);
        let place = move |n: u16| Location { file: pack, at, len, member: is_group.then_some(n) };
        (self.ids.iter().zip(0_u16..)).map(move |(id, n)| (*id, place(n)))
    }
}

/// Returns the intact entry at a byte, if there is one. A failed read is not damage.
fn intact_at(path: &Path, file: &File, at: u64) -> Result<Option<IntactEntry>> {
    let is_read = |entry: &mut [u8]| match file.read_exact_at(entry, at) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorOf::UnexpectedEof => Ok(false),
        Err(e) => Err(files::io("read", path, &e)),
    };
    // No entry is shorter: a group has at least one row in its table.
    let mut entry = vec![0; ChunkEntry::HEADER_LEN];
    if !is_read(&mut entry)? {
        return Ok(None);
    }
    if entry.starts_with(ChunkGroup::MAGIC) {
        let Ok(header) = ChunkGroup::decode_header(&entry) else { return Ok(None) };
        entry.resize(header.entry_len(), 0);
        let is_intact = is_read(&mut entry)? && header.is_intact(&entry);
        let ids = if is_intact { ChunkGroup::ids(&entry).ok() } else { None };
        return Ok(ids.map(|ids| IntactEntry { bytes: entry, ids, is_group: true }));
    }
    let Ok(header) = ChunkEntry::decode_header(&entry) else { return Ok(None) };
    entry.resize(ChunkEntry::HEADER_LEN + header.stored_len(), 0);
    let is_intact = is_read(&mut entry)? && header.is_intact(&entry);
    let ids = vec![header.id];
    Ok(is_intact.then_some(IntactEntry { bytes: entry, ids, is_group: false }))
}

/// Returns the beginning of the next intact entry, from `at` on.
fn next_intact(path: &Path, file: &File, mut at: u64) -> Result<Option<u64>> {
    const MAGIC_LEN: usize = 4;
    let begins = |four: &[u8]| four == ChunkEntry::MAGIC || four == ChunkGroup::MAGIC;
    let mut window = vec![0; 1 << 20];
    loop {
        let read = file.read_at(&mut window, at).map_err(|e| files::io("read", path, &e))?;
        let bytes = window.get(..read).expect("a read fills no more than its buffer");
        for (place, four) in (at..).zip(bytes.windows(MAGIC_LEN)) {
            if begins(four) && intact_at(path, file, place)?.is_some() {
                return Ok(Some(place));
            }
        }
        if read < MAGIC_LEN {
            return Ok(None);
        }
        at += (read - MAGIC_LEN + 1) as u64;
    }
}

/// The first bytes of an id.
type IdPrefix = [u8; 8];

/// Returns a chunk's place in a pack and the first bytes of its id.
pub(crate) fn placed(id: &ChunkId, place: Location) -> (u64, IdPrefix) {
    (place.at, *id.0.first_chunk().unwrap_or(&[0; 8]))
}

/// Reads every chunk of a pack. Returns, in order, the entries whose chunks are all intact. Bytes
/// between them belong to no complete entry.
pub(crate) fn intact_in(path: &Path, pack: u32) -> Result<Vec<(u64, IdPrefix)>> {
    let file = files::open_read(path)?;
    let mut found = Vec::new();
    scan(path, [Some(&file), None], pack, 0, &mut found)?;
    let mut intact = Vec::with_capacity(found.len());
    let entries = found.chunk_by(|(_, a), (_, b)| a.at == b.at);
    for (place, chunks) in entries.filter_map(|all| all.first().map(|(_, place)| (place, all))) {
        let mut entry = vec![0; place.len as usize];
        // A compaction moved the chunks of a missing entry; an unreadable one is damaged.
        let read = file.read_exact_at(&mut entry, place.at);
        if read.is_ok() && holds(&entry, chunks) {
            intact.extend(chunks.iter().map(|(id, place)| placed(id, *place)));
        }
    }
    intact.sort_unstable();
    Ok(intact)
}

/// Returns `true` if an entry holds these chunks.
fn holds(entry: &[u8], chunks: &[(ChunkId, Location)]) -> bool {
    let group = entry.starts_with(ChunkGroup::MAGIC);
    let group = group.then(|| ChunkGroup::decode(entry));
    chunks.iter().all(|(id, place)| match (&group, place.member) {
        (Some(Ok(contents)), Some(n)) => {
            contents.get(n.into()).is_ok_and(|(found, _)| found == *id)
        }
        (None, None) => ChunkEntry::decode(entry).is_ok_and(|(header, _)| header.id == *id),
        _ => false,
    })
}

/// Reads a range of bytes and writes it again unchanged.
pub(crate) fn write_again(path: &Path, file: &File, from: u64, to: u64) -> Result<()> {
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
