//! Paths that a capture left out by the default list or by their size.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use milepost::{Engine, Hash, Result};
use milepost_api::{Big, LeftOutForm, LeftOutPath};
use milepost_workspace::{PathBytes, SkipReason, Snapshot};

use crate::jobs::folder::place;

/// Most entries to add up; a larger folder is at least as large as its first ones.
const ENTRIES_MAX: u32 = 200_000;

/// Path of git's index in a repository.
const INDEX: &[u8] = b".git/index";

/// Most paths to name.
const LARGEST: usize = 5;

/// Most files over a limit to name.
const BY_SIZE: usize = 100;

/// Returns the paths that a capture left out by the default list or by their size, unless the
/// capture before did so. `None` without any.
pub(crate) fn of(
    engine: &Engine,
    before: Option<Hash>,
    root: Hash,
    folder: &Path,
) -> Result<Option<LeftOutForm>> {
    let now = Skipped::of(&Snapshot::of(engine, root)?)?;
    let before = match before {
        Some(before) => Skipped::of(&Snapshot::of(engine, before)?)?,
        None => Skipped::default(),
    };
    let paths = if before.by_default.is_empty() { now.by_default } else { Vec::new() };
    let mut by_size = now.by_size;
    by_size.retain(|path| before.by_size.iter().all(|had| had.path != path.path));
    let unread_index = now.unread_index && !before.unread_index;
    if paths.is_empty() && by_size.is_empty() && !unread_index {
        return Ok(None);
    }
    let mut budget = ENTRIES_MAX;
    let sized = paths.into_iter().map(|path| {
        let bytes = Big(bytes_below(folder.join(place(&path)), &mut budget));
        LeftOutPath { path, bytes }
    });
    let mut sized: Vec<LeftOutPath> = sized.collect();
    let bytes = sized.iter().fold(0_u64, |sum, path| sum.saturating_add(path.bytes.0));
    for list in [&mut sized, &mut by_size] {
        list.sort_by(|a, b| b.bytes.0.cmp(&a.bytes.0).then_with(|| a.path.cmp(&b.path)));
    }
    let (paths, bytes) = (Big(sized.len() as u64), Big(bytes));
    sized.truncate(LARGEST);
    by_size.truncate(BY_SIZE);
    let more = budget == 0;
    Ok(Some(LeftOutForm { paths, bytes, more, largest: sized, by_size, unread_index }))
}

/// Paths that a capture left out.
#[derive(Default)]
struct Skipped {
    by_default: Vec<PathBytes>,
    by_size: Vec<LeftOutPath>,
    unread_index: bool,
}

impl Skipped {
    fn of(capture: &Snapshot) -> Result<Self> {
        let mut skipped = Self::default();
        for skip in capture.skips() {
            let skip = skip?;
            match skip.reason {
                SkipReason::Default => skipped.by_default.push(skip.path),
                SkipReason::Large | SkipReason::Limit => {
                    let bytes = Big(skip.size);
                    skipped.by_size.push(LeftOutPath { path: skip.path, bytes });
                }
                SkipReason::Denied => {
                    skipped.unread_index |= skip.path.as_bytes().ends_with(INDEX);
                }
                _ => {}
            }
        }
        Ok(skipped)
    }
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
