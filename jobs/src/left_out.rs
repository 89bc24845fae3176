//! Paths that the default list left out of a capture, with their sizes.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use milepost::{Engine, Hash, Result};
use milepost_api::{Big, LeftOutForm, LeftOutPath};
use milepost_workspace::{PathBytes, SkipReason, Snapshot};

use crate::folder::place;

/// Most entries to add up; a larger folder is at least as large as its first ones.
const ENTRIES_MAX: u32 = 200_000;

/// Most paths to name.
const LARGEST: usize = 5;

/// Returns the paths that the default list left out of a capture. `None` if it left out nothing, or
/// if the capture before had such paths too.
pub(crate) fn of(
    engine: &Engine,
    before: Option<Hash>,
    root: Hash,
    folder: &Path,
) -> Result<Option<LeftOutForm>> {
    let paths = by_default(&Snapshot::of(engine, root)?)?;
    if paths.is_empty() {
        return Ok(None);
    }
    if let Some(before) = before
        && !by_default(&Snapshot::of(engine, before)?)?.is_empty()
    {
        return Ok(None);
    }
    let mut budget = ENTRIES_MAX;
    let sized = paths.into_iter().map(|path| {
        let bytes = Big(bytes_below(folder.join(place(&path)), &mut budget));
        LeftOutPath { path, bytes }
    });
    let mut sized: Vec<LeftOutPath> = sized.collect();
    let bytes = sized.iter().fold(0_u64, |sum, path| sum.saturating_add(path.bytes.0));
    sized.sort_by(|a, b| b.bytes.0.cmp(&a.bytes.0).then_with(|| a.path.cmp(&b.path)));
    let paths = Big(sized.len() as u64);
    sized.truncate(LARGEST);
    Ok(Some(LeftOutForm { paths, bytes: Big(bytes), more: budget == 0, largest: sized }))
}

/// Returns the paths that a capture left out by the default list.
fn by_default(capture: &Snapshot) -> Result<Vec<PathBytes>> {
    let mut paths = Vec::new();
    for skip in capture.skips() {
        let skip = skip?;
        if skip.reason == SkipReason::Default {
            paths.push(skip.path);
        }
    }
    Ok(paths)
}

/// Returns the size of a file, or of the files in a folder.
fn bytes_below(path: PathBuf, budget: &mut u32) -> u64 {
    let (mut total, mut stack) = (0_u64, vec![path]);
    while let Some(path) = stack.pop() {
        let Some(left) = budget.checked_sub(1) else {
            break;
        };
        *budget = left;
        // An entry that cannot be read has no size that anyone could restore.
        let Ok(metadata) = path.symlink_metadata() else {
            continue;
        };
        if metadata.is_dir() {
            let names = std::fs::read_dir(&path).into_iter().flatten().flatten();
            let left = usize::try_from(*budget).unwrap_or(usize::MAX);
            stack.extend(names.take(left).map(|entry| entry.path()));
        }
        total = total.saturating_add(if Metadata::is_file(&metadata) { metadata.len() } else { 0 });
    }
    total
}
