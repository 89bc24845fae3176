//! Buffers for answers with long texts.

use std::io::{self, Write};

/// Texts longer than this get exactly the space they need.
const LONG: usize = 64 << 10;

/// Extra space after a long text for the rest of its event.
const BEHIND: usize = 4 << 10;

/// Appends a text. A growing vector doubles its capacity, which would waste the length of a long
/// text and copy it once more.
pub(crate) fn push(to: &mut Vec<u8>, text: &[u8]) {
    if text.len() > LONG {
        to.reserve_exact(text.len() + BEHIND);
    }
    to.extend_from_slice(text);
}

/// Makes a JSON text one line. Its line breaks are white space: a string has none.
pub(crate) fn one_line(text: &mut [u8]) {
    for byte in text.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
}

/// A writer that passes to one of the append functions.
pub(crate) struct Buffer<'a> {
    to: &'a mut Vec<u8>,
    append: fn(&mut Vec<u8>, &[u8]),
}

impl<'a> Buffer<'a> {
    pub(crate) fn new(to: &'a mut Vec<u8>) -> Self {
        Self::with(to, push)
    }

    pub(crate) fn with(to: &'a mut Vec<u8>, append: fn(&mut Vec<u8>, &[u8])) -> Self {
        Self { to, append }
    }
}

impl Write for Buffer<'_> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        (self.append)(self.to, text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_takes_little_more_than_its_length() {
        let mut buffer = Vec::new();
        let text = "x".repeat(1 << 20);
        serde_json::to_writer(Buffer::new(&mut buffer), &[&text]).unwrap();
        buffer.extend_from_slice(b"\n\n");
        assert_eq!(buffer.len(), text.len() + 6);
        assert!(buffer.capacity() <= text.len() + 2 * BEHIND);
    }
}
