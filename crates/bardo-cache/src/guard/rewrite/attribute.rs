//! Verbs that ask for an attribute: "how fast does light travel" asks for the speed of light.

use super::pattern::{
    REACH, asked_of_noun, break_from, clause_end, is_complete, is_named, is_noun, is_of_class,
    is_preposition, is_word, mark, opens, place_of, stand_at, verb_behind, words,
};
use crate::guard::scan::{Token, TokenKind};

/// "How did X perform" is "what was the performance of X".
pub(super) fn perform_to_performance(mut tokens: Vec<Token>) -> Vec<Token> {
    let aux = ["did", "has", "have", "is", "are", "does", "do"];
    let asks = opens(&tokens, [&["how"], &aux]);
    let named = !is_word(
        tokens.get(2),
        &["i", "you", "we", "it", "they", "he", "she", "not"],
    );
    let verbs = ["perform", "performed", "performing", "do", "done", "doing"];
    let verb = place_of(&tokens, 3..clause_end(&tokens, 1).min(REACH), &verbs);
    // "How does Go do error handling" asks something else.
    let ends = |next: &Token| {
        next.kind != TokenKind::Word
            || next.text.starts_with('@')
            || is_preposition(next)
            || is_of_class(next, "time")
            || matches!(
                next.text.as_str(),
                "this" | "last" | "before" | "after" | "during" | "since"
            )
    };
    if let Some(verb) = verb.filter(|_| asks && named)
        && tokens.get(verb + 1).is_none_or(ends)
    {
        let past = is_word(tokens.get(1), &["did", "has", "have"]);
        tokens.remove(verb);
        tokens.splice(..2, words(&["@what", "performance", "of"]));
        tokens.push(mark(past));
    }
    tokens
}

/// "How fast does light travel" asks for the speed of light.
pub(super) fn travel_to_speed_of(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(&tokens, [&["@what"], &["speed"], &["do", "does"]]);
    let end = clause_end(&tokens, 3);
    let travel = place_of(&tokens, 4..end.min(3 + REACH), &["travel", "move"]);
    if let Some(at) = travel.filter(|_| asks)
        && is_named(&tokens[3..at])
        && is_complete(&tokens, at + 1)
    {
        tokens.remove(at);
        tokens[2] = Token::word("of");
        tokens.push(mark(false));
    }
    tokens
}

/// "At what temperature does X boil" asks for the boiling point of X.
pub(super) fn boil_to_boiling_point(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(
        &tokens,
        [&["what", "@what"], &["temperature"], &["does", "do"]],
    );
    let end = clause_end(&tokens, 3);
    let point = match tokens
        .get(end.saturating_sub(1))
        .map(|verb| verb.text.as_str())
    {
        Some("boil") => "boilingpoint",
        Some("melt") => "meltingpoint",
        Some("freeze") => "freezingpoint",
        _ => return tokens,
    };
    if asks && end > 4 && is_named(&tokens[3..end - 1]) {
        tokens.remove(end - 1);
        tokens.splice(..3, words(&["@what", point, "of"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "How long do elephants live" asks for their lifespan.
pub(super) fn live_to_lifespan(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(&tokens, [&["@howlong"], &["do", "does"]]);
    let end = clause_end(&tokens, 2);
    let live = place_of(&tokens, 3..end.min(REACH), &["live"]);
    if let Some(live) = live.filter(|_| asks)
        && is_named(&tokens[2..live])
        && (live + 1 == end || is_word(tokens.get(live + 1), &["in"]))
    {
        tokens.remove(live);
        tokens.splice(..2, words(&["@what", "lifespan", "of"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "What is the diet of pandas" is "what do pandas eat".
pub(super) fn diet_to_eat(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 5);
    if opens(&tokens, [&["what"], &["is"], &["the"], &["diet"], &["of"]])
        && end > 5
        && is_noun(&tokens[5..end])
    {
        tokens.insert(end, Token::word("eat"));
        tokens.splice(..5, words(&["what", "do"]));
    }
    tokens
}

/// "What does the function return" asks for its return value.
pub(super) fn return_to_return_value(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(&tokens, [&["what"], &["do", "does"]]);
    let end = clause_end(&tokens, 2);
    let verb = place_of(&tokens, 3..end.min(2 + REACH), &["return"]);
    if let Some(at) = verb.filter(|_| asks)
        && is_named(&tokens[2..at])
        && !is_word(tokens.get(2), &["people", "customers", "users"])
        && (at + 1 == end || is_word(tokens.get(at + 1), &["in"]))
    {
        tokens.remove(at);
        tokens.splice(..2, words(&["@what", "returnvalue", "of"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "How does the return policy work" is "what is the return policy".
pub(super) fn policy_works_to_policy(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(&tokens, [&["how"], &["does"]]);
    if let Some(at) = verb_behind(&tokens, 2, &["work"]).filter(|_| asks)
        && is_word(tokens.get(at - 1), &["policy"])
        && is_complete(&tokens, at + 1)
    {
        tokens.remove(at);
        tokens.splice(..2, words(&["@what"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "How much memory does X use" asks for the memory usage of X.
pub(super) fn use_to_usage(mut tokens: Vec<Token>) -> Vec<Token> {
    let Some((aux, past)) = asked_of_noun(&tokens, &["@howmuch"]) else {
        return tokens;
    };
    if let Some(at) = verb_behind(&tokens, aux + 1, &["use", "consume"])
        && is_complete(&tokens, at + 1)
        && !is_word(tokens.get(at + 1), &["to", "for"])
    {
        tokens.remove(at);
        tokens.splice(aux..=aux, words(&["usage", "of"]));
        tokens[0] = Token::word("@what");
        tokens.push(mark(past));
    }
    tokens
}

/// "How much does X weigh" asks for the weight of X.
pub(super) fn weigh_to_weight_of(tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(&tokens, [&["@howmuch"], &["do", "does"]]);
    verb_to_noun(tokens, asks, "weigh", &["@what", "weight", "of"])
}

/// "The workings of X" and "the mechanism behind X" are how X works.
pub(super) fn workings_to_how_it_works(mut tokens: Vec<Token>) -> Vec<Token> {
    let nouns = ["workings", "mechanism", "mechanics"];
    let at = usize::from(opens(&tokens, [&["what"], &["is", "are"]])) + 1;
    let asks = is_word(tokens.first(), &["what", "@what"]);
    let row: [&[&str]; 3] = [&["the"], &nouns, &["of", "behind"]];
    let end = clause_end(&tokens, at + 3);
    if asks && stand_at(&tokens, at, row) && end > at + 3 && is_named(&tokens[at + 3..end]) {
        tokens.insert(end, Token::word("work"));
        tokens.splice(..at + 3, words(&["how", "does"]));
    }
    tokens
}

/// "What is the role of X" and "what is X's role" are "what does X do".
pub(super) fn role_to_does_do(mut tokens: Vec<Token>) -> Vec<Token> {
    let nouns = ["role", "job", "function"];
    let at = usize::from(opens(&tokens, [&["what"], &["is"]])) + 1;
    let asks = is_word(tokens.first(), &["what", "@what"]);
    let end = break_from(&tokens, at);
    let owned = end
        .checked_sub(2)
        .filter(|mark| *mark > at && tokens[*mark].text == "@s" && at == 2);
    if let Some(mark) = owned.filter(|mark| is_word(tokens.get(mark + 1), &nouns))
        && is_named(&tokens[at..mark])
    {
        tokens.splice(mark..end, words(&["do"]));
        tokens.splice(..at, words(&["what", "does"]));
        return tokens;
    }
    let row: [&[&str]; 3] = [&["the"], &nouns, &["of"]];
    let end = clause_end(&tokens, at + 3);
    // The role of an actor in a film is another one.
    let placed = place_of(&tokens, at + 3..end, &["in"]).is_some();
    if asks
        && !placed
        && stand_at(&tokens, at, row)
        && end > at + 3
        && is_named(&tokens[at + 3..end])
    {
        tokens.insert(end, Token::word("do"));
        tokens.splice(..at + 3, words(&["what", "does"]));
    }
    tokens
}

/// "When is X due" asks for the due date of X.
pub(super) fn due_to_due_date(tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(&tokens, [&["when"], &["is", "are"]]);
    verb_to_noun(tokens, asks, "due", &["@what", "the", "due", "date", "of"])
}

/// The question with `opening` in place of its first two words and of the word that ends its clause.
fn verb_to_noun(mut tokens: Vec<Token>, asks: bool, verb: &str, opening: &[&str]) -> Vec<Token> {
    if let Some(at) = verb_behind(&tokens, 2, &[verb]).filter(|_| asks)
        && is_complete(&tokens, at + 1)
    {
        tokens.remove(at);
        tokens.splice(..2, words(opening));
        tokens.push(mark(false));
    }
    tokens
}
