//! Runs that are opened, and their beginnings.

mod packed;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::detect::from_content;
use crate::error::{Error, Remedy, Result};

/// Number of bytes read to detect the format.
const START: usize = 64 << 10;

/// Number of bytes read of a file whose first bytes do not identify the format.
const START_MAX: usize = 4 << 20;

/// An input that is read once, in order.
pub(crate) type Reader = BufReader<Box<dyn Read>>;

/// A run that is open for reading.
pub struct RunInput {
    /// Name of the input in messages.
    pub(crate) name: String,
    /// `None` for standard input.
    pub(crate) path: Option<PathBuf>,
    /// The beginning, by which the format is detected; empty for a pipe that is not read yet.
    pub(crate) start: Vec<u8>,
    /// True if the bytes of the file are compressed.
    pub(crate) is_packed: bool,
    pub(crate) reader: Reader,
}

impl RunInput {
    /// Opens a file, or standard input for `-`. A file compressed with zstd or gzip is unpacked
    /// while it is read.
    ///
    /// # Errors
    ///
    /// `Io`: the path is not a readable file. `Invalid`: the file is empty.
    pub fn open(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            let reader: Reader = BufReader::with_capacity(START, Box::new(io::stdin()));
            let name = "standard input".to_owned();
            return Ok(Self { name, path: None, start: Vec::new(), is_packed: false, reader });
        }
        let name = path.display().to_string();
        let failed = |error: io::Error| Error::from(error).at(&name);
        let file = opened(path).map_err(|error| failed(error).remedied_by(Remedy::CheckPath))?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(
                failed(io::Error::from(io::ErrorKind::IsADirectory)).remedied_by(Remedy::NameFiles)
            );
        }
        let path = Some(path.to_owned());
        if !metadata.is_file() {
            let mut reader: Reader = BufReader::with_capacity(START, Box::new(file));
            if reader.fill_buf().map_err(failed)?.is_empty() {
                return Err(empty(&name));
            }
            return Ok(Self { name, path, start: Vec::new(), is_packed: false, reader });
        }
        let (mut rest, is_packed) = packed::open(file).map_err(failed)?;
        let mut start = Vec::new();
        let mut more = |start: &mut Vec<u8>, limit: usize| {
            let missing = limit.saturating_sub(start.len()) as u64;
            rest.by_ref().take(missing).read_to_end(start).map_err(failed)
        };
        more(&mut start, START)?;
        if start.len() == START && from_content(&start).is_none() {
            more(&mut start, START_MAX)?;
        }
        if start.is_empty() {
            return Err(empty(&name));
        }
        let whole: Box<dyn Read> = Box::new(io::Cursor::new(start.clone()).chain(rest));
        let reader = BufReader::with_capacity(START, whole);
        Ok(Self { name, path, start, is_packed, reader })
    }

    /// Returns the name of the input in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the input with its beginning, also if it is a pipe.
    pub(crate) fn with_beginning(self) -> Result<Self> {
        if !self.start.is_empty() {
            return Ok(self);
        }
        let failed = |error: io::Error| Error::from(error).at(&self.name);
        let mut reader = beginning(self.reader).map_err(failed)?;
        let start = reader.fill_buf().map_err(failed)?.to_vec();
        Ok(Self { start, reader, ..self })
    }
}

/// Opens a file or a pipe. A device is an error: it may have no end.
pub(crate) fn opened(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    let kind = file.metadata()?.file_type();
    match kind.is_char_device() || kind.is_block_device() {
        true => Err(io::Error::new(io::ErrorKind::InvalidInput, "a device, not a file")),
        false => Ok(file),
    }
}

/// Returns the name of a file without the extensions of a compressed file and of its content.
pub fn stem(path: &Path) -> PathBuf {
    let is_packing = path.extension().is_some_and(|ending| ending == "zst" || ending == "gz");
    let path = if is_packing { path.with_extension("") } else { path.to_owned() };
    path.with_extension("")
}

/// Returns the error of an input without content.
pub(crate) fn empty(name: &str) -> Error {
    Error::invalid(format!("{name}: empty: there is nothing to record"))
        .remedied_by(Remedy::GiveEvents)
}

/// Returns a pipe with enough of its beginning in the buffer to detect the format: all of it,
/// [`START`] bytes, or a whole JSON value on the first line. Reading more might block for days.
fn beginning(mut reader: Reader) -> io::Result<Reader> {
    let mut start: Vec<u8> = Vec::new();
    loop {
        let read = reader.fill_buf()?;
        let count = read.len();
        start.extend_from_slice(read);
        reader.consume(count);
        let mut lines = start.splitn(2, |byte| *byte == b'\n');
        let first = lines.next().unwrap_or_default();
        let parses = || serde_json::from_slice::<serde::de::IgnoredAny>(first).is_ok();
        if count == 0 || start.len() >= START || (lines.next().is_some() && parses()) {
            let capacity = start.len().max(START);
            let rest: Box<dyn io::Read> = Box::new(io::Cursor::new(start).chain(reader));
            return Ok(BufReader::with_capacity(capacity, rest));
        }
    }
}

/// Reads the beginning of a file; nothing of an empty one.
pub(crate) fn start(path: &Path) -> Result<Vec<u8>> {
    match path.metadata() {
        Ok(metadata) if metadata.is_file() && metadata.len() == 0 => Ok(Vec::new()),
        _ => Ok(RunInput::open(path)?.start),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe that returns one byte at a time and panics if it is read past its end.
    struct Slow(Vec<u8>);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            assert!(!self.0.is_empty(), "more is read than is needed");
            let byte = self.0.remove(0);
            for (to, from) in buffer.iter_mut().zip([byte]) {
                *to = from;
            }
            Ok(1)
        }
    }

    fn start(text: &str) -> String {
        let slow: Box<dyn Read> = Box::new(Slow(text.into()));
        let mut reader = beginning(BufReader::new(slow)).unwrap();
        String::from_utf8(reader.fill_buf().unwrap().to_vec()).unwrap()
    }

    #[test]
    fn of_a_pipe_no_more_is_waited_for_than_one_line_that_is_whole() {
        assert_eq!(start("{\"kind\":\"x\"}\n"), "{\"kind\":\"x\"}\n");
        let long = format!("[\n{}", "1,\n".repeat(START));
        assert_eq!(start(&long).len(), START);
    }

    #[test]
    fn all_of_a_short_pipe_is_there_in_one_piece() {
        let text = "[{\n\"role\":\"user\"}]";
        let pieces: Box<dyn Read> = Box::new(text.as_bytes()[..1].chain(&text.as_bytes()[1..]));
        let mut reader = beginning(BufReader::new(pieces)).unwrap();
        assert_eq!(reader.fill_buf().unwrap(), text.as_bytes());
    }

    #[test]
    fn a_device_that_may_have_no_end_is_not_read() {
        let error = RunInput::open(Path::new("/dev/zero")).err().unwrap();
        assert!(error.to_string().contains("a device, not a file"), "{error}");
    }
}
