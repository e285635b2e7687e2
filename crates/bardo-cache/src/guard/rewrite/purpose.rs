//! What something is for, and what a word means: "what does the flag do" asks for its purpose.

use super::pattern::{
    clause_end, is_named, is_noun, is_preposition, is_word, mark, opens, place_of, place_of_row,
    verb_behind, words,
};
use crate::guard::frame::is_auxiliary;
use crate::guard::scan::{Token, TokenKind};
use crate::guard::tables::TABLES;

/// "What is X for" and "what is X used for" ask for the purpose of X.
pub(super) fn for_to_purpose(mut tokens: Vec<Token>) -> Vec<Token> {
    let starts = opens(&tokens, [&["what"], &["is", "are"]]);
    let from = if starts { 2 } else { 1 };
    let end = clause_end(&tokens, from);
    let asks = starts || is_word(tokens.first(), &["@what"]);
    // "What is the flag for in Java": "for" ends what is asked of, in front of the place too.
    let placed = place_of_row(&tokens, from + 1..end, [&["for"], &["in"]]);
    let last = placed.or_else(|| {
        let last = end.checked_sub(1).filter(|last| *last > from)?;
        is_word(tokens.get(last), &["for"]).then_some(last)
    });
    let Some(last) = last.filter(|_| asks) else {
        return tokens;
    };
    let used = is_word(tokens.get(last - 1), &["used"]);
    let to = if used { last - 1 } else { last };
    let plain = tokens[from..to].iter().all(|token| {
        token.kind != TokenKind::Word
            || !is_auxiliary(&token.text)
                && (!TABLES.is_verb(&TABLES.base(&token.text))
                    || TABLES.tools.contains(&TABLES.canonical(&token.text)))
                && !matches!(token.text.as_str(), "i" | "you" | "we" | "they" | "it")
    });
    if plain && to > from {
        tokens.drain(to..=last);
        tokens.splice(..from, words(&["@what", "purpose", "of"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "What does the flag do" asks for the purpose of the flag. Of a person or a program it asks more.
pub(super) fn does_do_to_purpose(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(&tokens, [&["what"], &["do", "does"]]);
    if !asks {
        return tokens;
    }
    let end = clause_end(&tokens, 2);
    let does = |at: &usize| {
        is_word(tokens.get(*at), &["do"]) && (at + 1 == end || is_word(tokens.get(at + 1), &["in"]))
    };
    let Some(last) = (3..end).find(does) else {
        return tokens;
    };
    let tool = |token: &Token| {
        token.kind == TokenKind::Path && token.text.starts_with('-')
            || TABLES.tools.contains(&TABLES.canonical(&token.text))
    };
    if is_named(&tokens[2..last]) && tool(&tokens[last - 1]) {
        tokens.remove(last);
        tokens.splice(..2, words(&["@what", "purpose", "of"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "What the flag does", and "what the flag does in Java", is "what does the flag do".
pub(super) fn told_does_to_does_do(mut tokens: Vec<Token>) -> Vec<Token> {
    let from = 1;
    let end = clause_end(&tokens, from);
    let last = place_of(&tokens, 2..end, &["do", "does"]);
    let Some(last) = last.filter(|_| is_word(tokens.first(), &["what", "@what"])) else {
        return tokens;
    };
    let ends = last + 1 == end || is_word(tokens.get(last + 1), &["in"]);
    let told = is_word(tokens.get(last), &["does"]) && ends;
    if told && is_named(&tokens[from..last]) {
        let mut found = words(&["what", "does"]);
        found.extend_from_slice(&tokens[from..last]);
        found.push(Token::word("do"));
        found.extend(tokens.drain(last + 1..));
        return found;
    }
    tokens
}

/// "What does X mean in Java" is "what is the meaning of X in Java", "tell me what X means" is "what is X",
/// and "what is X short for" is "what does X stand for".
pub(super) fn mean_to_what_is(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 2);
    if opens(&tokens, [&["what"], &["do", "does"]]) {
        let refers = verb_behind(&tokens, 2, &["refer"])
            .filter(|at| at + 2 == end && is_word(tokens.get(at + 1), &["to"]));
        let means = verb_behind(&tokens, 2, &["mean"])
            .filter(|at| at + 1 == end || is_word(tokens.get(at + 1), &["in", "on", "simply"]));
        if let Some(at) = refers.or(means) {
            tokens.drain(at..=at + usize::from(refers.is_some()));
            tokens.splice(..2, words(&["@what"]));
            tokens.push(mark(false));
        }
    } else if opens(&tokens, [&["what"], &["is", "are"]])
        && end > 4
        && is_word(tokens.get(end - 2), &["short"])
        && is_word(tokens.get(end - 1), &["for"])
        && is_noun(&tokens[2..end - 2])
    {
        tokens.splice(end - 2..end, words(&["standfor"]));
        tokens.splice(..2, words(&["@what"]));
        tokens.push(mark(false));
    } else if (end == 3 || end == 4 && is_word(tokens.get(3), &["simply"]))
        && is_word(tokens.first(), &["what", "@what"])
        && is_word(tokens.get(2), &["means"])
        && is_noun(&tokens[1..2])
    {
        tokens.remove(2);
        tokens[0] = Token::word("@what");
        tokens.push(mark(false));
    }
    tokens
}

/// "Define entropy" is "what is entropy". "Define a variable" is done, not explained.
pub(super) fn define_to_what_is(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 0);
    // "Define slippage in trading".
    let placed = place_of(&tokens, 2..end, &["in"]);
    let end = placed.filter(|at| at + 2 == end).unwrap_or(end);
    let noun = |token: &Token| {
        token.kind == TokenKind::Word
            && (!token.text.ends_with('s') || token.text.ends_with("ss"))
            && !TABLES.determiners.contains(token.text.as_str())
            && !is_preposition(token)
            && !TABLES.stop.contains(token.text.as_str())
    };
    let last = end.checked_sub(1).filter(|last| *last > 0 && end <= 3);
    let ends = end + 1 >= tokens.len() || placed == Some(end) && end + 3 >= tokens.len();
    let Some(last) = last.filter(|_| ends) else {
        return tokens;
    };
    if is_word(tokens.first(), &["define"]) && tokens[1..end].iter().all(noun) {
        tokens.splice(..1, words(&["what", "is", "a"]));
    } else if placed.is_none()
        && is_word(tokens.get(last), &["definition", "meaning"])
        && tokens[..last].iter().all(noun)
    {
        tokens.remove(last);
        tokens.splice(..0, words(&["what", "is", "a"]));
    }
    tokens
}

/// "What do people use X for" is "what is X used for".
pub(super) fn people_use_for_to_used_for(mut tokens: Vec<Token>) -> Vec<Token> {
    let row: [&[&str]; 4] = [&["what"], &["do"], &["people"], &["use"]];
    let end = clause_end(&tokens, 4);
    let last = end.checked_sub(1).filter(|last| *last > 4);
    if let Some(last) = last.filter(|last| is_word(tokens.get(*last), &["for"]))
        && opens(&tokens, row)
        && is_named(&tokens[4..last])
    {
        tokens.insert(last, Token::word("used"));
        tokens.splice(..4, words(&["what", "is"]));
    }
    tokens
}
