//! What fuzz targets call that is not public otherwise. Not part of the interface.

use std::path::Path;

use milepost_codec::{Result, StoreId};

/// Finds the frames of a journal segment; gives how many.
///
/// # Errors
///
/// Those of reading the file.
pub fn survey_segment(path: &Path, store: StoreId) -> Result<usize> {
    milepost_store::local::survey_segment(path, store)
}

/// Reads an archive file to its end; gives how many frames it has.
///
/// # Errors
///
/// `Corrupt` where it is damaged.
pub fn read_archive(path: &Path, store: StoreId) -> Result<u64> {
    milepost_store::local::read_archive(path, store)
}
