//! A cache of unpacked entries of files: a caller that reads one part of an entry often reads the
//! next one in the same entry.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use milepost_codec::Result;
use parking_lot::Mutex;

use crate::local::location::Location;

/// An unpacked entry.
pub(crate) trait InMemory {
    /// Returns the bytes that it takes in memory.
    fn bytes(&self) -> usize;
}

/// The entries that were unpacked last, most recently used first.
#[derive(Debug)]
pub(crate) struct Unpacked<T> {
    cached: Mutex<VecDeque<(Location, Arc<T>)>>,
    limit: AtomicUsize,
}

impl<T: InMemory> Unpacked<T> {
    /// Creates an empty cache of this many bytes.
    pub(crate) fn of(bytes: usize) -> Self {
        Self { cached: Mutex::default(), limit: bytes.into() }
    }

    /// Sets the maximum bytes.
    pub(crate) fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// Returns an entry, and reads it if it is not cached. `place` is the location of any member.
    pub(crate) fn get(&self, place: Location, read: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let place = place.entry();
        {
            let mut cached = self.cached.lock();
            if let Some(at) = cached.iter().position(|(location, _)| *location == place)
                && let Some(found) = cached.remove(at)
            {
                let entry = Arc::clone(&found.1);
                cached.push_front(found);
                return Ok(entry);
            }
        }
        // Two threads may read the same entry at once; that is better than all threads waiting for
        // one.
        let entry = Arc::new(read()?);
        let mut cached = self.cached.lock();
        cached.push_front((place, Arc::clone(&entry)));
        let (mut bytes, limit) = (0, self.limit.load(Ordering::Relaxed));
        cached.retain(|(_, entry)| {
            bytes += entry.bytes();
            bytes <= limit
        });
        Ok(entry)
    }

    /// Removes the entries of a file.
    pub(crate) fn forget(&self, file: u32) {
        self.cached.lock().retain(|(place, _)| place.file != file);
    }

    /// Removes all entries.
    pub(crate) fn clear(&self) {
        self.cached.lock().clear();
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
        assert_eq!(unpacked.cached.lock().len(), 15);
        assert_eq!(get(6, 1), 0, "it was used since");
        assert_eq!(get(6, 2), 1, "of another file");
        unpacked.forget(1);
        assert_eq!(get(6, 2), 0);
        assert_eq!(unpacked.cached.lock().len(), 1);
        unpacked.set_limit(1 << 9);
        assert_eq!((get(7, 2), get(7, 2)), (1, 1), "an entry over the limit is not kept");
    }
}
