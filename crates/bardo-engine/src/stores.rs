//! The port for stores of answers.

use bardo_access::BoxFuture;
use bardo_types::privacy::SecurityClass;

use crate::answer::Answer;
use crate::call::Call;

/// A request that an answer is looked for.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The request of this stage.
    pub call: &'a Call,
    /// How well an answer has to have been kept.
    pub class: SecurityClass,
}

/// Keeps answers and finds them again.
pub trait AnswerStore: Send + Sync {
    /// An answer to the request that may be served; a store that does not answer is a miss.
    fn find<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Option<Answer>>;
}

/// The stores of an engine, in the order in which they are asked.
#[derive(Default)]
pub struct Stores {
    /// Find answers to the identical request.
    pub by_hash: Vec<Box<dyn AnswerStore>>,
    /// Find answers to a request of the same meaning.
    pub by_meaning: Vec<Box<dyn AnswerStore>>,
}
