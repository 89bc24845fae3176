//! What a restore records of itself in the log, and reads again after a crash.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use milepost::{Data, Error, Json, Result};
use milepost_codec::{ChunkId, ChunkList, RestoreBegun, RestoreIntent, RestorePart};

use crate::chunks::Chunks;

/// The name under which a workspace takes part.
pub(crate) const NAME: &str = "workspace";

/// Bytes of a chunk of a plan.
const CHUNK: usize = 256 << 10;

/// What is done with a folder, as it is recorded.
pub(super) struct Record {
    pub(super) plan: RestoreIntent,
    /// Device and inode of the folder.
    pub(super) folder: (u64, u64),
    /// The capture of what the folder will hold.
    pub(super) to_come: ChunkId,
    /// The capture that is gone to.
    pub(super) target: ChunkId,
    /// What else has to stay: what was there last, and what is there now.
    pub(super) needed: Vec<ChunkId>,
}

impl Record {
    /// Stores it. It is not synced yet.
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
        let mut roots = vec![self.to_come, self.target];
        roots.extend(&self.needed);
        Ok(RestorePart {
            participant: NAME.to_owned(),
            place: place(folder),
            note: Some(Json::from_value(&note)?),
            plan: list,
            roots,
        })
    }

    /// The capture of what is there now.
    pub(super) fn present(&self) -> Result<ChunkId> {
        let present = self.needed.last().copied();
        present.ok_or_else(|| Error::corrupt("restore plan", "the capture of the present", "none"))
    }

    /// Reads it.
    ///
    /// # Errors
    ///
    /// `Corrupt` where it is none; `NotFound` where a chunk of it is gone.
    pub(super) fn read(chunks: &dyn Chunks, begun: &RestoreBegun) -> Result<Self> {
        let part = part_of(begun).ok_or_else(|| wrong(begun, "a part for a workspace"))?;
        let mut bytes = Vec::new();
        for id in &part.plan.chunks {
            bytes.extend_from_slice(&chunks.get(id)?);
        }
        let plan = RestoreIntent::decode(&bytes)?;
        let [to_come, target, needed @ ..] = part.roots.as_slice() else {
            return Err(wrong(begun, "captures"));
        };
        Ok(Self {
            plan,
            folder: identity(begun, part)?,
            to_come: *to_come,
            target: *target,
            needed: needed.to_vec(),
        })
    }
}

/// The capture of what was there when a restore began, where it says so.
pub(super) fn present_of(begun: &RestoreBegun) -> Option<ChunkId> {
    let part = part_of(begun)?;
    part.roots.get(2..)?.last().copied()
}

/// Whether a restore is of a folder.
pub(super) fn is_of(begun: &RestoreBegun, folder: &Path) -> bool {
    let of = |part: &RestorePart| part.participant == NAME && part.place == place(folder);
    begun.parts.iter().any(of)
}

/// Device and inode of the folder that a restore is of, wherever it is now. Nothing where it is of
/// none.
///
/// # Errors
///
/// `Corrupt` where they cannot be read.
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
        value.ok_or_else(|| wrong(begun, "the folder's device and inode"))
    };
    Ok((number("device")?, number("inode")?))
}

fn wrong(begun: &RestoreBegun, expected: &str) -> Error {
    Error::corrupt(format!("restore {}", begun.restore), expected, "none")
}

fn place(folder: &Path) -> Data {
    match folder.to_str() {
        Some(text) => Data::Json(Json::string(text)),
        None => Data::Bytes(folder.as_os_str().as_bytes().to_vec()),
    }
}
