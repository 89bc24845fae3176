//! Sections: records of one append to one log, with the source of their salts.
//!
//! ```text
//! commit      varint, the commit that made the records durable
//! salts       u8: 0 derived from a seed, 1 one for each record
//! seed        16 bytes                                             (salts = 0)
//! index       varint, the first record's place in its append       (salts = 0)
//! count       varint
//! salt        16 bytes for each record, zeros for an erased one    (salts = 1)
//! length      varint, of the records
//! records     record.rs
//! ```
//!
//! A section is cut between records at the end of a full block. A section with an erased body is
//! rewritten with explicit salts for the other records and without the seed.

use crate::chain;
use crate::chain::BodyForm;
use crate::error::{Error, Result};
use crate::id::{Seed, Seq};
use crate::record::{RecordRef, Records, encode_record};
use crate::wire::{Reader, put_varint};

/// Source of the salts of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Salts<'a> {
    /// A seed, and the first record's place in its append.
    Seeded(Seed, u64),
    /// 16 bytes for each record.
    Explicit(&'a [u8]),
}

/// A section that borrows the bytes it was decoded from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionRef<'a> {
    /// The commit that made the records durable.
    pub seq: Seq,
    /// The source of the salts.
    pub salts: Salts<'a>,
    /// The number of records.
    pub count: u32,
    /// The encoded records.
    pub records: &'a [u8],
}

impl<'a> SectionRef<'a> {
    /// Appends the section to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.seq);
        match self.salts {
            Salts::Seeded(seed, index) => {
                out.push(0);
                out.extend_from_slice(&seed.0);
                put_varint(out, index);
                put_varint(out, u64::from(self.count));
            }
            Salts::Explicit(salts) => {
                assert_eq!(salts.len(), self.count as usize * 16, "a salt for each record");
                out.push(1);
                put_varint(out, u64::from(self.count));
                out.extend_from_slice(salts);
            }
        }
        put_varint(out, self.records.len() as u64);
        out.extend_from_slice(self.records);
    }

    /// Returns the salt of the record at `index` in this section.
    pub fn salt(&self, index: u32) -> [u8; 16] {
        match self.salts {
            Salts::Seeded(seed, first) => chain::salt(seed, first.wrapping_add(u64::from(index))),
            Salts::Explicit(salts) => {
                let at = index as usize * 16;
                let mut salt = [0; 16];
                if let Some(bytes) = salts.get(at..at.saturating_add(16)) {
                    salt.copy_from_slice(bytes);
                }
                salt
            }
        }
    }

    /// Iterates over the records. Yields an error if there are more or fewer than `count`.
    pub fn iter(&self) -> impl Iterator<Item = Result<RecordRef<'a>>> + use<'a> {
        let (mut records, mut remaining) = (Records::new(self.records), self.count);
        std::iter::from_fn(move || match (records.next(), remaining) {
            (Some(Ok(record)), 1..) => {
                remaining -= 1;
                Some(Ok(record))
            }
            (None, 0) => None,
            (Some(Err(error)), _) => {
                remaining = 0;
                Some(Err(error))
            }
            (found, left_now) => {
                remaining = 0;
                records = Records::new(&[]);
                let found = if found.is_some() { "more" } else { "fewer" };
                let expected = format!("{left_now} more records");
                Some(Err(Error::corrupt("section", expected, found)))
            }
        })
    }

    /// Returns the section without its first `skip` records. Fails with `Invalid` if it has fewer.
    pub fn skip(&self, skip: u32) -> Result<Self> {
        let (mut records, mut section) = (Records::new(self.records), *self);
        for _ in 0..skip {
            match records.next() {
                Some(record) => record.map(|_| ())?,
                None => return Err(Error::invalid(format!("section has no record {skip}"))),
            }
        }
        section.records = records.rest();
        section.count = self.count.saturating_sub(skip);
        section.salts = match self.salts {
            Salts::Seeded(seed, first) => Salts::Seeded(seed, first.wrapping_add(u64::from(skip))),
            Salts::Explicit(salts) => {
                Salts::Explicit(salts.get(skip as usize * 16..).unwrap_or_default())
            }
        };
        Ok(section)
    }

    /// Returns the section up to, not including, the record at `keep`.
    pub fn truncate(&self, keep: u32) -> Result<Self> {
        let tail = self.skip(keep)?;
        let mut section = *self;
        let len = self.records.len().saturating_sub(tail.records.len());
        section.records = self.records.split_at_checked(len).unwrap_or_default().0;
        section.count = keep.min(self.count);
        if let Salts::Explicit(salts) = self.salts {
            let len = section.count as usize * 16;
            section.salts = Salts::Explicit(salts.get(..len).unwrap_or_default());
        }
        Ok(section)
    }

    /// Appends the section to `out` with the bodies of some records erased. Hashes replace the
    /// bodies; the erased salts and the seed are not written. Bodies erased before remain erased.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the section is damaged.
    pub fn encode_erased(&self, erases: &dyn Fn(u32) -> bool, out: &mut Vec<u8>) -> Result<()> {
        let (mut salts, mut records) = (Vec::new(), Vec::new());
        for (index, record) in (0_u32..).zip(self.iter()) {
            let record = record?;
            let salt = self.salt(index);
            if record.form == BodyForm::Erased {
                salts.extend_from_slice(&[0; 16]);
                encode_record(&mut records, record.header, record.form, record.payload);
            } else if erases(index) {
                let body = record.body_hash(&salt)?;
                salts.extend_from_slice(&[0; 16]);
                encode_record(&mut records, record.header, BodyForm::Erased, &body.0);
            } else {
                salts.extend_from_slice(&salt);
                encode_record(&mut records, record.header, record.form, record.payload);
            }
        }
        let section = SectionRef {
            seq: self.seq,
            salts: Salts::Explicit(&salts),
            count: self.count,
            records: &records,
        };
        section.encode(out);
        Ok(())
    }
}

/// Iterates over consecutive encoded sections.
#[derive(Debug, Clone)]
pub struct Sections<'a> {
    reader: Reader<'a>,
}

impl<'a> Sections<'a> {
    /// Iterates over the sections in `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(bytes, "section") }
    }

    /// Returns the bytes that were not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.reader.rest()
    }

    fn read(&mut self) -> Result<SectionRef<'a>> {
        let reader = &mut self.reader;
        let seq = reader.varint()?;
        let (salts, count) = match reader.u8()? {
            0 => {
                let seed = Seed(reader.array()?);
                let index = reader.varint()?;
                (Salts::Seeded(seed, index), reader.varint_u32()?)
            }
            1 => {
                let count = reader.varint_u32()?;
                (Salts::Explicit(reader.take((count as usize).saturating_mul(16))?), count)
            }
            n => return Err(Error::corrupt("section", "salts of form 0 or 1", n)),
        };
        let len = reader.varint_len()?;
        if count as usize > len {
            // A record has at least one byte. The bound also keeps sums of counts from overflowing.
            return Err(Error::corrupt("section", format!("records in {len} bytes"), count));
        }
        Ok(SectionRef { seq, salts, count, records: reader.take(len)? })
    }
}

impl<'a> Iterator for Sections<'a> {
    type Item = Result<SectionRef<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_empty() {
            return None;
        }
        let section = self.read();
        if section.is_err() {
            self.reader = Reader::new(&[], "section");
        }
        Some(section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(count: u8) -> Vec<u8> {
        let mut out = Vec::new();
        for n in 0..count {
            encode_record(&mut out, &[n], BodyForm::Inline, &[n; 3]);
        }
        out
    }

    #[test]
    fn a_cut_section_keeps_its_salts() {
        let bytes = records(5);
        let explicit: Vec<u8> = (0..80).collect();
        for salts in [Salts::Seeded(Seed([3; 16]), 40), Salts::Explicit(&explicit)] {
            let full = SectionRef { seq: 9, salts, count: 5, records: &bytes };
            let (front, back) = (full.truncate(2).unwrap(), full.skip(2).unwrap());
            assert_eq!((front.count, back.count), (2, 3));
            assert_eq!(front.salt(1), full.salt(1));
            assert_eq!(back.salt(0), full.salt(2));
            let all: Vec<_> = front.iter().chain(back.iter()).map(Result::unwrap).collect();
            assert_eq!(all, full.iter().map(Result::unwrap).collect::<Vec<_>>());
            let mut out = Vec::new();
            front.encode(&mut out);
            back.encode(&mut out);
            let read: Vec<_> = Sections::new(&out).map(Result::unwrap).collect();
            assert_eq!(read, [front, back]);
        }
    }

    #[test]
    fn an_erased_body_leaves_its_hash_and_no_salt_to_guess_it_by() {
        let mut bytes = Vec::new();
        for n in 0..3_u8 {
            let header = crate::Header { kind: 13, ..Default::default() };
            encode_record(&mut bytes, &header.encode(), BodyForm::Inline, &[n; 3]);
        }
        let seed = Seed([3; 16]);
        let section =
            SectionRef { seq: 9, salts: Salts::Seeded(seed, 7), count: 3, records: &bytes };
        let hashes = |section: &SectionRef<'_>| -> Vec<_> {
            let records = (0_u32..).zip(section.iter());
            let hash = |(n, record): (u32, Result<RecordRef<'_>>)| {
                record.unwrap().body_hash(&section.salt(n)).unwrap()
            };
            records.map(hash).collect()
        };
        let mut out = Vec::new();
        section.encode_erased(&|n| n == 1, &mut out).unwrap();
        let erased = Sections::new(&out).next().unwrap().unwrap();
        assert_eq!(hashes(&erased), hashes(&section));
        let forms: Vec<_> = erased.iter().map(|r| r.unwrap().form).collect();
        assert_eq!(forms, [BodyForm::Inline, BodyForm::Erased, BodyForm::Inline]);
        assert_eq!(erased.salt(1), [0; 16]);
        let secrets = [&seed.0[..], &section.salt(1), &[1; 3]];
        assert!(secrets.iter().all(|bytes| !out.windows(bytes.len()).any(|part| part == *bytes)));
        // Erasing again changes nothing.
        let mut again = Vec::new();
        erased.encode_erased(&|_| false, &mut again).unwrap();
        assert_eq!(again, out);
    }

    #[test]
    fn a_wrong_count_is_an_error() {
        let bytes = records(2);
        for count in [1, 3] {
            let salts = Salts::Seeded(Seed([0; 16]), 0);
            let section = SectionRef { seq: 1, salts, count, records: &bytes };
            assert!(section.iter().any(|r| r.is_err()), "{count} claimed");
        }
    }
}
