//! Pieces of a file: each is one gzip stream.

use std::io::{self, Read, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Compressed pieces, and the one that is being filled.
#[derive(Debug, Default)]
pub struct Pieces {
    packed: Vec<Vec<u8>>,
    open: Vec<u8>,
}

impl Pieces {
    /// Returns the piece that is being filled.
    pub fn open(&mut self) -> &mut Vec<u8> {
        &mut self.open
    }

    /// Returns the number of complete pieces, which is also the number of the open one.
    pub fn len(&self) -> usize {
        self.packed.len()
    }

    /// Compresses the open piece, and begins the next one.
    pub fn close(&mut self) -> io::Result<()> {
        // No name and no time: the same content gives the same bytes.
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(&self.open)?;
        self.packed.push(packer.finish()?);
        self.open.clear();
        Ok(())
    }

    /// Returns the compressed pieces.
    pub fn packed(&self) -> &[Vec<u8>] {
        &self.packed
    }

    /// Returns the length of the complete pieces in base64.
    pub fn encoded_len(&self) -> u64 {
        self.packed.iter().map(|piece| piece.len().div_ceil(3) as u64 * 4).sum()
    }

    /// Returns a reader of the content of the complete pieces.
    pub fn reader(&self) -> impl Read {
        Unpacked { rest: self.packed.iter(), now: None }
    }
}

/// The content of pieces, one after another.
struct Unpacked<'a> {
    rest: std::slice::Iter<'a, Vec<u8>>,
    now: Option<GzDecoder<&'a [u8]>>,
}

impl Read for Unpacked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(piece) = &mut self.now {
                let read = piece.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
            }
            match self.rest.next() {
                Some(piece) => self.now = Some(GzDecoder::new(piece.as_slice())),
                None => return Ok(0),
            }
        }
    }
}
