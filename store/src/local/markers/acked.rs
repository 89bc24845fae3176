//! The witness of what was acknowledged: written in place after each commit, without a sync.

use std::fs;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use milepost_codec::{AckWatermark, Result, Seq, StoreId};

use crate::files;

/// The file that names the last commit that was acknowledged.
#[derive(Debug)]
pub(crate) struct AckMarker {
    file: File,
    store: StoreId,
}

impl AckMarker {
    /// Opens the witness. It is written whole and synced first, so that writing in place later
    /// needs no room and changes no metadata.
    pub(crate) fn open(path: &Path, store: StoreId, seq: Seq) -> Result<Self> {
        let witness = AckWatermark { store, seq };
        if fs::read(path).ok().as_deref() != Some(&witness.encode()) {
            files::write_whole(path, &witness.encode())?;
        }
        let file = files::open_rw(path)?;
        Ok(Self { file, store })
    }

    /// What it says; nothing where it is missing or damaged.
    pub(crate) fn read(path: &Path, store: StoreId) -> Option<Seq> {
        let acked = AckWatermark::decode(&fs::read(path).ok()?).ok()?;
        (acked.store == store).then_some(acked.seq)
    }

    /// Takes note of a commit that is durable. A failure costs a witness, not the commit.
    pub(crate) fn note(&self, seq: Seq) {
        let acked = AckWatermark { store: self.store, seq };
        let _ = self.file.write_all_at(&acked.encode(), 0);
    }
}
