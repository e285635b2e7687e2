//! Short words without content that exclude each other: "this" and "that", "here" and "there".

mod doer;
mod later;
mod question;
mod relative;

use super::mismatch::Mismatch;
use super::scan::{Token, TokenKind};
use super::tables::TABLES;
use super::tense;

/// What one text says where another one says its opposite.
const EXCLUDED: &[(&str, &str)] = &[
    ("this", "that"),
    ("here", "there"),
    // "Is there a doctor" is not "is the doctor there".
    ("there is", "there"),
    // "Is it safe not to renew" is not "is it not safe to renew".
    ("not to", "not"),
    // "The problem is not who pays" is not "the problem is who does not pay".
    ("not who", "not"),
    // "Last week" ended on Sunday, and "the last week" is up to now.
    ("the last", "last"),
    ("the next", "next"),
    // Who is able to upload may not be allowed to. "Can" is either.
    // "A number of users" are several, and "the number of users" is how many.
    ("a number", "the number"),
    ("able", "allowed"),
    // It is possible to cheat, and not allowed.
    ("possible", "allowed"),
    // A landlord can hear what he is not allowed to.
    ("can", "others allowed"),
    ("possible", "others allowed"),
    ("able", "others allowed"),
    // "What is a security" is not "what is security".
    ("one of a kind", "the whole kind"),
    ("whether it is", "when it is"),
    ("others should", "others do"),
    ("others would", "others do"),
    ("should have", "have"),
    // "How long had they been married" is over, and "how long have they been married" is not.
    ("has done", "had done"),
    // "Have the agent sell it" is not "has the agent sold it".
    ("lets do", "has done"),
    ("its meaning", "the thing itself"),
    ("all of which", "those which"),
    // "Invite the users that left" is not "invite the users left".
    ("acts", "done to"),
    ("one that", "several that"),
    ("asks what was", "asks what is"),
    ("asks what was", "asks what will be"),
    // "The bull, said the bear, was wrong" and "the bull said the bear was wrong".
    ("by the way", "reported"),
    ("takes to do", "does"),
    ("lasts", "is long"),
    ("will open", "opens"),
    // "Is it legal for a friend to vote" is not "is it legal to vote for a friend".
    ("for one to do", "done for one"),
    // "What does my husband do" is not "what is he doing".
    ("does do", "is doing"),
    // "Which is better with milk, tea or coffee" is not "which is better, tea or coffee with milk".
    ("with both", "with one"),
    // "Is zero an even number" is not "is zero even a number".
    ("the even", "even the"),
    ("the only", "only the"),
];

/// The short words of a text that exclude others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Contrasts {
    said: Vec<&'static str>,
    /// The text asks about a word and not about what it says: "what rhymes with big".
    pub(super) mentions: bool,
}

impl Contrasts {
    /// Reads the words as they were written, before a rewrite leaves them out.
    pub(super) fn of(tokens: &[Token]) -> Self {
        let words = || tokens.iter().filter(|token| token.kind == TokenKind::Word);
        let mentions = words().any(|token| TABLES.mentions.contains(&TABLES.base(&token.text)));
        // "What does the word mean" asks what it says.
        let means = words().any(|token| TABLES.base(&token.text) == "mean");
        Self {
            said: (0..tokens.len())
                .flat_map(|at| {
                    let (question, later) = (question::said(tokens, at), later::said(tokens, at));
                    [
                        said(tokens, at),
                        question,
                        later,
                        relative::said(tokens, at),
                        relative::voice(tokens, at),
                        doer::said(tokens, at),
                    ]
                })
                .flatten()
                .collect(),
            mentions: mentions && !means,
        }
    }

    /// The first word that only one text has, where only the other one has its opposite.
    pub(super) fn difference(&self, other: &Self) -> Option<Mismatch> {
        let only = |one: &Self, word: &str, opposite: &str| {
            one.said.contains(&word) && !one.said.contains(&opposite)
        };
        let apart = |a: &str, b: &str| only(self, a, b) && only(other, b, a);
        let changed = |one: &str, other: &str| Mismatch::Changed {
            class: "word",
            one: one.to_owned(),
            other: other.to_owned(),
        };
        let points = |one: &Self| -> Vec<&str> {
            let words = one.said.iter().copied();
            words
                .filter(|word| matches!(*word, "this" | "that"))
                .collect()
        };
        // "Is this bag bigger than that one" is not "is that bag bigger than this one".
        let (one, two) = (points(self), points(other));
        let both = one.contains(&"this") && one.contains(&"that") && one.len() == two.len();
        if both && one != two {
            return Some(changed(&one.join(" … "), &two.join(" … ")));
        }
        EXCLUDED.iter().find_map(|&(a, b)| {
            let mirrored = || apart(b, a).then(|| changed(b, a));
            apart(a, b).then(|| changed(a, b)).or_else(mirrored)
        })
    }
}

/// The side of a contrast on which a word is.
fn said(tokens: &[Token], at: usize) -> Option<&'static str> {
    if tokens[at].kind != TokenKind::Word {
        return None;
    }
    Some(match tokens[at].text.as_str() {
        "this" | "these" => "this",
        "that" | "those" | "that's" => "that",
        "here" => "here",
        "there's" => "there is",
        "there" if exists(tokens, at) => "there is",
        "there" if !greets(tokens, at) => "there",
        "not" if tokens.get(at + 1).is_some_and(|next| next.is_word("to")) => "not to",
        word if (word == "not" || word.ends_with("n't")) && denies_clause(tokens, at) => "not who",
        "not" => "not",
        word if word.ends_with("n't") => "not",
        "last" | "next" | "past" if measures(tokens, at) => period(tokens, at),
        "number" if at > 0 && tokens[at - 1].is_word("a") => "a number",
        "number" if at > 0 && tokens[at - 1].is_word("the") => "the number",
        "have" if tense::lets_do(tokens, at) => "lets do",
        "has" | "have" if tense::is_perfect(tokens, at) => "has done",
        "had" if tense::is_perfect(tokens, at) => "had done",
        "doing" => "is doing",
        "role" | "job" if at > 0 && tokens.get(at + 1).is_some_and(|next| next.is_word("of")) => {
            "does do"
        }
        "with" => with(tokens, at)?,
        "even" => article_beside(tokens, at, ["the even", "even the"])?,
        "only" => article_beside(tokens, at, ["the only", "only the"])?,
        "do" if at > 2 && ends_clause(tokens, at) => "does do",
        word if TABLES.one_or_all.contains(word) && ends_clause(tokens, at) => kind(tokens, at)?,
        "able" => "able",
        "possible" => "possible",
        "can" => "can",
        "allowed" | "permitted" if is_of_others(tokens, at) => "others allowed",
        "allowed" | "permitted" => "allowed",
        _ => return None,
    })
}

/// Whether a word asks for something: "who".
fn asks(token: &Token) -> bool {
    matches!(
        token.text.as_str(),
        "what" | "when" | "where" | "why" | "how" | "which" | "who" | "whose" | "whom"
    )
}

/// Whether "not" says that a clause does not hold: "it is not who pays" and "isn't it who pays", but not "if
/// not, who pays".
fn denies_clause(tokens: &[Token], at: usize) -> bool {
    let joins = |token: &Token| matches!(token.text.as_str(), "if" | "or" | "and" | "but");
    let before = at.checked_sub(1).and_then(|place| tokens.get(place));
    let it = tokens.get(at + 1).is_some_and(|token| token.is_word("it"));
    !before.is_some_and(joins) && tokens.get(at + 1 + usize::from(it)).is_some_and(asks)
}

/// Whether "with" stands before a choice, or behind the second of its things.
fn with(tokens: &[Token], at: usize) -> Option<&'static str> {
    const THING: usize = 4;
    let compares = |token: &Token| token.text.ends_with("er") || token.is_word("worse");
    let or = |token: &Token| token.is_word("or");
    let things = &tokens[at.saturating_sub(THING)..at];
    let one = things.iter().rposition(or);
    if one.is_some_and(|one| !things[one..].iter().any(compares)) {
        return Some("with one");
    }
    tokens[at..].iter().any(or).then_some("with both")
}

/// The first of two marks where an article stands before a word, and the second where one stands behind it.
fn article_beside(
    tokens: &[Token],
    at: usize,
    [before, behind]: [&'static str; 2],
) -> Option<&'static str> {
    let article = |token: Option<&Token>| {
        token.is_some_and(|token| matches!(token.text.as_str(), "a" | "an" | "the"))
    };
    let first = at.checked_sub(1).and_then(|place| tokens.get(place));
    if article(first) {
        return Some(before);
    }
    article(tokens.get(at + 1)).then_some(behind)
}

/// Whether it is asked what one of a kind is, or what the whole is: "what is a law" and "what is law".
fn kind(tokens: &[Token], at: usize) -> Option<&'static str> {
    let word = |back: usize| at.checked_sub(back).map_or("", |at| &*tokens[at].text);
    let article = matches!(word(1), "a" | "an");
    let is = matches!(word(1 + usize::from(article)), "is" | "what's");
    is.then_some(if article {
        "one of a kind"
    } else {
        "the whole kind"
    })
}

/// Whether a clause ends with a word.
fn ends_clause(tokens: &[Token], at: usize) -> bool {
    tokens
        .get(at + 1)
        .is_none_or(|next| next.kind == TokenKind::Break)
}

/// Whether the question is what somebody else may do of what not all are able to do: "is my landlord allowed
/// to hear me".
fn is_of_others(tokens: &[Token], at: usize) -> bool {
    let asks = tokens
        .first()
        .is_some_and(|first| first.is_word("is") || first.is_word("are"));
    let anyone = tokens.get(1).is_some_and(|who| {
        matches!(
            who.text.as_str(),
            "it" | "i" | "you" | "we" | "one" | "there"
        )
    });
    let able = tokens
        .get(at + 2)
        .is_some_and(|verb| TABLES.abilities.contains(verb.text.as_str()));
    let to = tokens.get(at + 1).is_some_and(|next| next.is_word("to"));
    asks && !anyone && at > 1 && to && able
}

/// Whether a week, month, quarter or year stands behind a word.
fn measures(tokens: &[Token], at: usize) -> bool {
    tokens
        .get(at + 1)
        .is_some_and(|next| matches!(next.text.as_str(), "week" | "month" | "quarter" | "year"))
}

/// A period up to now or from now on, or the one before or behind the present one.
fn period(tokens: &[Token], at: usize) -> &'static str {
    let the = at > 0 && tokens[at - 1].is_word("the");
    match (tokens[at].text.as_str(), the) {
        ("next", true) => "the next",
        ("next", false) => "next",
        ("last", false) => "last",
        _ => "the last",
    }
}

/// "There" beside a form of "be" says that something exists: "is there a doctor".
fn exists(tokens: &[Token], at: usize) -> bool {
    let be = |token: &Token| {
        matches!(
            token.text.as_str(),
            "is" | "are" | "was" | "were" | "be" | "been" | "isn't" | "aren't"
        )
    };
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    // "The wifi there is slow".
    let named = at > 1 && TABLES.determiners.contains(&*tokens[at - 2].text);
    before.is_some_and(be) || !named && tokens.get(at + 1).is_some_and(be)
}

/// "There" of a greeting names no place: "hi there".
fn greets(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).map_or("", |before| &tokens[before].text);
    matches!(before, "hi" | "hello" | "hey")
}
