//! The marker of the last acknowledged commit: written in place after each commit, without a sync.

use std::fs;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use milepost_codec::{AckWatermark, Result, Seq, StoreId};

use crate::files;

/// The file that names the last acknowledged commit.
#[derive(Debug)]
pub(crate) struct AckMarker {
    file: File,
    store: StoreId,
}

impl AckMarker {
    /// Opens the marker. The file is first written whole and synced, so that later writes in place
    /// need no space and change no metadata.
    pub(crate) fn open(path: &Path, store: StoreId, seq: Seq) -> Result<Self> {
        let witness = AckWatermark { store, seq };
        if fs::read(path).ok().as_deref() != Some(&witness.encode()) {
            files::write_whole(path, &witness.encode())?;
        }
        let file = files::open_rw(path)?;
        Ok(Self { file, store })
    }

    /// Returns the last acknowledged commit, or `None` if the marker is missing or damaged. A read
    /// that fails is an error: the opening writes the marker anew, which would hide a loss.
    pub(crate) fn read(path: &Path, store: StoreId) -> Result<Option<Seq>> {
        let bytes = match fs::read(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|e| files::io("read", path, &e))?,
        };
        let acked = AckWatermark::decode(&bytes).ok().filter(|acked| acked.store == store);
        Ok(acked.map(|acked| acked.seq))
    }

    /// Records a durable commit. A failure loses the marker, not the commit.
    pub(crate) fn note(&self, seq: Seq) {
        let acked = AckWatermark { store: self.store, seq };
        let _ = self.file.write_all_at(&acked.encode(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_that_cannot_be_read_is_an_error_and_a_missing_or_damaged_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (path, store) = (dir.path().join("acked"), StoreId([7; 16]));
        assert_eq!(AckMarker::read(&path, store).unwrap(), None);
        fs::write(&path, "torn").unwrap();
        assert_eq!(AckMarker::read(&path, store).unwrap(), None);
        AckMarker::open(&path, store, 7).unwrap();
        assert_eq!(AckMarker::read(&path, store).unwrap(), Some(7));
        fs::remove_file(&path).unwrap();
        // A folder exists, and cannot be read as a file.
        fs::create_dir(&path).unwrap();
        AckMarker::read(&path, store).unwrap_err();
    }
}
