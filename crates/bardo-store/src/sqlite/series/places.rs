//! Places of receipts within a block, as a set of bits that is stored in few bytes.

/// Number of receipts in a block.
pub(super) const BLOCK: i64 = 4_096;
const WORDS: usize = 64;
/// A list of this many places is as long as all bits.
const LIST_MAX: u32 = 256;

/// A set of places from 0 to 4,095.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Places([u64; WORDS]);

impl Default for Places {
    fn default() -> Self {
        Self::NONE
    }
}

impl Places {
    pub(super) const NONE: Self = Self([0; WORDS]);

    /// Block and place of a receipt by its number.
    pub(super) fn of(no: i64) -> (i64, usize) {
        let place = usize::try_from(no.rem_euclid(BLOCK)).unwrap_or(0);
        (no.div_euclid(BLOCK), place)
    }

    pub(super) fn insert(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    pub(super) fn remove(&mut self, place: usize) {
        self.0[place / 64] &= !(1 << (place % 64));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(super) fn retain(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    /// All places, the highest first.
    pub(super) fn descending(&self) -> impl Iterator<Item = usize> + '_ {
        (0..WORDS).rev().flat_map(|word| {
            let bits = self.0[word];
            (0..64)
                .rev()
                .filter(move |bit| bits & (1 << bit) != 0)
                .map(move |bit| word * 64 + bit)
        })
    }

    /// As the store keeps it: all bits, or a list of places where that is shorter.
    pub(super) fn write(&self) -> Vec<u8> {
        let count: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        if count >= LIST_MAX {
            return self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        }
        let places = self.descending();
        places
            .filter_map(|place| u16::try_from(place).ok())
            .flat_map(u16::to_le_bytes)
            .collect()
    }

    /// A set that [`Self::write`] wrote.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut places = Self::NONE;
        if bytes.len() == WORDS * 8 {
            for (word, bytes) in places.0.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*bytes);
            }
            return places;
        }
        for pair in bytes.as_chunks::<2>().0 {
            places.insert(usize::from(u16::from_le_bytes(*pair)) % 4_096);
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_back_as_they_were_written_however_many() {
        for count in [0, 1, 255, 256, 4_096] {
            let mut places = Places::NONE;
            for place in 0..count {
                places.insert(place);
            }
            let stored = places.write();
            assert!(stored.len() <= 512);
            assert_eq!(Places::read(&stored), places, "{count}");
            let back: Vec<_> = places.descending().collect();
            assert_eq!(back, (0..count).rev().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_receipt_has_one_place_and_can_leave_it() {
        assert_eq!(Places::of(4_097), (1, 1));
        let mut places = Places::NONE;
        places.insert(1);
        places.remove(1);
        assert!(places.is_empty());
    }
}
