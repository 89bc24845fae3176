//! Record of a restore in the log, read again after a crash.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use milepost::events::Data;
use milepost::{Error, Json, Result};
use milepost_codec::{ChunkId, ChunkList, RestoreBegun, RestoreIntent, RestorePart};

use crate::capture::NAME;
use crate::chunks::Chunks;

/// Size of a plan's chunk in bytes.
const CHUNK: usize = 256 << 10;

/// Recorded plan of a restore of a folder.
pub(super) struct Record {
    pub(super) plan: RestoreIntent,
    /// Device and inode of the folder.
    pub(super) folder: (u64, u64),
    /// Capture of the folder after the restore.
    pub(super) upcoming: ChunkId,
    /// Capture to restore.
    pub(super) target: ChunkId,
    /// Other captures to keep: the last one and the present.
    pub(super) needed: Vec<ChunkId>,
}

impl Record {
    /// Stores the record without syncing it.
    pub(super) fn store(&self, chunks: &dyn Chunks, folder: &Path) -> Result<RestorePart> {
        let bytes = self.plan.encode();
        let mut list = ChunkList { len: bytes.len() as u64, chunks: Vec::new() };
        for part in bytes.chunks(CHUNK) {
            list.chunks.extend(chunks.put(&[part])?);
        }
        let (device, inode) = self.folder;
        let note = serde_json::json!({
            "device": device.to_string(),
            "inode": inode.to_string(),
        });
        let mut roots = vec![self.upcoming, self.target];
        roots.extend(&self.needed);
        Ok(RestorePart {
            participant: NAME.to_owned(),
            place: place(folder),
            note: Some(Json::from_value(&note)?),
            plan: list,
            roots,
        })
    }

    /// Returns the capture of the present.
    pub(super) fn present(&self) -> Result<ChunkId> {
        let present = self.needed.last().copied();
        present.ok_or_else(|| Error::corrupt("restore plan", "the capture of the present", "none"))
    }

    /// Reads the record.
    ///
    /// # Errors
    ///
    /// `Corrupt`: it is not a record. `NotFound`: a chunk of it is missing.
    pub(super) fn read(chunks: &dyn Chunks, begun: &RestoreBegun) -> Result<Self> {
        let part = part_of(begun).ok_or_else(|| missing(begun, "a part for a workspace"))?;
        let mut bytes = Vec::new();
        for id in &part.plan.chunks {
            bytes.extend_from_slice(&chunks.get(id)?);
        }
        let plan = RestoreIntent::decode(&bytes)?;
        let [upcoming, target, needed @ ..] = part.roots.as_slice() else {
            return Err(missing(begun, "captures"));
        };
        Ok(Self {
            plan,
            folder: identity(begun, part)?,
            upcoming: *upcoming,
            target: *target,
            needed: needed.to_vec(),
        })
    }
}

/// Returns the capture of the present when a restore began, if it was recorded.
pub(super) fn present_of(begun: &RestoreBegun) -> Option<ChunkId> {
    let part = part_of(begun)?;
    part.roots.get(2..)?.last().copied()
}

/// Returns `true` if a restore is of a folder.
pub(super) fn is_of(begun: &RestoreBegun, folder: &Path) -> bool {
    let of = |part: &RestorePart| part.participant == NAME && part.place == place(folder);
    begun.parts.iter().any(of)
}

/// Returns device and inode of a restore's folder, wherever it is now. `None` if the restore has
/// none.
///
/// # Errors
///
/// `Corrupt`: they cannot be read.
pub(super) fn folder_of(begun: &RestoreBegun) -> Result<Option<(u64, u64)>> {
    let part = part_of(begun);
    part.map(|part| identity(begun, part)).transpose()
}

fn part_of(begun: &RestoreBegun) -> Option<&RestorePart> {
    begun.parts.iter().find(|part| part.participant == NAME)
}

fn identity(begun: &RestoreBegun, part: &RestorePart) -> Result<(u64, u64)> {
    let note = part.note.as_ref().map(Json::value).transpose()?;
    let number = |key: &str| {
        let note = note.as_ref();
        let value = note.and_then(|note| note.get(key)?.as_str()?.parse().ok());
        value.ok_or_else(|| missing(begun, "the folder's device and inode"))
    };
    Ok((number("device")?, number("inode")?))
}

fn missing(begun: &RestoreBegun, expected: &str) -> Error {
    Error::corrupt(format!("restore {}", begun.restore), expected, "none")
}

fn place(folder: &Path) -> Data {
    match folder.to_str() {
        Some(text) => Data::Json(Json::string(text)),
        None => Data::Bytes(folder.as_os_str().as_bytes().to_vec()),
    }
}
