//! A folder that is written. Its bits may say that nobody writes to it, so they are set when all
//! that is in it is done, by whoever was last: what is inside before what it is in.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use milepost::Result;
use milepost_codec::TreePath;

use crate::error;
use crate::fs::Dir;

/// A folder that is written.
pub(super) struct Place {
    dir: Dir,
    /// Where it is, and the bits that it gets; nothing of the folder that all is written to.
    known: Option<(TreePath, u16)>,
    above: Option<Arc<Place>>,
    /// What is to be done in it: files, folders, and the walk through it.
    left: AtomicUsize,
    /// One for each that is open.
    open: Arc<()>,
}

impl Place {
    /// The folder that all is written to.
    pub(super) fn root(dir: Dir) -> Arc<Self> {
        Arc::new(Self {
            dir,
            known: None,
            above: None,
            left: AtomicUsize::new(1),
            open: Arc::new(()),
        })
    }

    /// A folder in it that was made.
    pub(super) fn inside(self: &Arc<Self>, dir: Dir, path: TreePath, bits: u16) -> Arc<Self> {
        Arc::new(Self {
            dir,
            known: Some((path, bits)),
            above: Some(self.one_more()),
            left: AtomicUsize::new(1),
            open: Arc::clone(&self.open),
        })
    }

    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Where it is; nothing of the folder that all is written to.
    pub(super) fn path(&self) -> Option<&TreePath> {
        self.known.as_ref().map(|(path, _)| path)
    }

    /// How many are open, all together.
    pub(super) fn how_many(&self) -> usize {
        Arc::strong_count(&self.open)
    }

    /// One thing more is to be done in it.
    pub(super) fn one_more(self: &Arc<Self>) -> Arc<Self> {
        // Who adds one holds one, so it is not done meanwhile.
        self.left.fetch_add(1, Ordering::Relaxed);
        Arc::clone(self)
    }

    /// One is done. With the last one it is itself, and is one that is done in the folder above.
    pub(super) fn one_less(&self) -> Result<()> {
        let mut done = Some(self);
        // What others wrote before theirs was done comes before the bits.
        while let Some(place) = done.filter(|done| done.left.fetch_sub(1, Ordering::AcqRel) == 1) {
            if let Some((path, bits)) = &place.known {
                let set = place.dir.set_bits(*bits);
                set.map_err(|e| error::below("close", path.as_bytes(), e))?;
            }
            done = place.above.as_deref();
        }
        Ok(())
    }
}
