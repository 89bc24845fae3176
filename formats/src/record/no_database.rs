//! Databases in a build without the feature `sqlite`: none is read.
// tidy: what takes the place of a folder

use std::path::Path;

use super::{Job, RecordReport};
use crate::error::{Error, Result};
use crate::format::Format;
use crate::progress::Progress;

/// Refuses a database.
pub(super) fn record(
    job: &Job<'_>,
    _format: Format,
    _path: Option<&Path>,
    _progress: &mut dyn Progress,
) -> Result<RecordReport> {
    let text = "is a SQLite database, and this program is built without the feature `sqlite`";
    Err(Error::invalid(format!("{} {text}", job.name)))
}

/// Returns no format: the tables of a database are not read.
pub(crate) fn format_of(_path: &Path) -> Option<Format> {
    None
}
