//! What is required or recommended: "is a visa required" is "do I need a visa".

use super::pattern::{
    REACH, WHAT, asked_of_noun, clause_end, is_complete, is_end, is_noun, is_of_class,
    is_preposition, is_word, mark, place_of, verb_behind, words,
};
use crate::guard::scan::{Token, TokenKind};
use crate::guard::tables::TABLES;

/// "Is X required to do it" is "do I need X to do it".
pub(super) fn is_required_to_do_i_need(mut tokens: Vec<Token>) -> Vec<Token> {
    if !is_word(tokens.first(), &["is", "are"]) {
        return tokens;
    }
    let end = clause_end(&tokens, 1);
    let verb = place_of(
        &tokens,
        2..end.min(REACH),
        &["required", "needed", "necessary"],
    );
    let Some(verb) = verb else {
        return document_must_to_do_i_need(tokens);
    };
    let plain = tokens[1..verb].iter().all(|token| {
        token.kind == TokenKind::Word
            && !matches!(
                token.text.as_str(),
                "it" | "there" | "not" | "this" | "that"
            )
            && !is_preposition(token)
    });
    let gerund = tokens.get(verb + 2).is_some_and(|next| {
        let travels = next.text.ends_with("ing") || next.text == "travel";
        travels && TABLES.is_verb(&TABLES.base(&next.text))
    });
    let last = verb + 1 == end;
    let aims =
        is_word(tokens.get(verb + 1), &["to"]) || is_word(tokens.get(verb + 1), &["for"]) && gerund;
    if plain && (last || aims) {
        if aims {
            tokens[verb + 1] = Token::word(if gerund { "@aux" } else { "to" });
        }
        tokens.remove(verb);
        tokens.splice(..1, words(&["do", "i", "need"]));
    }
    tokens
}

/// "Is a visa required to enter" is "do I need a visa to enter": "required to" is a mark by now. "Is the
/// lawyer required to testify" asks of a duty.
fn document_must_to_do_i_need(mut tokens: Vec<Token>) -> Vec<Token> {
    let must = clause_end(&tokens, 1);
    let last = must
        .checked_sub(1)
        .filter(|last| *last > 0 && must <= REACH);
    let papers = last.is_some_and(|last| {
        TABLES
            .papers
            .contains(&TABLES.canonical(&tokens[last].text))
            || is_of_class(&tokens[last], "ticker")
    });
    let plain = tokens[1..must].iter().all(|token| {
        token.kind == TokenKind::Word
            && !is_preposition(token)
            && !matches!(token.text.as_str(), "it" | "there" | "not")
    });
    if papers && plain && is_word(tokens.get(must), &["@must"]) {
        tokens[must] = Token::word("to");
        tokens.splice(..1, words(&["do", "i", "need"]));
    }
    tokens
}

/// "Which permissions does X need" asks which are required for X.
pub(super) fn needs_to_required_for(mut tokens: Vec<Token>) -> Vec<Token> {
    let Some((aux, past)) = asked_of_noun(&tokens, &WHAT) else {
        return tokens;
    };
    let at = verb_behind(&tokens, aux + 1, &["need", "require"]);
    let last = |at: &usize| tokens.get(at + 1).is_none_or(is_end);
    if let Some(at) = at.filter(last) {
        tokens.remove(at);
        let be = if past { "were" } else { "are" };
        tokens.splice(aux..=aux, words(&[be, "required", "for"]));
    }
    tokens
}

/// "Which perfume do you recommend" is "what is a good perfume".
pub(super) fn recommend_to_good(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let aux = place_of(&tokens, 2..end.min(5), &["do", "would"]);
    if let Some(aux) = aux
        && is_word(tokens.first(), &["what", "which"])
        && is_word(tokens.get(aux + 1), &["you"])
        && is_word(tokens.get(aux + 2), &["recommend", "suggest"])
        && is_noun(&tokens[1..aux])
        && is_complete(&tokens, aux + 3)
    {
        tokens.drain(aux..aux + 3);
        tokens.splice(..1, words(&["@what", "good"]));
        tokens.push(mark(false));
    }
    tokens
}
