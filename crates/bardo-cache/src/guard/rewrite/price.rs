//! What something costs: its price, its worth, its tax, an exchange rate.

use super::pattern::{
    REACH, clause_end, is_complete, is_named, is_noun, is_word, mark, opens, opens_longer,
    place_of, place_of_row, verb_behind, words,
};
use crate::guard::scan::{Token, TokenKind};

/// "How much does X cost" is "what is the price of X".
pub(super) fn cost_to_price(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = opens(&tokens, [&["@howmuch", "what"], &["do", "does", "did"]]);
    let named = !is_word(
        tokens.get(2),
        &["i", "you", "we", "it", "they", "he", "she"],
    );
    let cost = place_of(&tokens, 3..clause_end(&tokens, 1), &["cost"]);
    if let Some(cost) = cost.filter(|_| asks && named)
        && !is_word(tokens.get(cost + 1), &["to", "me", "you", "us"])
    {
        let past = is_word(tokens.get(1), &["did"]);
        tokens.remove(cost);
        tokens.splice(..2, words(&["@what", "price", "of"]));
        tokens.push(mark(past));
    }
    tokens
}

/// "Tell me how much the plan costs" is "how much does the plan cost".
pub(super) fn told_costs_to_does_cost(mut tokens: Vec<Token>) -> Vec<Token> {
    let told = usize::from(opens(&tokens, [&["@what"], &["@howmuch"]]));
    let from = told + 1;
    let end = clause_end(&tokens, from);
    if let Some(last) = end.checked_sub(1).filter(|last| *last > from)
        && is_word(tokens.get(told), &["@howmuch"])
        && is_word(tokens.get(last), &["costs"])
        && is_named(&tokens[from..last])
    {
        tokens[last] = Token::word("cost");
        tokens.splice(..from, words(&["@howmuch", "does"]));
    }
    tokens
}

/// "How much is ETH worth" and "what is ETH worth" ask for the price of ETH.
pub(super) fn worth_to_price(mut tokens: Vec<Token>) -> Vec<Token> {
    let priced = ["@what", "price", "of"];
    let short = opens(&tokens, [&["what"], &["is", "are", "was"]]);
    let long = opens_longer(&tokens, &priced);
    let from = match (short, long) {
        (true, _) => 2,
        (_, true) => 3,
        _ => return tokens,
    };
    if let Some(at) = verb_behind(&tokens, from, &["worth"])
        && is_complete(&tokens, at + 1)
    {
        tokens.remove(at);
        if short {
            let past = is_word(tokens.get(1), &["was"]);
            tokens.splice(..2, words(&priced));
            tokens.push(mark(past));
        }
    }
    tokens
}

/// "The euro to dollar exchange rate" is "the exchange rate from euro to dollar".
pub(super) fn pair_rate_to_rate_from(mut tokens: Vec<Token>) -> Vec<Token> {
    let rate = place_of_row(&tokens, 3..tokens.len(), [&["exchange"], &["rate"]]);
    if let Some(at) = rate
        && is_word(tokens.get(at - 2), &["to"])
        && is_noun(&tokens[at - 1..at])
        && is_noun(&tokens[at - 3..at - 2])
        && (at == 3 || is_word(tokens.get(at - 4), &["the", "@what", "is", "of", "for"]))
    {
        let rate: Vec<Token> = tokens.drain(at..at + 2).collect();
        tokens.insert(at - 3, Token::word("from"));
        tokens.splice(at - 3..at - 3, rate);
    }
    tokens
}

/// "Are stock gains taxable" is "must I pay tax on stock gains".
pub(super) fn taxable_to_pay_tax(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let taxed = place_of(&tokens, 2..end.min(1 + REACH), &["taxable", "taxed"]);
    if let Some(at) = taxed
        && is_word(tokens.first(), &["is", "are"])
        && is_named(&tokens[1..at])
        && is_complete(&tokens, at + 1)
    {
        let mut found = words(&["@must", "i", "pay", "tax", "on"]);
        found.extend_from_slice(&tokens[1..at]);
        found.extend(tokens.drain(at + 1..));
        return found;
    }
    tokens
}

/// "What did X pay for Y" is "how much did X pay for Y".
pub(super) fn pay_what_to_how_much(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let asks = opens(&tokens, [&["what"], &["did", "does", "do"]]);
    let pay = place_of(&tokens, 3..end.min(2 + REACH), &["pay-for", "pay"]);
    if let Some(at) = pay.filter(|_| asks)
        && is_named(&tokens[2..at])
        && (tokens[at].is_word("pay-for") || is_word(tokens.get(at + 1), &["to"]))
        && at + 1 < end
    {
        tokens[0] = Token::word("@howmuch");
        if is_word(tokens.get(at + 2), &["buy", "acquire", "purchase"]) {
            tokens.splice(at..at + 3, words(&["pay-for"]));
        }
    }
    tokens
}

/// "Does X cost less than Y" is "is X cheaper than Y".
pub(super) fn costs_less_to_cheaper(mut tokens: Vec<Token>) -> Vec<Token> {
    let Some(cost) = verb_behind(&tokens, 1, &["cost"]) else {
        return tokens;
    };
    let cheaper: &[&str] = match tokens.get(cost + 1).map(|than| than.text.as_str()) {
        Some("lessthan") => &["cheaper", "than"],
        Some("morethan") => &["more", "expensive", "than"],
        _ => return tokens,
    };
    let counted = tokens
        .get(cost + 2)
        .is_some_and(|sum| sum.kind != TokenKind::Word);
    if is_word(tokens.first(), &["does", "do"]) && !counted {
        tokens.splice(cost..cost + 2, words(cheaper));
        tokens[0] = Token::word("is");
    }
    tokens
}
