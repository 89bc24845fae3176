//! Authors of the changes since the target of a restore, path by path.

use std::collections::BTreeMap;

use milepost::Result;
use milepost_codec::{ChunkId, Item, Skip, TreePath};

use super::ConflictWhy;
use super::ignored::SkippedPaths;
use crate::chunks::Contents;
use crate::tree::{Budget, same, side_by_side};

/// Author of the changes between two captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    /// The run, in a call of a tool.
    Run,
    /// Others: the user, an editor, another program.
    Others,
    /// Not known.
    Unknown,
}

/// Treatment of a changed path in a restore that leaves the changes of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Only the run changed the path: it is restored.
    Restore,
    /// Only others changed the path: it stays.
    Leave,
    /// The caller decides.
    Ask(ConflictWhy),
}

/// A tree with the counts of its capture, which bound it; a tree that was just scanned has none.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    pub(crate) tree: ChunkId,
    pub(crate) budget: Option<Budget>,
    /// Files that the capture left out by their size, in order.
    pub(crate) by_size: Vec<Skip>,
}

/// Authors of the changed paths.
#[derive(Debug, Default)]
pub(crate) struct Authors {
    paths: BTreeMap<TreePath, Changed>,
    /// `true` if the authors of all paths are unknown.
    all_unknown: bool,
}

/// A path that changed since the target.
#[derive(Debug)]
struct Changed {
    /// The item in the target.
    target: Option<Item>,
    authors: AuthorSet,
}

/// Authors of a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct AuthorSet {
    run: bool,
    others: bool,
    unknown: bool,
}

impl Authors {
    /// Declares the authors of all paths unknown.
    pub(crate) fn forget(&mut self) {
        self.all_unknown = true;
    }

    /// Adds the changes between two trees that follow each other, each with its author.
    ///
    /// # Errors
    ///
    /// `NotFound` and `Corrupt`: a folder of one of them cannot be read. Then the authors of some
    /// paths are missing.
    pub(crate) fn add(
        &mut self,
        contents: &dyn Contents,
        before: &Counted,
        after: &Counted,
        author: &dyn Fn(&TreePath) -> Author,
    ) -> Result<()> {
        let trees = [Some(before.tree), Some(after.tree)];
        let mut budgets = [before.budget.clone(), after.budget.clone()];
        let before_sizes = SkippedPaths(&before.by_size);
        side_by_side(contents, trees, &mut |path, items| {
            for (budget, item) in budgets.iter_mut().zip(items) {
                if let (Some(budget), Some(item)) = (budget, item) {
                    budget.take(item)?;
                }
            }
            let [before, after] = items;
            // A file that was left out by its size, and is in the next capture with that size.
            let is_as_left_out = before.is_none()
                && after.as_ref().is_some_and(|item| before_sizes.has_size_of(path, item));
            if !is_as_left_out && !is_equal(before.as_ref(), after.as_ref()) {
                self.change(path, before.as_ref(), after.as_ref(), author(path));
            }
            Ok(())
        })?;
        // A file that both left out, with another size.
        for skip in &after.by_size {
            let sized = |before: &&Skip| before.path == skip.path && before.size != skip.size;
            let path = before
                .by_size
                .iter()
                .find(sized)
                .and_then(|_| TreePath::new(skip.path.as_bytes()).ok());
            if let Some(path) = path.filter(|path| self.paths.contains_key(path)) {
                self.change(&path, None, None, author(&path));
            }
        }
        Ok(())
    }

    fn change(
        &mut self,
        path: &TreePath,
        before: Option<&Item>,
        after: Option<&Item>,
        author: Author,
    ) {
        // The first change begins with the target's content.
        let changed = self
            .paths
            .entry(path.clone())
            .or_insert_with(|| Changed { target: before.cloned(), authors: AuthorSet::default() });
        if is_equal(changed.target.as_ref(), after) {
            changed.authors = AuthorSet::default();
            return;
        }
        let authors = &mut changed.authors;
        match author {
            Author::Run => authors.run = true,
            Author::Others => authors.others = true,
            Author::Unknown => authors.unknown = true,
        }
    }

    /// Returns the treatment of a path that differs from the target.
    pub(super) fn treatment(&self, path: &TreePath) -> Treatment {
        let authors = self.paths.get(path).map(|changed| changed.authors).unwrap_or_default();
        match authors {
            _ if self.all_unknown => Treatment::Ask(ConflictWhy::AuthorUnknown),
            AuthorSet { run: true, others: false, unknown: false } => Treatment::Restore,
            AuthorSet { run: false, others: true, unknown: false } => Treatment::Leave,
            AuthorSet { run: true, others: true, unknown: false } => {
                Treatment::Ask(ConflictWhy::Outside)
            }
            // A difference without a recorded change has no known author either.
            _ => Treatment::Ask(ConflictWhy::AuthorUnknown),
        }
    }

    /// Returns `true` if the author of a change below a path may be another one than others.
    pub(super) fn are_needed_below(&self, path: &TreePath) -> bool {
        let is_needed = |changed: &Changed| changed.authors.run || changed.authors.unknown;
        let mut below = self.paths.iter().filter(|(at, _)| *at != path && at.is_in(path));
        self.all_unknown || below.any(|(_, changed)| is_needed(changed))
    }
}

/// Returns `true` if two items are equal, apart from the contents of folders, whose paths have
/// authors of their own.
fn is_equal(a: Option<&Item>, b: Option<&Item>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) if a.kind.is_directory() && b.kind.is_directory() => a.mode == b.mode,
        (Some(a), Some(b)) => same(a, b),
        _ => false,
    }
}
