//! Request bodies, compressed or not. Decompressed data never exceeds the limit.

use std::io::{self, Write};

use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use flate2::write::MultiGzDecoder;
use zstd::stream::raw;
use zstd::stream::zio::Writer;
use zstd::zstd_safe::DParameter;

use crate::error::ApiError;

/// Supported encodings.
const KNOWN: &str = "gzip, zstd";

/// The maximum zstd window as a power of two: 8 MiB, the limit of RFC 9659 for HTTP.
const WINDOW_LOG: u32 = 23;

/// A request body while it arrives.
pub(crate) struct Unpacking {
    most: usize,
    how: How,
}

enum How {
    Plain(Limited),
    Gzip(MultiGzDecoder<Limited>),
    Zstd(Writer<Limited, raw::Decoder<'static>>),
}

impl Unpacking {
    /// Starts a body with the encoding that its headers name.
    pub(crate) fn of(headers: &HeaderMap, most: usize) -> Result<Self, ApiError> {
        let mut said = headers.get_all(header::CONTENT_ENCODING).iter();
        let (one, more) = (said.next(), said.next());
        let unknown = Err(ApiError::Encoding(KNOWN));
        if more.is_some() {
            return unknown;
        }
        let into = Limited::new(most);
        let how = match one.map(|one| one.to_str().unwrap_or("?").to_ascii_lowercase()) {
            None => How::Plain(into),
            Some(one) => match one.trim() {
                "identity" => How::Plain(into),
                "gzip" | "x-gzip" => How::Gzip(MultiGzDecoder::new(into)),
                "zstd" => How::Zstd(Writer::new(into, decoder().map_err(|_| ApiError::Bug)?)),
                _ => return unknown,
            },
        };
        Ok(Self { most, how })
    }

    /// Returns true if taking a piece is cheap.
    pub(crate) fn is_quick(&self) -> bool {
        matches!(self.how, How::Plain(_))
    }

    /// Returns the bytes of memory that the body holds.
    pub(crate) fn held(&self) -> usize {
        let into = match &self.how {
            How::Plain(into) => into,
            How::Gzip(into) => into.get_ref(),
            How::Zstd(into) => into.writer(),
        };
        into.bytes.capacity()
    }

    /// Takes the next piece.
    pub(crate) fn take(mut self, piece: &[u8]) -> Result<Self, ApiError> {
        let taken = match &mut self.how {
            How::Plain(into) => into.write_all(piece),
            How::Gzip(into) => into.write_all(piece),
            How::Zstd(into) => into.write_all(piece),
        };
        match taken {
            Ok(()) => Ok(self),
            Err(error) => Err(wrong(&error, self.most)),
        }
    }

    /// Finishes and returns the whole body.
    pub(crate) fn all(self) -> Result<Bytes, ApiError> {
        let all = match self.how {
            How::Plain(all) => Ok(all),
            How::Gzip(all) => all.finish(),
            How::Zstd(mut all) => all.finish().map(|()| all.into_inner().0),
        };
        let all = all.map_err(|error| wrong(&error, self.most))?;
        Ok(all.bytes.into())
    }
}

fn decoder() -> io::Result<raw::Decoder<'static>> {
    let mut decoder = raw::Decoder::new()?;
    decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG))?;
    Ok(decoder)
}

fn wrong(error: &io::Error, most: usize) -> ApiError {
    match error.get_ref().is_some_and(|error| error.is::<TooLong>()) {
        true => ApiError::TooLarge(most),
        false => ApiError::Invalid(format!("the body cannot be unpacked: {error}")),
    }
}

/// A buffer with a size limit.
struct Limited {
    bytes: Vec<u8>,
    most: usize,
}

#[derive(Debug)]
struct TooLong;

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it is longer than it may be")
    }
}

impl std::error::Error for TooLong {}

impl Limited {
    fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most }
    }
}

impl Write for Limited {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let len = self.bytes.len().saturating_add(piece.len());
        if len > self.most {
            return Err(io::Error::other(TooLong));
        }
        let capacity = self.bytes.capacity();
        if len > capacity {
            // Doubles the capacity as `Vec` does, but never beyond the limit.
            let wanted = capacity.saturating_mul(2).clamp(len, self.most);
            self.bytes.reserve_exact(wanted - self.bytes.len());
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_room_up_to_the_limit_and_no_more() {
        let mut limited = Limited::new(1000);
        for _ in 0..10 {
            limited.write_all(&[1; 100]).unwrap();
            assert!(limited.bytes.capacity() <= 1000);
        }
        assert!(limited.write_all(&[1]).is_err());
        assert_eq!(limited.bytes.len(), 1000);
    }
}
