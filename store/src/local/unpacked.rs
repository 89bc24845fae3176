//! A cache of unpacked entries of files: a caller that reads one part of an entry often reads the
//! next one in the same entry.

use std::sync::Arc;

use lru::LruCache;
use milepost_codec::Result;
use parking_lot::Mutex;

use crate::local::location::Location;

/// An unpacked entry.
pub(crate) trait InMemory {
    /// Returns the bytes that it takes in memory.
    fn bytes(&self) -> usize;
}

/// The entries that were unpacked last.
#[derive(Debug)]
pub(crate) struct Unpacked<T>(Mutex<Cached<T>>);

#[derive(Debug)]
struct Cached<T> {
    entries: LruCache<Location, Arc<T>>,
    bytes: usize,
    limit: usize,
}

impl<T: InMemory> Unpacked<T> {
    /// Creates an empty cache of this many bytes.
    pub(crate) fn of(bytes: usize) -> Self {
        Self(Mutex::new(Cached { entries: LruCache::unbounded(), bytes: 0, limit: bytes }))
    }

    /// Sets the maximum bytes.
    pub(crate) fn set_limit(&self, bytes: usize) {
        self.0.lock().limit = bytes;
    }

    /// Returns an entry, and reads it if it is not cached. `place` is the location of any member.
    pub(crate) fn get(&self, place: Location, read: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let place = place.entry();
        if let Some(entry) = self.0.lock().entries.get(&place) {
            return Ok(Arc::clone(entry));
        }
        // Two threads may read the same entry at once; that is better than all threads waiting for
        // one.
        let entry = Arc::new(read()?);
        let mut cached = self.0.lock();
        cached.bytes += entry.bytes();
        if let Some(other) = cached.entries.put(place, Arc::clone(&entry)) {
            cached.bytes -= other.bytes();
        }
        while cached.bytes > cached.limit
            && let Some((_, oldest)) = cached.entries.pop_lru()
        {
            cached.bytes -= oldest.bytes();
        }
        Ok(entry)
    }

    /// Removes the entries of a file.
    pub(crate) fn forget(&self, file: u32) {
        let mut cached = self.0.lock();
        let places = cached.entries.iter().map(|(place, _)| *place);
        for place in places.filter(|place| place.file == file).collect::<Vec<_>>() {
            let removed = cached.entries.pop(&place);
            cached.bytes -= removed.map_or(0, |entry| entry.bytes());
        }
    }

    /// Removes all entries.
    pub(crate) fn clear(&self) {
        let mut cached = self.0.lock();
        cached.entries.clear();
        cached.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    impl InMemory for Vec<u8> {
        fn bytes(&self) -> usize {
            self.len()
        }
    }

    #[test]
    fn the_entries_used_last_are_kept_up_to_a_limit() {
        let unpacked = Unpacked::of(15 << 10);
        let reads = std::cell::Cell::new(0);
        let get = |at: u64, file| {
            let place = Location { file, at, len: 1, member: Some(9) };
            let read = || {
                reads.set(reads.get() + 1);
                Ok(vec![0; 1 << 10])
            };
            unpacked.get(place, read).unwrap();
            reads.take()
        };
        assert_eq!((0..20).map(|at| get(at, 1)).sum::<i32>(), 20);
        assert_eq!((get(19, 1), get(6, 1)), (0, 0));
        assert_eq!(get(0, 1), 1, "the first is removed");
        assert_eq!(unpacked.0.lock().entries.len(), 15);
        assert_eq!(get(6, 1), 0, "it was used since");
        assert_eq!(get(6, 2), 1, "of another file");
        unpacked.forget(1);
        assert_eq!(get(6, 2), 0);
        assert_eq!(unpacked.0.lock().entries.len(), 1);
        unpacked.set_limit(1 << 9);
        assert_eq!((get(7, 2), get(7, 2)), (1, 1), "an entry over the limit is not kept");
        assert_eq!(unpacked.0.lock().bytes, 0);
    }
}
