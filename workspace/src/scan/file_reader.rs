//! Consistent read of a file: its stamp is the same before and after the read, and no write around
//! that time could have left it. The content therefore existed at one moment.

use std::fs::File;
use std::io::Read;

use fastcdc::v2020::FastCDC;
use milepost::Result;
use milepost_codec::{ChunkId, FilePart, Hash, encode_file};

use super::upload::Storing;
use crate::fs::{Errno, Kind, Moment, Stamp, look_at};
use crate::tree::FileContent;

/// Size up to which a file is one chunk; longer files are cut by content.
const WHOLE_MAX: usize = 64 << 10;

/// Sizes of the chunks of longer files in bytes.
const CUT_MIN: u32 = 16 << 10;
const CUT_AVG: u32 = 64 << 10;
pub(super) const CUT_MAX: u32 = 256 << 10;

/// Size up to which a file is read at once and stored together with its neighbours.
pub(super) const SMALL_MAX: u64 = 256 << 10;

/// Bytes of a large file in memory.
const WINDOW: usize = 1 << 20;

const _: () = assert!(WINDOW >= 2 * CUT_MAX as usize);

/// Number of reads before a file counts as unstable.
pub(crate) const TRIES: u8 = 3;

/// Returns the content of a file of several chunks, and stores its lists.
fn listed(parts: &[FilePart], hash: Hash, storing: &mut Storing<'_>) -> Result<FileContent> {
    let mut needs: Vec<ChunkId> = parts.iter().map(|part| part.id).collect();
    let mut nodes = Vec::new();
    let list = encode_file(parts, &mut |id, node| nodes.push((id, node)));
    for (id, node) in nodes {
        needs.push(id);
        storing.put(&[&node])?;
    }
    Ok(FileContent {
        len: parts.iter().map(|part| part.len).sum(),
        hash,
        list: Some(list),
        needs: needs.into(),
    })
}

/// Result of opening a file.
pub(super) enum Opened {
    File(File, Stamp),
    /// The file was removed.
    Gone,
    /// The file cannot be read.
    Denied,
    /// The entry is no longer a file.
    Other,
}

/// Checks the result of opening an entry that was a file.
pub(super) fn open(opened: Result<File, Errno>) -> Result<Opened, Errno> {
    let file = match opened {
        Ok(file) => file,
        Err(e) => return of_error(e),
    };
    match look_at(&file) {
        Ok(found) if found.kind == Kind::File => Ok(Opened::File(file, found.stamp)),
        Ok(_) => Ok(Opened::Other),
        Err(e) => of_error(e),
    }
}

fn of_error(error: Errno) -> Result<Opened, Errno> {
    match error {
        Errno::NOENT | Errno::STALE => Ok(Opened::Gone),
        Errno::ACCESS | Errno::PERM | Errno::IO => Ok(Opened::Denied),
        Errno::LOOP | Errno::NXIO | Errno::NOTDIR | Errno::ISDIR => Ok(Opened::Other),
        // Other errors, such as too many open files, do not concern the file.
        error => Err(error),
    }
}

/// Consistency of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// The content existed at one moment.
    Well,
    /// The file was written to, or could have been.
    Changed,
}

/// Appends the content of a small file to `out`. Reads at most one byte more than the stamp's size,
/// which shows that the file grew.
pub(super) fn read_whole(
    file: &mut File,
    stamp: &Stamp,
    now: Moment,
    grain_ns: i128,
    out: &mut Vec<u8>,
) -> std::io::Result<How> {
    let start = out.len();
    file.take(stamp.size + 1).read_to_end(out)?;
    let read = (out.len() - start) as u64;
    judge(file, stamp, read, now, grain_ns)
}

fn judge(
    file: &File,
    before: &Stamp,
    read: u64,
    now: Moment,
    grain_ns: i128,
) -> std::io::Result<How> {
    let after = look_at(file)?.stamp;
    let well = after == *before && read == before.size && !before.racy(now, grain_ns);
    Ok(if well { How::Well } else { How::Changed })
}

/// Cuts the content of a file that was read at once.
pub(super) fn cut(content: &[u8]) -> Vec<&[u8]> {
    if content.len() <= WHOLE_MAX {
        return vec![content];
    }
    let cuts = FastCDC::new(content, CUT_MIN, CUT_AVG, CUT_MAX);
    let piece = |cut: fastcdc::v2020::Chunk| {
        let end = cut.offset.saturating_add(cut.length);
        content.get(cut.offset..end).unwrap_or_default()
    };
    cuts.map(piece).collect()
}

/// Returns the content of a file that was read at once, from the ids of its pieces.
pub(super) fn content_of(
    bytes: &[u8],
    pieces: &[(ChunkId, usize)],
    storing: &mut Storing<'_>,
) -> Result<FileContent> {
    if let [(id, len)] = pieces {
        return Ok(FileContent {
            len: *len as u64,
            hash: Hash(id.0),
            list: None,
            needs: Box::default(),
        });
    }
    let parts = pieces.iter().map(|(id, len)| FilePart { id: *id, len: *len as u64 });
    let parts: Vec<_> = parts.collect();
    listed(&parts, Hash(*blake3::hash(bytes).as_bytes()), storing)
}

/// Reads, cuts and stores a large file, window by window. Returns `None` if it cannot be read.
pub(super) fn large(
    file: &mut File,
    stamp: &Stamp,
    now: Moment,
    grain_ns: i128,
    storing: &mut Storing<'_>,
    window: &mut Vec<u8>,
) -> Result<Option<(FileContent, How)>> {
    let mut hasher = blake3::Hasher::new();
    let mut parts: Vec<FilePart> = Vec::new();
    let mut left = stamp.size + 1;
    window.clear();
    loop {
        let room = (WINDOW - window.len()) as u64;
        let start = window.len();
        let want = room.min(left);
        if file.by_ref().take(want).read_to_end(window).is_err() {
            return Ok(None);
        }
        let fresh = window.get(start..).unwrap_or_default();
        hasher.update(fresh);
        left -= fresh.len() as u64;
        let ended = (fresh.len() as u64) < room;
        let mut pieces = Vec::new();
        let mut taken = 0;
        for cut in FastCDC::new(window, CUT_MIN, CUT_AVG, CUT_MAX) {
            // The end of a piece depends on up to `CUT_MAX` bytes that follow.
            if !ended && window.len() - cut.offset < CUT_MAX as usize {
                break;
            }
            taken = cut.offset + cut.length;
            pieces.push(window.get(cut.offset..taken).unwrap_or_default());
        }
        let ids = storing.put(&pieces)?;
        let part = |(id, piece): (ChunkId, &&[u8])| FilePart { id, len: piece.len() as u64 };
        parts.extend(ids.into_iter().zip(&pieces).map(part));
        if ended {
            break;
        }
        window.drain(..taken);
    }
    let read = stamp.size + 1 - left;
    let Ok(how) = judge(file, stamp, read, now, grain_ns) else {
        return Ok(None);
    };
    let content = match parts.as_slice() {
        // The file was truncated to nothing.
        [] => {
            let ids = storing.put(&[&[]])?;
            let pieces: Vec<_> = ids.into_iter().map(|id| (id, 0)).collect();
            content_of(&[], &pieces, storing)?
        }
        [one] => content_of(&[], &[(one.id, one.len as usize)], storing)?,
        parts => {
            let hash = Hash(*hasher.finalize().as_bytes());
            listed(parts, hash, storing)?
        }
    };
    Ok(Some((content, how)))
}
