//! Files that are compressed: unpacked while they are read, within bounds.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use zstd::stream::read::Decoder;

/// The largest window of zstd, as a power of two: what its command uses with its highest levels.
const WINDOW_LOG_MAX: u32 = 27;

/// Limits of the unpacked size of a file: a multiple of its own size, and a maximum.
const RATIO_MAX: u64 = 1000;
const UNPACKED_MAX: u64 = 8 << 30;

/// The unpacked bytes up to which the ratio does not count.
const SMALL: u64 = 16 << 20;

/// Returns the content of a file, and `true` if it is compressed.
pub(super) fn open(file: File) -> io::Result<(Box<dyn Read>, bool)> {
    let packed = Rc::new(Cell::new(0));
    let counted = Counted { file, read: Rc::clone(&packed) };
    let mut input = BufReader::new(counted);
    let inner: Box<dyn Read> = match input.fill_buf()? {
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            let mut decoder = Decoder::with_buffer(input)?;
            decoder.window_log_max(WINDOW_LOG_MAX)?;
            Box::new(decoder)
        }
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(input)),
        _ => return Ok((Box::new(input), false)),
    };
    Ok((Box::new(Bounded { inner, packed, unpacked: 0 }), true))
}

/// A file, and the number of bytes that were read of it.
struct Counted {
    file: File,
    read: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read.set(self.read.get() + read as u64);
        Ok(read)
    }
}

/// Unpacked content, which ends with an error where it is too large for its file.
struct Bounded {
    inner: Box<dyn Read>,
    packed: Rc<Cell<u64>>,
    unpacked: u64,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer).map_err(|error| {
            let text = format!("it is compressed, and cannot be unpacked: {error}");
            io::Error::new(error.kind(), text)
        })?;
        self.unpacked += read as u64;
        let most = self.packed.get().saturating_mul(RATIO_MAX).clamp(SMALL, UNPACKED_MAX);
        if self.unpacked > most {
            let text = format!(
                "it is compressed, and its {} bytes so far unpack to more than {most}: it is not \
                 read further",
                self.packed.get()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> io::Result<(Vec<u8>, bool)> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let (mut reader, is_packed) = open(File::open(file.path())?)?;
        let mut all = Vec::new();
        reader.read_to_end(&mut all)?;
        Ok((all, is_packed))
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut encoder, text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_compressed_file_is_read_as_its_content() {
        let text = b"{\"kind\":\"message\"}\n".repeat(1000);
        let zstd = zstd::encode_all(text.as_slice(), 3).unwrap();
        for packed in [gzip(&text), zstd.clone(), [zstd.clone(), zstd].concat()] {
            let (content, is_packed) = read(&packed).unwrap();
            assert!(is_packed && content.starts_with(&text));
        }
        assert_eq!(read(&text).unwrap(), (text, false));
        assert_eq!(read(b"").unwrap(), (Vec::new(), false));
    }

    #[test]
    fn a_damaged_file_and_a_bomb_are_refused_with_a_sentence() {
        let mut torn = zstd::encode_all(b"some text that is long enough".as_slice(), 3).unwrap();
        torn.truncate(torn.len() - 3);
        let why = read(&torn).unwrap_err().to_string();
        assert!(why.contains("it is compressed, and cannot be unpacked"), "{why}");
        let bomb = zstd::encode_all(io::repeat(b'x').take(64 << 20), 3).unwrap();
        let why = read(&bomb).unwrap_err().to_string();
        assert!(why.contains("unpack to more than 16777216"), "{why}");
        // A frame that asks for a window of 2 GiB.
        let window = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x09, 0x00, 0x00, b'x'];
        let why = read(&window).unwrap_err().to_string();
        assert!(why.contains("cannot be unpacked"), "{why}");
    }
}
