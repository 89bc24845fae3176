//! Comparison of sled's entries with their digests, and of blocks with their hashes: sled loses
//! entries without an error if its files are damaged, or if a read fails during its opening.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use milepost_codec::{Error, Result, StoreKey};
use parking_lot::Mutex;

use crate::digest::{Digest, DigestPart};
use crate::index::keys::{self, KeyKind};
use crate::local::index::kv::Kv;
use crate::local::location::Location;
use crate::local::markers::applied::AppliedPosition;

/// The parts that were compared since sled was opened.
#[derive(Debug)]
pub(crate) struct CheckedParts {
    index: AtomicBool,
    keys: AtomicBool,
    blocks: AtomicBool,
}

impl CheckedParts {
    pub(crate) fn new(all: bool) -> Self {
        let part = || AtomicBool::new(all);
        Self { index: part(), keys: part(), blocks: part() }
    }

    fn of(&self, part: DigestPart) -> &AtomicBool {
        match part {
            DigestPart::Index => &self.index,
            DigestPart::Keys => &self.keys,
            DigestPart::Blocks => &self.blocks,
        }
    }

    /// Compares the entries of a part in `kv` with the digests of the position, unless that was
    /// done. `Corrupt`: they differ.
    pub(crate) fn check(
        &self,
        part: DigestPart,
        kv: &Kv,
        position: &Mutex<AppliedPosition>,
        key: Option<&StoreKey>,
    ) -> Result<()> {
        let audited = self.of(part);
        if audited.load(Ordering::Acquire) {
            return Ok(());
        }
        // The lock keeps the applier out.
        let position = position.lock();
        // Another thread may have checked the part first.
        if audited.load(Ordering::Acquire) {
            return Ok(());
        }
        let expected = position.digests.of(part);
        let mut found = Digest::default();
        for prefix in part.prefixes() {
            let add = &mut |key: &[u8], value: &[u8]| found.add(key, value);
            kv.walk(&prefix, add)?;
        }
        if found != expected {
            let (expected, found) = (expected.count(), found.count());
            return Err(Error::corrupt(
                "sled",
                format!("the {expected} entries that were put into it"),
                format!("{found} entries, not all the same"),
            ));
        }
        if part == DigestPart::Blocks {
            check_blocks(kv, key)?;
        }
        audited.store(true, Ordering::Release);
        Ok(())
    }
}

/// Compares the blocks that sled names with their hashes.
fn check_blocks(kv: &Kv, key: Option<&StoreKey>) -> Result<()> {
    let files = kv.blocks()?;
    let mut places = BTreeSet::new();
    let mut unread = Ok(());
    kv.walk(&keys::all(KeyKind::Block), &mut |_, value| match Location::decode(value) {
        Ok(place) => drop(places.insert(place.entry())),
        Err(error) => unread = Err(error),
    })?;
    unread?;
    places.into_iter().try_for_each(|place| files.check(place, key))
}
