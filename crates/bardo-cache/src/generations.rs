//! A map of bounded size that forgets what was not used for longest.

use std::collections::HashMap;
use std::hash::Hash;

/// Two generations of entries. Each use moves an entry into the young one; when that is full it
/// becomes the old one, and the former old one is dropped. So an entry that is used among any
/// `half` different ones stays, and every operation takes constant time.
#[derive(Debug)]
pub(crate) struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    half: usize,
}

impl<K: Eq + Hash, V> Generations<K, V> {
    /// A map of at most `capacity` entries, and of two at least.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            half: (capacity / 2).max(1),
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    /// Puts an entry among the young ones.
    pub(crate) fn put(&mut self, key: K, value: V) {
        self.old.remove(&key);
        if self.young.len() >= self.half && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.young.remove(key).or_else(|| self.old.remove(key))
    }

    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_what_is_used_stays() {
        let mut map = Generations::new(8);
        for number in 0..1_000_u32 {
            map.put(number, number);
            map.put(u32::MAX, 1);
            assert!(map.len() <= 8);
        }
        assert_eq!(map.get(&u32::MAX), Some(&1));
        assert_eq!(map.get(&999), Some(&999));
        assert_eq!(map.get(&0), None);
        assert_eq!(map.remove(&999), Some(999));
        assert_eq!(map.get(&999), None);
    }
}
