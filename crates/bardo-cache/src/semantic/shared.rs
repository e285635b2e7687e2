//! The port of a store of vectors that several processes share, behind the index of each.
//!
//! It is a help and never a condition: whatever goes wrong there is a miss and a count. What it
//! returns decides nothing: the process checks scope, similarity and words itself, and takes the
//! answer from the store of answers.

use super::SearchSpace;
use crate::entry::CachedAnswer;
use crate::key::Key;
use crate::second::{LevelFuture, Loss};
use crate::store::Flush;

/// The question of a stored answer, as processes share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedQuestion {
    /// Key of the answer in the store of answers.
    pub key: Key,
    /// The unit vector of the question, with a scale of 127; at most 65,535 numbers.
    pub vector: Box<[i8]>,
    /// The question itself.
    pub text: String,
}

impl SharedQuestion {
    /// The cosine of its vector and another one; 0 where their lengths differ.
    #[must_use]
    pub fn similarity(&self, vector: &[i8]) -> f32 {
        let mut block = super::VectorBlock::default();
        block.push(&self.vector);
        let nearest = match self.vector.len() == vector.len() {
            true => block.nearest(vector, -1.1, 1),
            false => Vec::new(),
        };
        nearest.first().map_or(0.0, |(_, similarity)| *similarity)
    }
}

/// Questions that several processes share.
pub trait SharedQuestions: Send + Sync {
    /// Questions near a vector in one place, nearest first. Ends within the deadline of the store
    /// whatever happens.
    fn nearest<'a>(
        &'a self,
        space: &'a SearchSpace,
        vector: &'a [i8],
    ) -> LevelFuture<'a, Result<Vec<SharedQuestion>, Loss>>;

    /// Keeps the question of an answer as long as the answer lives. The question of an answer above
    /// [`bardo_types::privacy::SecurityClass::Standard`] never leaves the process.
    fn put<'a>(
        &'a self,
        space: &'a SearchSpace,
        question: &'a SharedQuestion,
        entry: &'a CachedAnswer,
    ) -> LevelFuture<'a, Result<(), Loss>>;

    /// Removes the question of an answer that is gone.
    fn remove<'a>(&'a self, key: &'a Key) -> LevelFuture<'a, Result<(), Loss>>;

    /// Removes the questions of the answers that `flush` names.
    fn flush<'a>(&'a self, flush: &'a Flush) -> LevelFuture<'a, Result<(), Loss>>;
}
