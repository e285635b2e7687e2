//! An exact search over vectors of small integers.

/// Components of a vector.
pub const DIMENSIONS: usize = 384;

/// The square of the scale: a component of 127 is 1.
const UNIT: f32 = 127.0 * 127.0;

/// Unit vectors as 384 integers each, in one block of memory.
#[derive(Debug, Default)]
pub struct VectorBlock {
    components: Vec<i8>,
}

impl VectorBlock {
    /// The number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.components.len() / DIMENSIONS
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.components.is_empty()
    }

    /// Adds a vector behind the others.
    pub fn push(&mut self, vector: &[i8; DIMENSIONS]) {
        self.components.extend_from_slice(vector);
    }

    /// Removes the vector at `at`; the last vector takes its place. Does nothing beyond the end.
    pub fn swap_remove(&mut self, at: usize) {
        let Some(last) = self.len().checked_sub(1).filter(|last| at <= *last) else {
            return;
        };
        let from = last * DIMENSIONS;
        self.components
            .copy_within(from..from + DIMENSIONS, at * DIMENSIONS);
        self.components.truncate(from);
    }

    /// The places and cosines of the `most` nearest vectors with at least the cosine `from`,
    /// nearest first; equal ones in the order of their places.
    #[must_use]
    pub fn nearest(&self, vector: &[i8; DIMENSIONS], from: f32, most: usize) -> Vec<(usize, f32)> {
        let mut found: Vec<(usize, i32)> = Vec::with_capacity(most + 1);
        #[expect(clippy::cast_possible_truncation, reason = "a cosine times 16,129")]
        let mut least = (from * UNIT).ceil() as i32;
        for (at, other) in self
            .components
            .as_chunks::<DIMENSIONS>()
            .0
            .iter()
            .enumerate()
        {
            let product = dot(vector, other);
            if product < least {
                continue;
            }
            let place = found.partition_point(|(_, known)| *known >= product);
            found.insert(place, (at, product));
            if found.len() > most {
                found.pop();
                least = found.last().map_or(least, |(_, last)| least.max(*last));
            }
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "at most 384 × 127 × 127, exact in f32"
        )]
        let cosine = |product: i32| product as f32 / UNIT;
        found
            .into_iter()
            .map(|(at, product)| (at, cosine(product)))
            .collect()
    }

    /// Memory in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.components.capacity()
    }
}

/// The sum of products. The loop over fixed arrays is compiled to vector instructions.
fn dot(one: &[i8; DIMENSIONS], other: &[i8; DIMENSIONS]) -> i32 {
    one.iter()
        .zip(other)
        .map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b)))
        .sum()
}
