//! Comparing sled's entries with their digests: it loses some without an error where its files are
//! damaged, or where a read fails while it is opened.

use std::sync::atomic::{AtomicBool, Ordering};

use milepost_codec::{Error, Result};

use crate::digest::{Digest, DigestPart};
use crate::local::inner::Inner;

/// Which parts have been looked through since sled was opened.
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
    /// Reads all entries of sled, each once for as long as it is open.
    pub(crate) fn audit_all(&self) -> Result<()> {
        DigestPart::ALL.into_iter().try_for_each(|part| self.audit(part))
    }

    /// Reads the entries of a part, where that has not been done since sled was opened. `Corrupt`
    /// where they are not those that were put into it.
    pub(crate) fn audit(&self, part: DigestPart) -> Result<()> {
        let audited = self.audited.of(part);
        if audited.load(Ordering::Acquire) {
            return Ok(());
        }
        // Nothing is applied meanwhile.
        let position = self.position.lock();
        // Whoever was first may have done it.
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
        audited.store(true, Ordering::Release);
        Ok(())
    }
}
