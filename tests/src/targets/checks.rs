//! Makes the checks of bytes right, where the bytes are long enough to have one.

use milepost_codec::{
    CHUNK_RAW_MAX, ChunkEntry, ChunkGroup, FRAME_HEADER_LEN, FrameHeader, StoreId,
};

use crate::archive;

/// The store that files in inputs belong to.
pub(crate) const STORE: StoreId = StoreId([5; 16]);

/// Puts the check of `parts` of the bytes where it belongs.
fn put(bytes: &mut [u8], parts: &[(usize, usize)], at: usize) {
    let mut hasher = blake3::Hasher::new();
    for (from, to) in parts {
        let Some(part) = bytes.get(*from..*to) else {
            return;
        };
        hasher.update(part);
    }
    if let Some(room) = bytes.get_mut(at..at + 16) {
        room.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn write(bytes: &mut [u8], at: usize, what: &[u8]) {
    if let Some(room) = bytes.get_mut(at..at + what.len()) {
        room.copy_from_slice(what);
    }
}

/// The header of a segment, an archive file or a block file; it becomes one of [`STORE`].
pub(crate) fn header(bytes: &mut [u8]) {
    write(bytes, 8, &STORE.0);
    put(bytes, &[(0, 64)], 64);
}

pub(crate) fn acked(bytes: &mut [u8]) {
    put(bytes, &[(0, 48)], 48);
}

/// A block of a block file, whose hash has 32 bytes.
pub(crate) fn file_block(bytes: &mut [u8]) {
    let mut hasher = blake3::Hasher::new();
    if let (Some(header), Some(rest)) = (bytes.get(..32), bytes.get(64..)) {
        hasher.update(header).update(rest);
        write(bytes, 32, hasher.finalize().as_bytes());
    }
}

pub(crate) fn commit_table(bytes: &mut [u8]) {
    let len = bytes.len();
    put(bytes, &[(0, 56), (72, len)], 56);
}

/// The id of a chunk as well, where the content can be had.
pub(crate) fn chunk(bytes: &mut [u8]) {
    let (Some(raw), Some(payload)) = (number(bytes, 8), bytes.get(ChunkEntry::HEADER_LEN..)) else {
        return;
    };
    let content = match bytes[4] & 1 {
        0 => Some(payload.to_vec()),
        _ => zstd::bulk::decompress(payload, CHUNK_RAW_MAX.min(raw as usize)).ok(),
    };
    if let Some(content) = content {
        write(bytes, 16, &ChunkEntry::id_of(&content).0);
    }
    let len = bytes.len();
    put(bytes, &[(0, 48), (64, len)], 48);
}

/// The ids of a group's members as well, where the contents can be had.
pub(crate) fn chunk_group(bytes: &mut [u8]) {
    const ROW: usize = 40;
    let Ok(header) = ChunkGroup::decode_header(bytes) else {
        return;
    };
    let table = ChunkGroup::HEADER_LEN + header.table_len();
    let (Some(raw), Some(payload)) = (number(bytes, 8), bytes.get(table..)) else {
        return;
    };
    let contents = match bytes[4] & 1 {
        0 => Some(payload.to_vec()),
        _ => zstd::bulk::decompress(payload, CHUNK_RAW_MAX.min(raw as usize)).ok(),
    };
    let mut rest = contents.as_deref().unwrap_or_default();
    for row in (ChunkGroup::HEADER_LEN..table).step_by(ROW) {
        let len = number(bytes, row + 32).unwrap_or(u32::MAX) as usize;
        let Some((content, behind)) = rest.split_at_checked(len) else {
            break;
        };
        write(bytes, row, &ChunkEntry::id_of(content).0);
        rest = behind;
    }
    let len = bytes.len();
    put(bytes, &[(0, 16), (32, len)], 16);
}

/// One frame at the beginning of the bytes.
pub(crate) fn frame(bytes: &mut [u8]) {
    if let Some(len) = FrameHeader::payload_len(bytes) {
        put(bytes, &[(16, FRAME_HEADER_LEN + len)], 0);
    }
}

/// Expected predecessors of the frames of a file.
#[derive(Clone, Copy)]
pub(crate) struct Follows {
    pub(crate) epoch: u64,
    pub(crate) seq: u64,
    pub(crate) check: [u8; 16],
}

impl Follows {
    /// Returns the predecessor of the first frame after a header.
    pub(crate) fn header(bytes: &[u8]) -> Self {
        let u64_at = |at: usize| {
            let found = bytes.get(at..).and_then(|rest| rest.first_chunk());
            u64::from_le_bytes(found.copied().unwrap_or_default())
        };
        let check = bytes.get(48..).and_then(|rest| rest.first_chunk());
        Self { epoch: u64_at(32), seq: u64_at(40), check: check.copied().unwrap_or_default() }
    }
}

/// All frames from the beginning of the bytes on, wherever one may begin. With `follows` each is
/// also made to follow the one before.
pub(crate) fn frames(bytes: &mut [u8], mut follows: Option<&mut Follows>) {
    let mut at = 0;
    while let Some(rest) = bytes.get_mut(at..).filter(|rest| !rest.is_empty()) {
        let len = FrameHeader::payload_len(rest).filter(|_| FrameHeader::looks_like_any(rest));
        let Some(len) = len.filter(|len| FRAME_HEADER_LEN + len <= rest.len()) else {
            at += 8;
            continue;
        };
        if let Some(follows) = follows.as_deref_mut() {
            write(rest, 24, &follows.seq.to_le_bytes());
            write(rest, 32, &follows.epoch.to_le_bytes());
            write(rest, 48, &follows.check);
        }
        frame(rest);
        if let Some(follows) = follows.as_deref_mut() {
            follows.seq = follows.seq.wrapping_add(1);
            follows.check = *rest.first_chunk().unwrap_or(&[0; 16]);
        }
        at += (FRAME_HEADER_LEN + len).next_multiple_of(8);
    }
}

/// An archive file: its header, its blocks and its tables; with `follow`, tables are made to follow
/// each other, and to have the hashes of the blocks before them.
pub(crate) fn archive(bytes: &mut [u8], follow: bool) {
    header(bytes);
    archive::seal(bytes, follow);
}
