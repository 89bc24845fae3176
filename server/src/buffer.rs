//! Buffers of answers that take long texts.

use std::io::{self, Write};

/// From this length on a text gets the room that it needs, and no more.
const LONG: usize = 64 << 10;

/// Room behind a long text for what ends its event.
const BEHIND: usize = 4 << 10;

/// Appends a text. A vector that grows doubles its room: behind a long text that would be as much
/// memory again, and one more copy.
pub(crate) fn push(to: &mut Vec<u8>, text: &[u8]) {
    if text.len() > LONG {
        to.reserve_exact(text.len() + BEHIND);
    }
    to.extend_from_slice(text);
}

/// Writes to a buffer with one of the functions that append to it.
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
