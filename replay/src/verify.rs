//! Verification of a range: recomputes the chain over its records.

use milepost_codec::{Chain, Error, Hash, Head, Offset, RecordRef, Result, SectionRef};

/// Computes the chain hashes of a range, section after section, from a trusted head.
///
/// The result proves nothing alone: compare the final head with a known one (of the next block, a
/// checkpoint or an anchor).
///
/// # Example
///
/// ```
/// use milepost_codec::{BodyForm, Chain, Head, LineageId, LogId, Origin, Salts, SectionRef, Seed};
/// use milepost_codec::{TaskNo, encode_record};
/// use milepost_replay::Verifier;
///
/// let chain = Chain::new(Origin([1; 16]), LogId::lineage(TaskNo(1), LineageId(0)));
/// let mut records = Vec::new();
/// encode_record(&mut records, b"header", BodyForm::Inline, b"body");
/// let salts = Salts::Seeded(Seed([2; 16]), 0);
/// let section = SectionRef { seq: 1, salts, count: 1, records: &records };
///
/// let mut verifier = Verifier::new(chain, Head { next: 0, hash: chain.root() });
/// verifier.section(0, &section)?;
/// assert_eq!(verifier.head().next, 1);
/// # Ok::<(), milepost_codec::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Verifier {
    chain: Chain,
    head: Head,
}

impl Verifier {
    /// Starts at `start`.
    pub fn new(chain: Chain, start: Head) -> Self {
        Self { chain, head: start }
    }

    /// Adds the next section. Its first record is at `first`.
    ///
    /// # Errors
    ///
    /// `Corrupt`: `first` is not the next offset, or the section is damaged. The head does not
    /// change.
    pub fn section(&mut self, first: Offset, section: &SectionRef<'_>) -> Result<()> {
        self.section_with(first, section, &mut |_, _, _, _| Ok(()))
    }

    /// Adds the next section. Calls `on_record` with the offset of each record, the record, and the
    /// chain hashes before and after it.
    ///
    /// # Errors
    ///
    /// As [`Verifier::section`], and errors of `on_record`.
    pub fn section_with(
        &mut self,
        first: Offset,
        section: &SectionRef<'_>,
        on_record: &mut dyn FnMut(Offset, &RecordRef<'_>, &Hash, &Hash) -> Result<()>,
    ) -> Result<()> {
        let mut head = self.head;
        if first != head.next {
            let expected = format!("a section at offset {}", head.next);
            return Err(Error::corrupt("chain", expected, format!("one at {first}")));
        }
        for (index, record) in (0_u32..).zip(section.iter()) {
            let offset = head.next;
            let at = |e: Error| e.at(format_args!("offset {offset}"));
            let record = record.map_err(at)?;
            let body = record.body_hash(&section.salt(index)).map_err(at)?;
            let after = self.chain.next(offset, &head.hash, record.header, &body);
            on_record(offset, &record, &head.hash, &after)?;
            let next = offset.checked_add(1);
            let next = next.ok_or_else(|| Error::corrupt("chain", "an offset", "the last one"))?;
            head = Head { next, hash: after };
        }
        self.head = head;
        Ok(())
    }

    /// Returns the head after the last added section.
    pub fn head(&self) -> Head {
        self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use milepost_codec::{
        BodyForm, ErrorKind, LineageId, LogId, Origin, Salts, Seed, TaskNo, encode_record,
    };

    fn chain() -> Chain {
        Chain::new(Origin([1; 16]), LogId::lineage(TaskNo(1), LineageId(0)))
    }

    fn records() -> Vec<u8> {
        let mut out = Vec::new();
        for n in 0..3_u8 {
            encode_record(&mut out, &[n; 5], BodyForm::Inline, &[n; 9]);
        }
        out
    }

    fn section(records: &[u8]) -> SectionRef<'_> {
        SectionRef { seq: 1, salts: Salts::Seeded(Seed([2; 16]), 0), count: 3, records }
    }

    fn head_of(records: &[u8]) -> Result<Head> {
        let mut verifier = Verifier::new(chain(), Head { next: 0, hash: chain().root() });
        verifier.section(0, &section(records))?;
        Ok(verifier.head())
    }

    #[test]
    fn hashes_before_and_after_each_record_form_a_chain() {
        let bytes = records();
        let mut verifier = Verifier::new(chain(), Head { next: 0, hash: chain().root() });
        let (mut last, mut offsets) = (chain().root(), Vec::new());
        let mut on_record = |offset: Offset, _: &RecordRef<'_>, before: &Hash, after: &Hash| {
            assert_eq!(*before, last);
            last = *after;
            offsets.push(offset);
            Ok(())
        };
        verifier.section_with(0, &section(&bytes), &mut on_record).unwrap();
        assert_eq!(offsets, [0, 1, 2]);
        assert_eq!(verifier.head(), Head { next: 3, hash: last });
    }

    #[test]
    fn a_gap_or_an_overlap_is_corrupt_and_moves_nothing() {
        let bytes = records();
        let start = Head { next: 7, hash: chain().root() };
        let mut verifier = Verifier::new(chain(), start);
        for first in [6, 8] {
            let error = verifier.section(first, &section(&bytes)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert_eq!(verifier.head(), start);
        }
        assert!(verifier.section(7, &section(&bytes)).is_ok());
    }

    #[test]
    fn the_last_offset_is_an_error_and_no_panic() {
        let bytes = records();
        let mut verifier = Verifier::new(chain(), Head { next: u64::MAX, hash: chain().root() });
        assert!(verifier.section(u64::MAX, &section(&bytes)).is_err());
    }

    #[test]
    fn any_changed_bit_of_a_record_is_found() {
        let good = records();
        let expected = head_of(&good).unwrap();
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                assert_ne!(head_of(&bad).ok(), Some(expected), "byte {at} bit {bit}");
            }
        }
    }

    #[test]
    fn an_erased_body_keeps_the_chain() {
        let good = records();
        let full = section(&good);
        let mut erased = Vec::new();
        for (n, record) in (0_u32..).zip(full.iter()) {
            let record = record.unwrap();
            let body = record.body_hash(&full.salt(n)).unwrap();
            let (form, payload) = match n {
                1 => (BodyForm::Erased, &body.0[..]),
                _ => (record.form, record.payload),
            };
            encode_record(&mut erased, record.header, form, payload);
        }
        assert_eq!(head_of(&erased).unwrap(), head_of(&good).unwrap());
    }
}
