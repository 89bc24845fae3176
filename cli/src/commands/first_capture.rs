//! The note about what the default list left out of a capture, and its size.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use milepost::{Engine, Hash, Result};
use milepost_workspace::{PathBytes, SkipReason, Snapshot};

use crate::backend::folders::place;
use crate::output::{count, note, printable, size};

/// Most entries to add up; a larger folder is at least as large as its first ones.
const ENTRIES_MAX: u32 = 200_000;

/// Most paths to name.
const SHOWN: usize = 5;

/// Prints what a capture left out by the default list, unless it left out nothing so, or the
/// capture before did too.
pub fn tell(engine: &Engine, before: Option<Hash>, root: Hash, folder: &Path) -> Result<()> {
    let paths = by_default(&Snapshot::of(engine, root)?)?;
    if paths.is_empty() {
        return Ok(());
    }
    if let Some(before) = before
        && !by_default(&Snapshot::of(engine, before)?)?.is_empty()
    {
        return Ok(());
    }
    let mut budget = ENTRIES_MAX;
    let mut sized: Vec<(u64, String)> = paths
        .iter()
        .map(|path| {
            let bytes = bytes_below(folder.join(place(path)), &mut budget);
            (bytes, printable(&path.to_string()).into_owned())
        })
        .collect();
    sized.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let total = sized.iter().map(|(bytes, _)| bytes).sum();
    let mut named: Vec<String> = sized
        .iter()
        .take(SHOWN)
        .map(|(bytes, path)| format!("{path} ({})", size(*bytes)))
        .collect();
    if let Some(more) = sized.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        named.push(format!("{more} more"));
    }
    let at_least = if budget == 0 { "at least " } else { "" };
    note(&format!(
        "left out by default: {}, {at_least}{}: {}; `!NAME` in .milepostignore or \
         --no-default-ignores includes them",
        count(sized.len() as u64, "path"),
        size(total),
        named.join(", ")
    ));
    Ok(())
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
        // What cannot be read has no size that anyone could restore.
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
