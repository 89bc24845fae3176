//! Lines of bounded length. The rest of a longer line is read and discarded.

use std::io::{self, BufRead};

/// Reader of lines, which counts them.
pub struct BoundedLines<R> {
    input: R,
    /// Most bytes of a line that are held, its end included.
    limit: usize,
    buffer: Vec<u8>,
    number: u64,
    read: u64,
    /// Length so far of a line without an end.
    open: u64,
}

impl<R: BufRead> BoundedLines<R> {
    pub fn new(input: R, limit: usize) -> Self {
        Self { input, limit, buffer: Vec::new(), number: 0, read: 0, open: 0 }
    }

    /// Returns the input, positioned after the line read last.
    pub fn into_input(self) -> R {
        self.input
    }

    /// Returns the number of the line read last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.read
    }

    /// Returns the most bytes of a line that are held, its end included.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the line read last with its end, cut at the limit.
    pub fn buffered(&self) -> &[u8] {
        &self.buffer
    }

    /// Reads the next line and returns its length with its end, which may exceed the limit; 0 at
    /// the end of the input.
    pub fn advance(&mut self) -> io::Result<u64> {
        if let Some(length) = self.advance_whole()? {
            return Ok(length);
        }
        let length = std::mem::take(&mut self.open);
        self.number += u64::from(length > 0);
        Ok(length)
    }

    /// Reads the next line that has an end, and returns its length. Returns `None` if the input
    /// ends before the line does: a later call continues it.
    pub fn advance_whole(&mut self) -> io::Result<Option<u64>> {
        if self.open == 0 {
            if self.buffer.len() == self.limit {
                // Frees a buffer that grew to the limit.
                self.buffer = Vec::new();
            }
            self.buffer.clear();
        }
        loop {
            let chunk = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                chunk => chunk?,
            };
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(chunk.len(), |end| end + 1);
            let count = self.limit.saturating_sub(self.buffer.len()).min(used);
            self.buffer.extend_from_slice(chunk.get(..count).unwrap_or_default());
            self.input.consume(used);
            self.open += used as u64;
            self.read += used as u64;
            if end.is_some() {
                self.number += 1;
                return Ok(Some(std::mem::take(&mut self.open)));
            }
            if used == 0 {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_the_limit_is_counted_and_not_held() {
        let text = b"one\nmuch longer\n\nlast";
        let mut lines = BoundedLines::new(io::BufReader::with_capacity(3, text.as_slice()), 5);
        let mut all = Vec::new();
        loop {
            let length = lines.advance().unwrap();
            let buffered = String::from_utf8(lines.buffered().to_vec()).unwrap();
            all.push((length, buffered, lines.number()));
            if length == 0 {
                break;
            }
        }
        let expected =
            [(4, "one\n", 1), (12, "much ", 2), (1, "\n", 3), (4, "last", 4), (0, "", 4)];
        assert_eq!(
            all,
            expected.map(|(length, buffered, number)| (length, buffered.to_owned(), number))
        );
        assert_eq!(lines.bytes_read(), text.len() as u64);
    }

    #[test]
    fn a_line_without_an_end_is_continued_when_the_input_grows() {
        let path = tempfile::NamedTempFile::new().unwrap();
        let mut file = path.reopen().unwrap();
        let input = io::BufReader::with_capacity(3, path.reopen().unwrap());
        let mut lines = BoundedLines::new(input, 5);
        for (text, whole, buffered) in [
            ("one\ntw", Some(4), "one\n"),
            ("", None, "tw"),
            ("o", None, "two"),
            ("\nmuch", Some(4), "two\n"),
            (" long", None, "much "),
            ("er\n", Some(12), "much "),
            ("", None, ""),
        ] {
            io::Write::write_all(&mut file, text.as_bytes()).unwrap();
            assert_eq!(lines.advance_whole().unwrap(), whole, "after {text:?}");
            assert_eq!(lines.buffered(), buffered.as_bytes());
        }
        assert_eq!((lines.number(), lines.bytes_read()), (3, 20));
    }
}
