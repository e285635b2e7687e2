//! What a question is restricted to: the time now, and what is done to "my" things by others.

use super::pattern::{clause_end, is_noun, is_preposition, is_verb, is_word, participle_of, words};
use crate::guard::frame::is_auxiliary;
use crate::guard::scan::Token;

/// Keeps "now" in a question for yes or no, before the phrases leave it out: "do I have to pay now" is not
/// "do I have to pay", while "the price now" is "the price".
pub(super) fn asked_now_to_word(tokens: Vec<Token>) -> Vec<Token> {
    let asks = tokens
        .first()
        .is_some_and(|first| is_auxiliary(&first.text));
    if !asks {
        return tokens;
    }
    let mut found: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let behind = |word: &str| found.last().is_some_and(|last| last.is_word(word));
        if token.is_word("now") || token.is_word("moment") && behind("the") {
            while is_word(found.last(), &["right", "the", "at"]) {
                found.pop();
            }
            found.push(Token::word("rightnow"));
        } else {
            found.push(token);
        }
    }
    found
}

/// "How do you use my data" is "how is my data used", and not "how do I use my data".
pub(super) fn you_do_to_mine_to_is_done(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = super::pattern::opens(&tokens, [&["how"], &["do"], &["you"]]);
    let mine = is_word(tokens.get(4), &["my", "our"]);
    if !(asks && mine && is_verb(tokens.get(3))) {
        return tokens;
    }
    let end = clause_end(&tokens, 4);
    let noun = (5..end)
        .find(|&at| is_preposition(&tokens[at]) || is_word(tokens.get(at), &["when", "if"]))
        .unwrap_or(end);
    if is_noun(&tokens[5..noun]) {
        let verb = participle_of(&tokens[3].text);
        tokens.insert(noun, Token::word(verb));
        tokens.splice(..4, words(&["how", "is"]));
    }
    tokens
}
