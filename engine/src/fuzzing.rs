//! Entry points of the fuzz targets. Not part of the interface.

use std::path::Path;

use milepost_codec::{Result, StoreId};

/// Counts the frames of a journal segment.
///
/// # Errors
///
/// Those of reading the file.
pub fn survey_segment(path: &Path, store: StoreId) -> Result<usize> {
    milepost_store::local::survey_segment(path, store)
}

/// Reads an archive file to its end and returns the number of its frames.
///
/// # Errors
///
/// `Corrupt`: the file is damaged.
pub fn read_archive(path: &Path, store: StoreId) -> Result<u64> {
    milepost_store::local::read_archive(path, store)
}
