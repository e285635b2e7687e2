//! The port for stores of answers.

use bardo_access::BoxFuture;
use bardo_types::Degradation;
use bardo_types::chat::StreamEvent;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_types::usage::Usage;
use bytes::Bytes;

use crate::call::Call;

/// A request that an answer is looked for.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The request of this stage.
    pub call: &'a Call,
    /// How well an answer has to have been kept.
    pub class: SecurityClass,
}

/// An answer that was kept. The gateway makes the caller's answer and its receipt of it.
#[derive(Debug, Clone)]
pub struct StoredAnswer {
    /// Model that made it, by the catalog's name.
    pub model: String,
    /// Usage when it was made; `None` where that is unknown.
    pub usage: Option<Usage>,
    /// What it lacks of what was asked for.
    pub degraded: Vec<Degradation>,
    /// The answer itself.
    pub body: StoredBody,
}

/// The content of a stored answer.
#[derive(Debug, Clone)]
pub enum StoredBody {
    /// Bytes in the dialect of the request: one JSON document, or the server-sent events of a
    /// request that streams.
    Bytes(Bytes),
    /// Neutral events up to the last one, for a caller of any dialect.
    Events(Vec<StreamEvent>),
}

/// Keeps answers and finds them again.
pub trait AnswerStore: Send + Sync {
    /// An answer to the request that may be served; a store that does not answer is a miss.
    fn find<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Option<StoredAnswer>>;

    /// The charge for serving an answer to a caller that pays; nothing by default.
    fn charge(&self, asked: Asked<'_>, answer: &StoredAnswer) -> MicroUsd {
        let _ = (asked, answer);
        MicroUsd::ZERO
    }
}

/// The stores of an engine, in the order in which they are asked.
#[derive(Default)]
pub struct Stores {
    /// Find answers to the identical request.
    pub by_hash: Vec<Box<dyn AnswerStore>>,
    /// Find answers to a request of the same meaning.
    pub by_meaning: Vec<Box<dyn AnswerStore>>,
}
