//! What captures left out of what is there now: it is there, and no tree says so.

use milepost_codec::{PathBytes, Skip, SkipReason, TreePath};

/// What was left out, in order of paths.
#[derive(Clone, Copy)]
pub(super) struct LeftOut<'a>(pub(super) &'a [Skip]);

impl<'a> LeftOut<'a> {
    /// What was left out at a path.
    pub(super) fn at(self, path: &TreePath) -> Option<&'a Skip> {
        let here = |skip: &&Skip| skip.path.as_bytes() == path.as_bytes();
        self.from(path.as_bytes()).take_while(here).find(is_out)
    }

    /// The first that was left out of a folder, or the folder itself.
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

/// What is unstable was taken all the same.
fn is_out(skip: &&Skip) -> bool {
    skip.reason != SkipReason::Unstable
}
