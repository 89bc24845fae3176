//! A bounded cache of what was read from the store.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// A cache of at most `most` values. The oldest key leaves first.
#[derive(Debug)]
pub struct Cache<K, V> {
    most: usize,
    values: HashMap<K, V>,
    /// Oldest first.
    order: VecDeque<K>,
}

impl<K: Clone + Eq + Hash, V> Cache<K, V> {
    pub fn new(most: usize) -> Self {
        Self { most, values: HashMap::new(), order: VecDeque::new() }
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key)
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.order.retain(|other| other != key);
        self.values.remove(key)
    }

    pub fn put(&mut self, key: K, value: V) {
        if self.values.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.values.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_where_there_are_too_many() {
        let mut kept = Cache::new(2);
        for (key, value) in [(1, 'a'), (2, 'b'), (1, 'c'), (3, 'd')] {
            kept.put(key, value);
        }
        assert_eq!([1, 2, 3].map(|key| kept.get(&key).copied()), [None, Some('b'), Some('d')]);
        kept.put(2, 'e');
        assert_eq!(kept.get(&2), Some(&'e'));
        assert_eq!((kept.values.len(), kept.order.len()), (2, 2));
    }
}
