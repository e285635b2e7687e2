//! The port for vectors of sentences, which the semantic cache compares.

use std::sync::Arc;
use std::time::Duration;

use bardo_access::BoxFuture;

/// The vector of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct SentenceVector {
    /// A vector of length one, with a scale of 127. All vectors of a namespace have as many numbers.
    pub vector: Box<[i8]>,
    /// The engine, the model and its settings. Vectors of two namespaces are never compared.
    pub namespace: Arc<str>,
}

/// Makes vectors of texts within a deadline.
pub trait SentenceVectors: Send + Sync {
    /// The vector of a text of which at most `tokens_max` tokens are read, within `at_most`.
    ///
    /// # Errors
    /// One word for metrics and explanations: `loading`, `busy`, `late`, `failed`, `crashed` or
    /// `no_embedder`.
    fn vector<'a>(
        &'a self,
        text: &'a str,
        tokens_max: usize,
        at_most: Duration,
    ) -> BoxFuture<'a, Result<SentenceVector, &'static str>>;
}
