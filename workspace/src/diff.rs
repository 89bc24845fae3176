//! Differences between two captures.

use std::collections::{BTreeMap, HashMap, HashSet};

use milepost::{Error, Hash, Result};
use milepost_codec::{ChunkId, EntryKind, Item, Name, TreePath};

use crate::chunks::Chunks;
use crate::plan::SkippedPaths;
use crate::snapshot::{Snapshot, SnapshotEntry};
use crate::tree::{self, side_by_side};

/// A path that is in both captures and differs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileChange {
    /// Path in both captures.
    pub path: TreePath,
    /// Entry in the earlier capture.
    pub before: Item,
    /// Entry in the later capture.
    pub after: Item,
}

/// A renamed or moved file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Renamed {
    /// Entry in the earlier capture.
    pub from: SnapshotEntry,
    /// Entry in the later capture; its content may differ.
    pub to: SnapshotEntry,
}

/// Differences between two captures, each list in order of paths. An added or removed folder is
/// listed with all its contents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileChanges {
    /// Only in the later capture.
    pub added: Vec<SnapshotEntry>,
    /// Only in the earlier capture.
    pub removed: Vec<SnapshotEntry>,
    /// In both, with another content, target or kind.
    pub changed: Vec<FileChange>,
    /// In both, with only the permission bits changed.
    pub modes: Vec<FileChange>,
    /// Only in the earlier capture: the later one found the path and left it out.
    pub left_out: Vec<SnapshotEntry>,
    /// Only in the later capture: the earlier one found the path and left it out.
    pub taken_in: Vec<SnapshotEntry>,
    /// Removed files paired with added ones of the same content, or of the same name and half the
    /// chunks.
    pub renamed: Vec<Renamed>,
}

impl FileChanges {
    /// Returns `true` if the captures are equal.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Snapshot {
    /// Returns the differences to `other`, the later capture.
    ///
    /// # Errors
    ///
    /// `NotFound` and `Corrupt`: a folder of one of them cannot be read.
    pub fn diff(&self, other: &Self) -> Result<FileChanges> {
        between(self, other)
    }

    /// Returns the number of files and links that differ from those of `other`: by content,
    /// permission bits or kind, or because only one of the two has them. Equal folders are not
    /// read, and the count ends at `at_most`.
    ///
    /// # Errors
    ///
    /// `NotFound` and `Corrupt`: a folder of one of them cannot be read.
    pub fn count_differences(&self, other: &Self, at_most: u64) -> Result<u64> {
        let mut found = 0;
        if self.tree() == other.tree() {
            return Ok(found);
        }
        let trees = [Some(self.tree()), Some(other.tree())];
        let mut budgets = [self.budget(), other.budget()];
        let counted = side_by_side(&**self.chunks(), trees, &mut |_, items| {
            for (budget, item) in budgets.iter_mut().zip(items) {
                item.iter().try_for_each(|item| budget.take(item))?;
            }
            let is_file = |item: &Item| !item.kind.is_directory();
            found += u64::from(items.iter().flatten().any(is_file));
            // The error only ends the comparison.
            if found < at_most { Ok(()) } else { Err(Error::invalid("enough differences")) }
        });
        match counted {
            Err(error) if found < at_most => Err(error),
            _ => Ok(found),
        }
    }
}

fn between(before: &Snapshot, after: &Snapshot) -> Result<FileChanges> {
    let mut changes = FileChanges::default();
    let chunks = &**before.chunks();
    let trees = [Some(before.tree()), Some(after.tree())];
    let mut budgets = [before.budget(), after.budget()];
    side_by_side(chunks, trees, &mut |path, [before, after]| {
        for (budget, item) in budgets.iter_mut().zip([before, after]) {
            item.iter().try_for_each(|item| budget.take(item))?;
        }
        let path = path.clone();
        match (before.clone(), after.clone()) {
            (None, Some(item)) => changes.added.push(SnapshotEntry { path, item }),
            (Some(item), None) => changes.removed.push(SnapshotEntry { path, item }),
            (Some(before), Some(after)) => {
                let change =
                    |path| FileChange { path, before: before.clone(), after: after.clone() };
                if !same_content(&before, &after) {
                    changes.changed.push(change(path));
                } else if before.mode != after.mode {
                    changes.modes.push(change(path));
                }
            }
            (None, None) => {}
        }
        Ok(())
    })?;
    changes.left_out = move_covered(&mut changes.removed, after)?;
    changes.taken_in = move_covered(&mut changes.added, before)?;
    rename(&mut changes, chunks)?;
    Ok(changes)
}

/// Removes the entries from a list whose path, or a folder above it, the other capture left out.
fn move_covered(entries: &mut Vec<SnapshotEntry>, other: &Snapshot) -> Result<Vec<SnapshotEntry>> {
    if entries.is_empty() || other.info().skipped == 0 {
        return Ok(Vec::new());
    }
    let skips = other.skips().collect::<Result<Vec<_>>>()?;
    let skips = SkippedPaths(&skips);
    let (out, rest) = entries.drain(..).partition(|entry| skips.covers(&entry.path));
    *entries = rest;
    Ok(out)
}

/// Returns `true` if both items have the same content. Entries of folders are compared path by
/// path.
fn same_content(a: &Item, b: &Item) -> bool {
    match (&a.kind, &b.kind) {
        (EntryKind::Directory { .. }, EntryKind::Directory { .. }) => true,
        (EntryKind::Link { target: a }, EntryKind::Link { target: b }) => a == b,
        (a, b) => a.is_file() && a.file_hash() == b.file_hash(),
    }
}

/// Moves pairs of removed and added files to the renamed ones.
fn rename(changes: &mut FileChanges, chunks: &dyn Chunks) -> Result<()> {
    let mut removed: Vec<Option<SnapshotEntry>> = changes.removed.drain(..).map(Some).collect();
    let mut added: Vec<Option<SnapshotEntry>> = changes.added.drain(..).map(Some).collect();
    // Empty files are not paired: all of them are equal.
    let hash_of = |entry: &SnapshotEntry| {
        let kind = &entry.item.kind;
        kind.file_hash().filter(|_| kind.file_len() > Some(0))
    };
    let mut by_hash: HashMap<Hash, Vec<usize>> = HashMap::new();
    for (at, entry) in removed.iter().enumerate().rev() {
        if let Some(hash) = entry.as_ref().and_then(hash_of) {
            by_hash.entry(hash).or_default().push(at);
        }
    }
    let mut renamed: BTreeMap<TreePath, Renamed> = BTreeMap::new();
    let mut pair = |from: &mut Option<SnapshotEntry>, to: &mut Option<SnapshotEntry>| {
        if let (Some(from), Some(to)) = (from.take(), to.take()) {
            renamed.insert(to.path.clone(), Renamed { from, to });
        }
    };
    for to in &mut added {
        let same = to.as_ref().and_then(hash_of).and_then(|hash| by_hash.get_mut(&hash));
        let from = same.and_then(Vec::pop).and_then(|at| removed.get_mut(at));
        if let Some(from) = from {
            pair(from, to);
        }
    }
    let mut by_name: HashMap<Name, Vec<usize>> = HashMap::new();
    for (at, entry) in removed.iter().enumerate().rev() {
        if let Some(entry) = entry.as_ref().filter(|entry| hash_of(entry).is_some()) {
            by_name.entry(entry.path.name()).or_default().push(at);
        }
    }
    for to in &mut added {
        let Some(new) = to.as_ref().filter(|to| hash_of(to).is_some()) else {
            continue;
        };
        for at in by_name.get(&new.path.name()).into_iter().flatten() {
            let Some(from) = removed.get_mut(*at) else {
                continue;
            };
            let Some(old) = from.as_ref() else {
                continue;
            };
            if shares_half(&old.item, &new.item, chunks)? {
                pair(from, to);
                break;
            }
        }
    }
    changes.removed = removed.into_iter().flatten().collect();
    changes.added = added.into_iter().flatten().collect();
    changes.renamed = renamed.into_values().collect();
    Ok(())
}

/// Returns `true` if the files share half of their chunks. Files of a single chunk never do:
/// different content is a different chunk.
fn shares_half(a: &Item, b: &Item, chunks: &dyn Chunks) -> Result<bool> {
    let (a, b) = (listed(a, chunks)?, listed(b, chunks)?);
    let shared = a.intersection(&b).count();
    Ok(shared > 0 && shared * 2 >= a.len().max(b.len()))
}

/// Returns the chunks of a file that has several.
fn listed(item: &Item, chunks: &dyn Chunks) -> Result<HashSet<ChunkId>> {
    if !matches!(item.kind, EntryKind::Listed { .. }) {
        return Ok(HashSet::new());
    }
    let parts = tree::parts(chunks, item)?;
    Ok(parts.iter().map(|part| part.id).collect())
}
