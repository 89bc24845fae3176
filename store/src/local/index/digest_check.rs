//! Comparison of sled's entries with their digests, and of blocks with their hashes: sled loses
//! entries without an error if its files are damaged, or if a read fails during its opening.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use milepost_codec::{Error, Result};

use crate::digest::{Digest, DigestPart};
use crate::index::keys;
use crate::index::keys::KeyKind;
use crate::local::inner::Inner;
use crate::local::location::Location;

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
}

impl Inner {
    /// Checks all entries of sled, each part once per opening.
    pub(crate) fn audit_all(&self) -> Result<()> {
        DigestPart::ALL.into_iter().try_for_each(|part| self.audit(part))
    }

    /// Checks the entries of a part, unless that was done since sled was opened. `Corrupt`: they
    /// differ from the entries that were written.
    pub(crate) fn audit(&self, part: DigestPart) -> Result<()> {
        let audited = self.audited.of(part);
        if audited.load(Ordering::Acquire) {
            return Ok(());
        }
        // The lock keeps the applier out.
        let position = self.position.lock();
        // Another thread may have checked the part first.
        if audited.load(Ordering::Acquire) {
            return Ok(());
        }
        let expected = position.digests.of(part);
        let mut found = Digest::default();
        for prefix in part.prefixes() {
            let add = &mut |key: &[u8], value: &[u8]| found.add(key, value);
            self.kv.walk(&prefix, add)?;
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
            self.audit_blocks()?;
        }
        audited.store(true, Ordering::Release);
        Ok(())
    }

    /// Compares the blocks that sled names with their hashes.
    fn audit_blocks(&self) -> Result<()> {
        let files = self.kv.blocks()?;
        let mut places = BTreeSet::new();
        let mut unread = Ok(());
        self.kv.walk(
            &keys::all(KeyKind::Block),
            &mut |_, value| match Location::decode(value) {
                Ok(place) => drop(places.insert(place.entry())),
                Err(error) => unread = Err(error),
            },
        )?;
        unread?;
        places.into_iter().try_for_each(|place| files.check(place, self.key.as_ref()))
    }
}
