//! Scanning packs: finding intact entries, and handling the bytes between them.

use std::fs::File;
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

/// Returns the finding for a missing pack. A pack has no second copy.
pub(crate) fn missing(path: &Path) -> Finding {
    Finding {
        place: path.display().to_string(),
        message:
            "the pack is not there: events and snapshots whose chunks were in it cannot be read"
                .into(),
        outcome: Outcome::Left,
    }
}

/// Returns the finding for a pack that lost its end. A pack has no second copy.
pub(crate) fn cut(path: &Path, len: u64, recorded: u64) -> Finding {
    Finding {
        place: format!("{} at byte {len}", path.display()),
        message: format!(
            "the pack had {recorded} bytes and has {len}: events and snapshots whose chunks were \
             there cannot be read"
        ),
        outcome: Outcome::Left,
    }
}

/// Collects the intact entries from `at` on, and returns their end. Damage between two entries is
/// skipped: it affects no other chunk.
pub(crate) fn scan(
    path: &Path,
    file: &File,
    pack: u32,
    mut at: u64,
    found: &mut Vec<(ChunkId, Location)>,
) -> Result<u64> {
    let len = length(path, file)?;
    while at < len {
        match intact_at(file, at) {
            Some(intact) => {
                let len = intact.len;
                found.extend(intact.places(pack, at));
                at += u64::from(len);
            }
            None => match next_intact(path, file, at + 1)? {
                Some(next) => at = next,
                None => break,
            },
        }
    }
    Ok(at)
}

/// An intact entry.
struct IntactEntry {
    len: u32,
    /// The chunk, or the members of a group.
    ids: Vec<ChunkId>,
    is_group: bool,
}

impl IntactEntry {
    /// Returns its chunks with their locations.
    fn places(self, pack: u32, at: u64) -> impl Iterator<Item = (ChunkId, Location)> {
        let Self { len, is_group, .. } = self;
        let place = move |n: u16| Location { file: pack, at, len, member: is_group.then_some(n) };
        (self.ids.into_iter().zip(0_u16..)).map(move |(id, n)| (id, place(n)))
    }
}

/// Returns the intact entry at a byte, if there is one.
fn intact_at(file: &File, at: u64) -> Option<IntactEntry> {
    // No entry is shorter: a group has at least one row in its table.
    let mut entry = vec![0; ChunkEntry::HEADER_LEN];
    file.read_exact_at(&mut entry, at).ok()?;
    if entry.starts_with(ChunkGroup::MAGIC) {
        let header = ChunkGroup::decode_header(&entry).ok()?;
        entry.resize(header.entry_len(), 0);
        file.read_exact_at(&mut entry, at).ok()?;
        let ids = header.is_intact(&entry).then(|| ChunkGroup::ids(&entry))?;
        return Some(IntactEntry { len: entry.len() as u32, ids: ids.ok()?, is_group: true });
    }
    let header = ChunkEntry::decode_header(&entry).ok()?;
    entry.resize(ChunkEntry::HEADER_LEN + header.stored_len(), 0);
    file.read_exact_at(&mut entry, at).ok()?;
    header.is_intact(&entry).then(|| IntactEntry {
        len: entry.len() as u32,
        ids: vec![header.id],
        is_group: false,
    })
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
            if begins(four) && intact_at(file, place).is_some() {
                return Ok(Some(place));
            }
        }
        if read < MAGIC_LEN {
            return Ok(None);
        }
        at += (read - MAGIC_LEN + 1) as u64;
    }
}

/// Reads every chunk of a pack. Returns, in order, the positions of the entries whose chunks are
/// all intact. Bytes between them belong to no complete entry.
pub(crate) fn intact_in(path: &Path, pack: u32) -> Result<Vec<u64>> {
    let file = files::open_read(path)?;
    let mut found = Vec::new();
    scan(path, &file, pack, 0, &mut found)?;
    let mut intact = Vec::with_capacity(found.len());
    let entries = found.chunk_by(|(_, a), (_, b)| a.at == b.at);
    for (place, chunks) in entries.filter_map(|all| all.first().map(|(_, place)| (place, all))) {
        let mut entry = vec![0; place.len as usize];
        match file.read_exact_at(&mut entry, place.at) {
            Ok(()) if holds(&entry, chunks) => intact.push(place.at),
            Ok(()) => {}
            // A compaction moved its chunks.
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {}
            Err(e) => return Err(files::io("read", path, &e)),
        }
    }
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
