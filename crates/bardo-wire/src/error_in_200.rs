//! Errors under status 200: the text of an error where the answer should be.
//!
//! A model may say any of this when it is asked to, so only a text that is nothing else is taken
//! for an error, and only where no word of output was counted.

use bardo_types::fault::{Fault, FaultClass};

/// Whole sentences that gateways and servers put in place of an answer. A model does not begin
/// with one of these in one piece.
const SENTENCES: [&str; 12] = [
    "the ai service is temporarily overloaded. please try again in a moment",
    "the ai service is temporarily overloaded",
    "the service is temporarily overloaded. please try again later",
    "the service is temporarily unavailable. please try again later",
    "service temporarily unavailable. please try again later",
    "the engine is currently overloaded, please try again later",
    "the model is overloaded. please try again later",
    "the server is overloaded. please try again later",
    "this model is currently overloaded. please try again later",
    "the server had an error while processing your request. sorry about that",
    "upstream connect error or disconnect/reset before headers",
    "no available channel for this model",
];

/// Words that are an error only as a whole answer.
const WORDS: [&str; 7] = [
    "overloaded",
    "service unavailable",
    "service temporarily unavailable",
    "internal server error",
    "bad gateway",
    "gateway timeout",
    "too many requests",
];

/// Longer texts are answers.
const LENGTH_MAX: usize = 200;

/// How much of the answer a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it, counted as nothing.
    Whole,
    /// What a stream begins with.
    First,
}

/// The failure that `text` tells of in place of an answer, if it does.
pub(crate) fn fault_in(text: &str, extent: Extent) -> Option<Fault> {
    let text = text.trim();
    if text.is_empty() || text.len() > LENGTH_MAX {
        return None;
    }
    let plain = text.trim_end_matches(['.', '!']);
    let is_plain = |known: &&str| plain.eq_ignore_ascii_case(known);
    let is_sentence = SENTENCES.iter().any(is_plain);
    let is_word = extent == Extent::Whole && WORDS.iter().any(is_plain);
    (is_sentence || is_word).then(|| {
        let class = match plain.to_ascii_lowercase().as_str() {
            "too many requests" => FaultClass::RateLimit,
            "internal server error" => FaultClass::Server,
            "gateway timeout" => FaultClass::Timeout,
            _ => FaultClass::Overloaded,
        };
        Fault::new(
            class,
            format!("the provider sent an error message as an answer: {text}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_that_is_nothing_else_is_an_error() {
        let whole = |text| fault_in(text, Extent::Whole).map(|fault| fault.class);
        let first = |text| fault_in(text, Extent::First).map(|fault| fault.class);
        let sentence = "The AI service is temporarily overloaded. Please try again in a moment.\n";
        assert_eq!(whole(sentence), Some(FaultClass::Overloaded));
        assert_eq!(first(sentence), Some(FaultClass::Overloaded));
        assert_eq!(whole("Overloaded"), Some(FaultClass::Overloaded));
        assert_eq!(first("Overloaded"), None, "operators, perhaps");
        assert_eq!(whole("Too Many Requests"), Some(FaultClass::RateLimit));
        for answer in [
            "",
            "Overloaded operators are resolved at compile time.",
            "It said: the AI service is temporarily overloaded",
            "Bad gateway means that a proxy got no answer.",
        ] {
            assert_eq!(whole(answer), None, "{answer}");
        }
    }
}
