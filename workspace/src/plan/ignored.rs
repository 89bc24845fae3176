//! Paths that exist in the folder, and that captures leave out.

// tidy: one structure

use milepost_codec::{PathBytes, Skip, SkipReason, TreePath};

/// Paths left out, in order.
#[derive(Clone, Copy)]
pub(super) struct SkippedPaths<'a>(pub(super) &'a [Skip]);

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

    fn from(self, path: &[u8]) -> impl Iterator<Item = &'a Skip> + use<'a> {
        let start = PathBytes::from(path);
        let first = self.0.partition_point(|skip| skip.path < start);
        self.0.get(first..).unwrap_or_default().iter()
    }
}

/// Returns `true` if the path was not captured. Unstable files were.
fn is_out(skip: &&Skip) -> bool {
    skip.reason != SkipReason::Unstable
}
