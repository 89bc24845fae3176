//! An input, and its beginning for the detection of its format.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::error::{Failure, Result, UNMET};
use crate::output::Out;

/// Number of bytes read to detect the format.
pub const START: usize = 64 << 10;

/// An input that is read once, in order.
pub type Reader = BufReader<Box<dyn io::Read>>;

/// Checks that at least one of the files can be read.
pub fn check_any_opens(paths: &[PathBuf], out: &Out) -> Result<()> {
    let mut failures = Vec::new();
    for path in paths {
        match open(path) {
            Ok(_) => return Ok(()),
            Err(failure) => failures.push(failure),
        }
    }
    for failure in &failures {
        failure.print(out.colors_stderr());
    }
    Err(Failure::said(failures.first().map_or(UNMET, Failure::code)))
}

pub fn open(path: &Path) -> Result<Reader> {
    if path.as_os_str() == "-" {
        return Ok(BufReader::with_capacity(START, Box::new(io::stdin())));
    }
    let failed = |error| Failure::new(format!("{}: {error}", path.display()));
    let file = File::open(path)
        .map_err(|error| failed(error).hint("check the name; `-` is standard input"))?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(failed(io::Error::from(io::ErrorKind::IsADirectory))
            .hint("name the files in it, as in `milepost record DIR/*`"));
    }
    let mut reader: Reader = BufReader::with_capacity(START, Box::new(file));
    if reader.fill_buf().map_err(failed)?.is_empty() {
        return Err(empty(&path.display().to_string()));
    }
    Ok(reader)
}

pub fn empty(name: &str) -> Failure {
    Failure::new(format!("{name}: empty: there is nothing to record"))
        .hint("give a file with one event an object a line, or a .traj file")
}

/// Returns a pipe with enough of its beginning in the buffer to detect the format: all of it,
/// [`START`] bytes, or a whole JSON value on the first line. Reading more might block for days.
pub fn beginning(mut reader: Reader) -> io::Result<Reader> {
    let mut start: Vec<u8> = Vec::new();
    loop {
        let read = reader.fill_buf()?;
        let count = read.len();
        start.extend_from_slice(read);
        reader.consume(count);
        let mut lines = start.splitn(2, |byte| *byte == b'\n');
        let first = lines.next().unwrap_or_default();
        let whole = || serde_json::from_slice::<serde::de::IgnoredAny>(first).is_ok();
        if count == 0 || start.len() >= START || (lines.next().is_some() && whole()) {
            let capacity = start.len().max(START);
            let rest: Box<dyn io::Read> = Box::new(io::Cursor::new(start).chain(reader));
            return Ok(BufReader::with_capacity(capacity, rest));
        }
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
}
