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
}

impl<R: BufRead> BoundedLines<R> {
    pub fn new(input: R, limit: usize) -> Self {
        Self { input, limit, buffer: Vec::new(), number: 0, read: 0 }
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
        if self.buffer.len() == self.limit {
            // Frees a buffer that grew to the limit.
            self.buffer = Vec::new();
        }
        self.buffer.clear();
        let mut length = 0_u64;
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
            length += used as u64;
            self.read += used as u64;
            if end.is_some() || used == 0 {
                self.number += u64::from(length > 0);
                return Ok(length);
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
}
