//! What a restore records of itself in the log, and reads again after a crash.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use milepost::{Data, Error, Json, Result};
use milepost_codec::{ChunkId, ChunkList, RestoreBegun, RestorePart, RestorePlan};

use crate::chunks::Chunks;

/// The name under which a workspace takes part.
pub(crate) const NAME: &str = "workspace";

/// Bytes of a chunk of a plan.
const CHUNK: usize = 256 << 10;

/// What is done with a folder, as it is recorded.
pub(super) struct Record {
    pub(super) plan: RestorePlan,
    /// Device and inode of the folder.
    pub(super) folder: (u64, u64),
    /// The capture of what the folder will hold.
    pub(super) to_come: ChunkId,
    /// The capture that is gone to.
    pub(super) target: ChunkId,
    /// What else has to stay: what is there now, and what was there last.
    pub(super) needed: Vec<ChunkId>,
}

impl Record {
    /// Stores it. It is not synced yet.
    pub(super) fn store(&self, chunks: &dyn Chunks, folder: &Path) -> Result<RestorePart> {
        let bytes = self.plan.encode();
        let mut list = ChunkList {
            len: bytes.len() as u64,
            chunks: Vec::new(),
        };
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

    /// Reads it.
    ///
    /// # Errors
    ///
    /// `Corrupt` where it is none; `NotFound` where a chunk of it is gone.
    pub(super) fn read(chunks: &dyn Chunks, begun: &RestoreBegun) -> Result<Self> {
        let wrong =
            |expected: &str| Error::corrupt(format!("restore {}", begun.restore), expected, "none");
        let part = begun.parts.iter().find(|part| part.participant == NAME);
        let part = part.ok_or_else(|| wrong("a part for a workspace"))?;
        let mut bytes = Vec::new();
        for id in &part.plan.chunks {
            bytes.extend_from_slice(&chunks.get(id)?);
        }
        let plan = RestorePlan::decode(&bytes)?;
        let note = part.note.as_ref().map(Json::value).transpose()?;
        let number = |key: &str| {
            let value = note
                .as_ref()
                .and_then(|note| note.get(key)?.as_str()?.parse().ok());
            value.ok_or_else(|| wrong("the folder's device and inode"))
        };
        let [to_come, target, needed @ ..] = part.roots.as_slice() else {
            return Err(wrong("captures"));
        };
        Ok(Self {
            plan,
            folder: (number("device")?, number("inode")?),
            to_come: *to_come,
            target: *target,
            needed: needed.to_vec(),
        })
    }
}

/// Whether a restore is of a folder.
pub(super) fn is_of(begun: &RestoreBegun, folder: &Path) -> bool {
    let of = |part: &RestorePart| part.participant == NAME && part.place == place(folder);
    begun.parts.iter().any(of)
}

fn place(folder: &Path) -> Data {
    match folder.to_str() {
        Some(text) => Data::Json(Json::string(text)),
        None => Data::Bytes(folder.as_os_str().as_bytes().to_vec()),
    }
}
