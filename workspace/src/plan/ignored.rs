//! Paths that exist in the folder, and that captures leave out.

// tidy: one structure

use milepost_codec::{Item, PathBytes, Skip, SkipReason, TreePath};

/// Paths left out, in order.
#[derive(Clone, Copy)]
pub(crate) struct SkippedPaths<'a>(pub(crate) &'a [Skip]);

impl<'a> SkippedPaths<'a> {
    /// Returns the skip at a path.
    pub(super) fn at(self, path: &TreePath) -> Option<&'a Skip> {
        let here = |skip: &&Skip| skip.path.as_bytes() == path.as_bytes();
        self.from(path.as_bytes()).take_while(here).find(is_out)
    }

    /// Returns the first skip at or below a folder.
    pub(super) fn in_folder(self, path: &TreePath) -> Option<&'a Skip> {
        let path = path.as_bytes();
        let here_or_below = |skip: &&Skip| {
            let rest = skip.path.as_bytes().strip_prefix(path);
            rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
        };
        self.from(path).take_while(here_or_below).find(is_out)
    }

    /// Returns `true` if an item has the size of the file that was left out at its path.
    pub(super) fn has_size_of(self, path: &TreePath, item: &Item) -> bool {
        let skip = self.at(path).filter(|skip| is_by_size(skip));
        skip.is_some_and(|skip| item.kind.file_len() == Some(skip.size))
    }

    /// Returns `true` if a path, or a folder above it, was left out.
    pub(crate) fn covers(self, path: &TreePath) -> bool {
        let mut up = Some(path.clone());
        std::iter::from_fn(|| {
            let here = up.take()?;
            up = here.parent();
            Some(here)
        })
        .any(|path| self.at(&path).is_some())
    }

    fn from(self, path: &[u8]) -> impl Iterator<Item = &'a Skip> + use<'a> {
        let start = PathBytes::from(path);
        let first = self.0.partition_point(|skip| skip.path < start);
        self.0.get(first..).unwrap_or_default().iter()
    }
}

/// Returns `true` for a file that was left out by its size.
pub(crate) fn is_by_size(skip: &Skip) -> bool {
    matches!(skip.reason, SkipReason::Large | SkipReason::Limit)
}

/// Returns `true` if the path was not captured. Unstable files were.
fn is_out(skip: &&Skip) -> bool {
    skip.reason != SkipReason::Unstable
}
