//! A folder being written. Its mode bits may forbid writing, so the thread that finishes its last
//! entry sets them, inner folders first.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use milepost::Result;
use milepost_codec::TreePath;

use crate::error;
use crate::fs::Dir;

/// A folder being written.
pub(super) struct Place {
    dir: Dir,
    /// Path and mode bits; `None` for the root.
    known: Option<(TreePath, u16)>,
    above: Option<Arc<Place>>,
    /// Remaining work: files, folders, and the walk.
    remaining: AtomicUsize,
    /// Counts open folders.
    open: Arc<()>,
}

impl Place {
    /// Returns the root of the checkout.
    pub(super) fn root(dir: Dir) -> Arc<Self> {
        Arc::new(Self {
            dir,
            known: None,
            above: None,
            remaining: AtomicUsize::new(1),
            open: Arc::new(()),
        })
    }

    /// Returns a new folder in this one.
    pub(super) fn inside(self: &Arc<Self>, dir: Dir, path: TreePath, bits: u16) -> Arc<Self> {
        Arc::new(Self {
            dir,
            known: Some((path, bits)),
            above: Some(self.one_more()),
            remaining: AtomicUsize::new(1),
            open: Arc::clone(&self.open),
        })
    }

    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Returns the path; `None` for the root.
    pub(super) fn path(&self) -> Option<&TreePath> {
        self.known.as_ref().map(|(path, _)| path)
    }

    /// Returns the number of open folders.
    pub(super) fn how_many(&self) -> usize {
        Arc::strong_count(&self.open)
    }

    /// Adds an entry to the remaining work.
    pub(super) fn one_more(self: &Arc<Self>) -> Arc<Self> {
        // The caller holds a reference of its own, so the count is not 0.
        self.remaining.fetch_add(1, Ordering::Relaxed);
        Arc::clone(self)
    }

    /// Ends an entry. The last one ends the folder, which is an entry of the folder above.
    pub(super) fn one_less(&self) -> Result<()> {
        let mut done = Some(self);
        // `AcqRel`: entries written by other threads precede the mode bits.
        while let Some(place) =
            done.filter(|done| done.remaining.fetch_sub(1, Ordering::AcqRel) == 1)
        {
            if let Some((path, bits)) = &place.known {
                let set = place.dir.set_bits(*bits);
                set.map_err(|e| error::below("close", path.as_bytes(), e))?;
            }
            done = place.above.as_deref();
        }
        Ok(())
    }
}
