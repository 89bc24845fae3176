//! Takes numbers off an input. At its end they are zero, so that every input is a whole one.

/// The rest of an input.
#[derive(Debug, Clone)]
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    pub(crate) fn short(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    pub(crate) fn word(&mut self) -> u32 {
        u32::from(self.short()) | u32::from(self.short()) << 16
    }

    /// A number below `limit`; zero where that is zero.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        match limit {
            0..=256 => u64::from(self.byte()) % limit.max(1),
            _ => u64::from(self.word()) % limit,
        }
    }

    /// Returns up to this many bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (front, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        front
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }
}
