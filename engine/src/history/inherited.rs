//! Index entries of a lineage and its ancestors, newest first.
//!
//! Keys of these entries are a prefix, a lineage, a middle part and an offset. Descendants have
//! higher numbers than their ancestors, so one backward scan over all lineages meets the entries in
//! order. At a lineage that is not an ancestor it seeks to the nearest ancestor below (leapfrog
//! join: Veldhuizen, "Leapfrog Triejoin", 2014). The cost thus depends on the number of entries and
//! not on the depth of the lineage.

use milepost_codec::{LineageId, Offset, Result};
use milepost_store::Log;
use milepost_store::index::keys;

use super::ancestry::{Ancestry, Span};

/// Entries of one scan.
const PAGE: usize = 8;

/// Callback for an entry: its lineage, offset, key and value. Returns `Some` to end the search.
pub(crate) type Take<'a, T> = dyn FnMut(LineageId, Offset, &[u8], &[u8]) -> Result<Option<T>> + 'a;

/// Search for entries in an ancestry.
pub(crate) struct Inherited<'a> {
    pub(crate) ancestry: &'a Ancestry,
    /// The key bytes before the lineage.
    pub(crate) prefix: &'a [u8],
    /// The key bytes between lineage and offset.
    pub(crate) middle: &'a [u8],
    /// The offset at which the search ends; with `inclusive`, an entry there counts. If so, an
    /// entry at the offset of a fork counts as one of the parent.
    pub(crate) before: Offset,
    pub(crate) inclusive: bool,
}

impl Inherited<'_> {
    /// Passes entries to `take`, newest first, until it returns `Some`.
    pub(crate) fn newest<T>(&self, log: &dyn Log, take: &mut Take<'_, T>) -> Result<Option<T>> {
        let mut end = match self.below(LineageId(u32::MAX)) {
            Some(span) => self.end_of(span),
            None => return Ok(None),
        };
        loop {
            let page = log.scan(self.prefix, &end, true, PAGE)?;
            if page.is_empty() {
                return Ok(None);
            }
            for (key, value) in page {
                end.clone_from(&key);
                let Some((lineage, middle, offset)) = self.split(&key) else {
                    return Ok(None);
                };
                let Some(span) = self.below(lineage) else {
                    return Ok(None);
                };
                let (owner, from, to) = span;
                if owner == lineage && middle == self.middle && (from..to).contains(&offset) {
                    if let Some(found) = take(lineage, offset, &key, &value)? {
                        return Ok(Some(found));
                    }
                    continue;
                }
                let passed = owner == lineage
                    && (middle < self.middle || (middle == self.middle && offset < from));
                let next = match passed {
                    true => lineage.0.checked_sub(1).and_then(|n| self.below(LineageId(n))),
                    false => Some(span),
                };
                match next {
                    Some(span) => end = self.end_of(span),
                    None => return Ok(None),
                }
                break;
            }
        }
    }

    /// Returns the nearest ancestor up to a number that holds an offset before the end of the
    /// search.
    fn below(&self, lineage: LineageId) -> Option<Span> {
        let mut span = self.ancestry.nearest(lineage)?;
        let last = self.before.checked_sub(u64::from(!self.inclusive))?;
        if span.1 > last {
            // Skips all owners of later offsets at once.
            span = self.ancestry.nearest(self.ancestry.owner(last)?)?;
        }
        let (owner, from, to) = span;
        let to = match self.inclusive {
            true => to.min(self.before).saturating_add(1),
            false => to.min(self.before),
        };
        Some((owner, from, to))
    }

    fn end_of(&self, (owner, _, to): Span) -> Vec<u8> {
        let mut key = self.prefix.to_vec();
        key.extend_from_slice(&owner.0.to_be_bytes());
        key.extend_from_slice(self.middle);
        keys::with_offset(&key, to)
    }

    fn split<'k>(&self, key: &'k [u8]) -> Option<(LineageId, &'k [u8], Offset)> {
        let rest = key.get(self.prefix.len()..)?;
        let (lineage, rest) = rest.split_first_chunk::<4>()?;
        let (middle, offset) = rest.split_last_chunk::<8>()?;
        let lineage = LineageId(u32::from_be_bytes(*lineage));
        Some((lineage, middle, u64::from_be_bytes(*offset)))
    }
}
