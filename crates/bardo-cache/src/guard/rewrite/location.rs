//! Where something is, is kept or comes out of, and what belongs to a place.

use super::pattern::{
    REACH, break_from, clause_end, is_break, is_named, is_noun, is_verb, is_word, mark, opens,
    participle_of, place_of, place_of_row, stand_at, words,
};
use crate::guard::scan::Token;

/// "Where can X be found" is "where is X".
pub(super) fn be_found_to_where_is(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(&tokens, [&["where"], &["can", "could"]]);
    let end = clause_end(&tokens, 1);
    if asks
        && end > 4
        && is_word(tokens.get(end - 2), &["be"])
        && is_word(tokens.get(end - 1), &["found", "located", "seen", "viewed"])
        && is_named(&tokens[2..end - 2])
    {
        tokens.drain(end - 2..end);
        tokens.splice(..2, words(&["@where"]));
        tokens.push(mark(false));
    }
    tokens
}

/// "Where do you store the backups" is "where are the backups stored". "Where do I store them" asks
/// for advice.
pub(super) fn where_you_keep_to_where_kept(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(
        &tokens,
        [&["where", "@where"], &["do"], &["you", "we", "they"]],
    );
    if !asks {
        return tokens;
    }
    let verb = tokens.get(3).map(|verb| match verb.text.as_str() {
        "keep" => "kept".to_owned(),
        word => participle_of(word),
    });
    let end = clause_end(&tokens, 3);
    if let Some(verb) =
        verb.filter(|_| is_word(tokens.get(3), &["keep", "store", "save", "host"]) && end > 4)
    {
        tokens.insert(end, Token::word(verb));
        tokens.splice(..4, words(&["where", "are"]));
    }
    tokens
}

/// "Get a stain out of a shirt" is "remove a stain from a shirt", before "out of" is read as "from".
pub(super) fn out_of_to_remove_from(mut tokens: Vec<Token>) -> Vec<Token> {
    let get = place_of(&tokens, 0..tokens.len(), &["get", "take"]);
    let Some(get) = get else {
        return tokens;
    };
    let out = (get + 2..tokens.len().min(get + REACH))
        .take_while(|&at| !is_break(&tokens[at]))
        .find(|&at| {
            stand_at(&tokens, at, [&["out"], &["of"]])
                || tokens[get].is_word("get") && is_word(tokens.get(at), &["off"])
        });
    let off = out.is_some_and(|out| tokens[out].is_word("off"));
    if let Some(out) = out
        && is_named(&tokens[get + 1..out])
        && (off || tokens[get].is_word("take") || is_word(tokens.get(out - 1), &STAINS))
        && !is_word(tokens.get(get + 1), &["more", "most"])
        && !is_word(
            tokens.get(out + 2 - usize::from(off)),
            &["it", "this", "that", "work"],
        )
        && (!off || is_word(tokens.get(out + 1), &["my", "the", "a", "an", "your"]))
    {
        tokens[get] = Token::word("remove");
        tokens.splice(out..out + 2 - usize::from(off), words(&["from"]));
    }
    tokens
}

/// Things that are in another one by accident. Gum in a packet, juice in a lemon and a value in a map are not.
const STAINS: [&str; 30] = [
    "stain",
    "stains",
    "smell",
    "smells",
    "odor",
    "odour",
    "ink",
    "blood",
    "wax",
    "grease",
    "dirt",
    "mud",
    "mold",
    "mould",
    "rust",
    "paint",
    "dust",
    "hair",
    "hairs",
    "sand",
    "wrinkles",
    "scratches",
    "dents",
    "splinter",
    "tick",
    "sticker",
    "stickers",
    "glue",
    "limescale",
    "wine",
];

/// "Which language do people in Brazil speak" is "which language is spoken in Brazil".
pub(super) fn people_speak_to_is_spoken(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let row: [&[&str]; 4] = [&["do"], &["people", "they"], &["speak", "use"], &["in"]];
    let verb = place_of_row(&tokens, 2..end.min(5), row);
    if let Some(aux) = verb.filter(|&aux| is_noun(&tokens[1..aux]))
        && is_word(tokens.first(), &["what", "which"])
    {
        let speaks = tokens[aux + 2].is_word("speak");
        let done = if speaks { "spoken" } else { "used" };
        tokens.splice(aux..aux + 3, words(&["is", done]));
        return tokens;
    }
    let aux = place_of_row(&tokens, 2..end.min(5), [&["do"], &["people"], &["in"]]);
    if let Some(aux) = aux
        && is_word(tokens.first(), &["what", "which"])
        && is_noun(&tokens[1..aux])
        && end > aux + 4
        && is_verb(tokens.get(end - 1))
        && is_noun(&tokens[aux + 3..end - 1])
    {
        let verb = tokens.remove(end - 1);
        // Unlike `participle_of`, this takes each "e" of "see".
        let done = format!("{}ed", verb.text.trim_end_matches('e'));
        tokens.splice(aux..aux + 2, words(&["are", &done]));
    }
    tokens
}

/// "Which currency is used in Japan" asks for the currency of Japan.
pub(super) fn used_in_to_in(mut tokens: Vec<Token>) -> Vec<Token> {
    if opens(
        &tokens,
        [
            &["what", "which"],
            &["currency", "voltage", "alphabet"],
            &["is"],
            &["used"],
            &["in"],
        ],
    ) {
        tokens.remove(3);
    }
    tokens
}

/// "Which city is Australia's capital" is "what is Australia's capital".
pub(super) fn city_is_capital_to_capital(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = break_from(&tokens, 0);
    let owned = tokens.iter().any(|token| token.text == "@s");
    if opens(&tokens, [&["what", "which", "@what"], &["city"], &["is"]])
        && owned
        && is_word(tokens.get(end.saturating_sub(1)), &["capital"])
    {
        tokens.remove(1);
    }
    tokens
}

/// "What is the source of X" is "where does X come from".
pub(super) fn source_to_where_from(mut tokens: Vec<Token>) -> Vec<Token> {
    let at = usize::from(opens(&tokens, [&["what"], &["is"]])) + 1;
    let asks = is_word(tokens.first(), &["what", "@what"]);
    let row: [&[&str]; 3] = [&["the"], &["source", "origin"], &["of"]];
    let end = break_from(&tokens, at + 3);
    let last = tokens.iter().skip(end).all(is_break);
    // A muscle has an origin too, and a program a source.
    let known = place_of(&tokens, at..end, &["@s", "income", "money"]).is_some();
    if asks && known && stand_at(&tokens, at, row) && last && is_named(&tokens[at + 3..end]) {
        tokens.splice(end..end, words(&["origin", "from"]));
        tokens.splice(..at + 3, words(&["where", "does"]));
    }
    tokens
}
