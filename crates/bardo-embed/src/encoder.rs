//! What the thread of an embedder runs.

use crate::vector::Vector;

/// A loaded model.
pub(crate) trait Encoder {
    /// Engine, model, dimension and content: vectors of two namespaces are never compared.
    fn namespace(&self) -> &str;

    /// The vector of a text, read up to `tokens_max` tokens.
    ///
    /// # Errors
    /// A reason in words; the next text may do well.
    fn encode(&mut self, text: &str, tokens_max: usize) -> Result<EncodedText, String>;
}

/// A text that was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EncodedText {
    pub(crate) vector: Vector,
    /// Tokens that the model read, with the two at the ends.
    pub(crate) tokens: usize,
    /// True where the text goes on behind what was read.
    pub(crate) cut: bool,
}
