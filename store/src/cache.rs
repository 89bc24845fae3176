//! A cache of unpacked content that is bounded in bytes: a caller that reads one part of it often
//! reads the next one.

use std::hash::Hash;
use std::sync::Arc;

use lru::LruCache;
use milepost_codec::Result;
use parking_lot::Mutex;

/// A value that knows its size in memory.
pub trait InMemory {
    /// Returns the bytes that it takes in memory.
    fn bytes(&self) -> usize;
}

impl InMemory for [u8] {
    fn bytes(&self) -> usize {
        self.len()
    }
}

/// The values that were used last.
#[derive(Debug)]
pub struct Cache<K: Hash + Eq, V: ?Sized>(Mutex<Cached<K, V>>);

#[derive(Debug)]
struct Cached<K: Hash + Eq, V: ?Sized> {
    values: LruCache<K, Arc<V>>,
    bytes: usize,
    limit: usize,
}

impl<K: Hash + Eq + Clone, V: InMemory + ?Sized> Cache<K, V> {
    /// Creates an empty cache of this many bytes.
    pub fn of(bytes: usize) -> Self {
        Self(Mutex::new(Cached { values: LruCache::unbounded(), bytes: 0, limit: bytes }))
    }

    /// Sets the maximum bytes.
    pub fn set_limit(&self, bytes: usize) {
        self.0.lock().limit = bytes;
    }

    /// Returns a value, and reads it if it is not cached.
    ///
    /// # Errors
    ///
    /// Errors of `read`.
    pub fn get(&self, key: K, read: impl FnOnce() -> Result<Arc<V>>) -> Result<Arc<V>> {
        if let Some(value) = self.0.lock().values.get(&key) {
            return Ok(Arc::clone(value));
        }
        // Two threads may read the same value at once; that is better than all threads waiting for
        // one.
        let value = read()?;
        let mut cached = self.0.lock();
        cached.bytes += value.bytes();
        if let Some(other) = cached.values.put(key, Arc::clone(&value)) {
            cached.bytes -= other.bytes();
        }
        while cached.bytes > cached.limit
            && let Some((_, oldest)) = cached.values.pop_lru()
        {
            cached.bytes -= oldest.bytes();
        }
        Ok(value)
    }

    /// Removes the values whose keys are no longer in use.
    pub fn forget(&self, is_gone: impl Fn(&K) -> bool) {
        let mut cached = self.0.lock();
        let keys = cached.values.iter().map(|(key, _)| key);
        for key in keys.filter(|key| is_gone(key)).cloned().collect::<Vec<_>>() {
            let removed = cached.values.pop(&key);
            cached.bytes -= removed.map_or(0, |value| value.bytes());
        }
    }

    /// Removes all values.
    pub fn clear(&self) {
        self.forget(|_| true);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_values_used_last_are_kept_up_to_a_limit() {
        let cache = Cache::<(i32, i32), [u8]>::of(15 << 10);
        let reads = std::cell::Cell::new(0);
        let get = |at, file| {
            let read = || {
                reads.set(reads.get() + 1);
                Ok(Arc::from(vec![0; 1 << 10]))
            };
            cache.get((file, at), read).unwrap();
            reads.take()
        };
        assert_eq!((0..20).map(|at| get(at, 1)).sum::<i32>(), 20);
        assert_eq!((get(19, 1), get(6, 1)), (0, 0));
        assert_eq!(get(0, 1), 1, "the first is removed");
        assert_eq!(cache.0.lock().values.len(), 15);
        assert_eq!(get(6, 1), 0, "it was used since");
        assert_eq!(get(6, 2), 1, "of another file");
        cache.forget(|(file, _)| *file == 1);
        assert_eq!(get(6, 2), 0);
        assert_eq!(cache.0.lock().values.len(), 1);
        cache.set_limit(1 << 9);
        assert_eq!((get(7, 2), get(7, 2)), (1, 1), "a value over the limit is not kept");
        assert_eq!(cache.0.lock().bytes, 0);
    }
}
