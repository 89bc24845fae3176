//! Messages of a conversation, read in order.

use std::sync::Arc;

use milepost_codec::{Message, Result};
use milepost_replay::{Chunks, Entry, Sequence};

/// The number of entries that are read at a time.
const AT_ONCE: usize = 256;

/// Iterator over the messages of a state: see [`Task::messages`](crate::Task::messages). It holds
/// at most 256 entries, and ends after the first error.
pub struct Messages {
    entries: Sequence<Entry>,
    chunks: Arc<dyn Chunks>,
    /// The index of the first entry that is not read yet.
    next: u64,
    read: std::vec::IntoIter<Result<Entry>>,
}

impl Messages {
    pub(crate) fn new(entries: Sequence<Entry>, chunks: Arc<dyn Chunks>) -> Self {
        Self { entries, chunks, next: 0, read: Vec::new().into_iter() }
    }
}

impl std::fmt::Debug for Messages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Messages").field("next", &self.next).finish_non_exhaustive()
    }
}

impl Iterator for Messages {
    type Item = Result<Message>;

    fn next(&mut self) -> Option<Result<Message>> {
        loop {
            match self.read.next() {
                Some(Ok(Entry::Message { message, .. })) => return Some(Ok(message)),
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    self.next = self.entries.len();
                    return Some(Err(error));
                }
                None if self.next < self.entries.len() => {
                    let entries = self.entries.iter_from(self.next, self.chunks.as_ref());
                    let read: Vec<_> = entries.take(AT_ONCE).collect();
                    self.next = self.next.saturating_add(AT_ONCE as u64);
                    self.read = read.into_iter();
                }
                None => return None,
            }
        }
    }
}
