//! An exact search over vectors of small integers.

/// Components of a vector of the model in the program.
pub const DIMENSIONS: usize = 384;

/// The square of the scale: a component of 127 is 1.
const UNIT: f32 = 127.0 * 127.0;

/// Components at the start of a vector that are compared first.
const HEAD: usize = 128;
/// Components of the rest that are compared at once. Shorter vectors are filled up with zeros.
const PART: usize = 128;

/// Unit vectors of one length as integers, in blocks of memory.
///
/// A search is exact and reads the tails of few vectors: the product of two tails is at most the
/// product of their lengths, so a head with a small product already excludes a high cosine.
#[derive(Debug, Default)]
pub struct VectorBlock {
    /// Components of the rest of each vector, a multiple of [`PART`]. The first vector decides.
    rest: usize,
    heads: Vec<i8>,
    tails: Vec<i8>,
    /// The length of each tail, rounded up.
    lengths: Vec<f32>,
}

impl VectorBlock {
    /// The number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there is no vector.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Adds a vector behind the others. All vectors of a block have one length; components beyond
    /// that of the first vector are left out.
    pub fn push(&mut self, vector: &[i8]) {
        let (head, tail) = vector.split_at(vector.len().min(HEAD));
        if self.is_empty() {
            self.rest = tail.len().next_multiple_of(PART);
        }
        let count = self.len() + 1;
        self.heads.extend_from_slice(head);
        self.heads.resize(count * HEAD, 0);
        let tail = &tail[..tail.len().min(self.rest)];
        self.tails.extend_from_slice(tail);
        self.tails.resize(count * self.rest, 0);
        self.lengths.push(length(tail));
    }

    /// Removes the vector at `at`; the last vector takes its place. Does nothing beyond the end.
    pub fn swap_remove(&mut self, at: usize) {
        if at >= self.len() {
            return;
        }
        self.lengths.swap_remove(at);
        let last = self.len();
        for (block, width) in [(&mut self.heads, HEAD), (&mut self.tails, self.rest)] {
            let from = last * width;
            block.copy_within(from..from + width, at * width);
            block.truncate(from);
        }
    }

    /// The places and cosines of the `most` nearest vectors with at least the cosine `from`,
    /// nearest first; equal ones in the order of their places.
    #[must_use]
    pub fn nearest(&self, vector: &[i8], from: f32, most: usize) -> Vec<(usize, f32)> {
        let wide = |at: usize| vector.get(at).map_or(0, |one| i16::from(*one));
        let head: [i16; HEAD] = std::array::from_fn(wide);
        let tail: Vec<i16> = (HEAD..HEAD + self.rest).map(wide).collect();
        let tail_length = length(vector.get(HEAD..).unwrap_or_default());
        let mut found: Vec<(usize, i32)> = Vec::with_capacity(most + 1);
        #[expect(clippy::cast_possible_truncation, reason = "a cosine times 16,129")]
        let mut least = (from * UNIT).ceil() as i32;
        let heads = self.heads.as_chunks::<HEAD>().0.iter();
        for (at, (other, other_length)) in heads.zip(&self.lengths).enumerate() {
            let start = dot(&head, other);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "below 127 × 128 for unit vectors"
            )]
            let rest = (tail_length * other_length).ceil() as i32;
            if start + rest < least {
                continue;
            }
            let other = &self.tails[at * self.rest..(at + 1) * self.rest];
            let parts = tail.as_chunks::<PART>().0.iter();
            let parts = parts.zip(other.as_chunks::<PART>().0);
            let product = start + parts.map(|(one, other)| dot(one, other)).sum::<i32>();
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
            reason = "about 127 × 127 for unit vectors, exact in f32"
        )]
        let cosine = |product: i32| product as f32 / UNIT;
        found
            .into_iter()
            .map(|(at, product)| (at, cosine(product)))
            .collect()
    }
}

/// The length of a vector, never below the true one.
fn length(components: &[i8]) -> f32 {
    let square: i32 = components
        .iter()
        .map(|one| i32::from(*one) * i32::from(*one))
        .sum();
    #[expect(
        clippy::cast_precision_loss,
        reason = "about 127 × 127 for unit vectors, exact in f32"
    )]
    let length = (square as f32).sqrt();
    length.next_up()
}

/// The sum of products. The loop over fixed arrays is compiled to vector instructions.
fn dot<const N: usize>(one: &[i16; N], other: &[i8; N]) -> i32 {
    one.iter()
        .zip(other)
        .map(|(a, b)| i32::from(*a) * i32::from(i16::from(*b)))
        .sum()
}
