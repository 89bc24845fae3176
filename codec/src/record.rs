//! Records: one event as bytes.
//!
//! ```text
//! header length  varint
//! header         header.rs
//! form           u8: 0 inline, 1 chunked, 2 erased
//! payload length varint
//! payload        inline: the body; chunked: a chunk list; erased: the 32-byte body hash
//! ```

use crate::chain::{BodyForm, body_hash};
use crate::error::{Error, Result};
use crate::header::Header;
use crate::id::Hash;
use crate::wire::{Reader, put_varint};

/// A record that borrows the bytes it was decoded from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordRef<'a> {
    /// The encoded header. Its exact bytes are hashed.
    pub header: &'a [u8],
    /// The place of the body.
    pub form: BodyForm,
    /// The body, the list of its chunks, or its hash.
    pub payload: &'a [u8],
}

impl RecordRef<'_> {
    /// Decodes the header.
    pub fn header(&self) -> Result<Header> {
        Header::decode(self.header)
    }

    /// Returns the hash of the body, which the chain commits to.
    pub fn body_hash(&self, salt: &[u8; 16]) -> Result<Hash> {
        match self.form {
            BodyForm::Inline | BodyForm::Chunked => Ok(body_hash(salt, self.form, self.payload)),
            BodyForm::Erased => match <[u8; 32]>::try_from(self.payload) {
                Ok(hash) => Ok(Hash(hash)),
                Err(_) => {
                    let found = format!("{} bytes", self.payload.len());
                    Err(Error::corrupt("erased record", "a hash of 32 bytes", found))
                }
            },
        }
    }
}

/// Appends one record to `out`.
pub fn encode_record(out: &mut Vec<u8>, header: &[u8], form: BodyForm, payload: &[u8]) {
    put_varint(out, header.len() as u64);
    out.extend_from_slice(header);
    out.push(form as u8);
    put_varint(out, payload.len() as u64);
    out.extend_from_slice(payload);
}

/// Iterates over consecutive encoded records.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    reader: Reader<'a>,
}

impl<'a> Records<'a> {
    /// Iterates over the records in `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(bytes, "record") }
    }

    /// Returns the bytes that were not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.reader.rest()
    }

    fn read(&mut self) -> Result<RecordRef<'a>> {
        let header_len = self.reader.varint_len()?;
        let header = self.reader.take(header_len)?;
        let form = match self.reader.u8()? {
            0 => BodyForm::Inline,
            1 => BodyForm::Chunked,
            2 => BodyForm::Erased,
            n => return Err(Error::corrupt("record", "a body form of 0 to 2", n)),
        };
        let payload_len = self.reader.varint_len()?;
        Ok(RecordRef { header, form, payload: self.reader.take(payload_len)? })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<RecordRef<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_empty() {
            return None;
        }
        let record = self.read();
        if record.is_err() {
            // After a damaged record, the start of the next one is unknown.
            self.reader = Reader::new(&[], "record");
        }
        Some(record)
    }
}
