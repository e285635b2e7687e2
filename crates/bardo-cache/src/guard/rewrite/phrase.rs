//! Several words that stand for others: contractions, phrases of the lists, particles.

use super::pattern::{is_break, is_end, is_listed};
use crate::guard::scan::{Token, TokenKind};
use crate::guard::tables::{Phrase, TABLES};

/// "Can't" is "can not", "it's" is "it is", and of "Bob's" the ending is a mark.
pub(super) fn contractions_to_words(tokens: Vec<Token>) -> Vec<Token> {
    let mut found = Vec::with_capacity(tokens.len());
    for token in tokens {
        if token.kind != TokenKind::Word || !token.text.contains('\'') {
            found.push(token);
            continue;
        }
        let word = token.text.as_str();
        let (head, tail) = word.split_at(word.rfind('\'').unwrap_or_default());
        match (head, tail) {
            ("can" | "ca", "'t") => found.extend(["can", "not"].map(Token::word)),
            ("won", "'t") => found.extend(["will", "not"].map(Token::word)),
            ("shan", "'t") => found.extend(["shall", "not"].map(Token::word)),
            (_, "'t") => {
                found.push(Token::word(head.trim_end_matches('n')));
                found.push(Token::word("not"));
            }
            ("let", "'s") => {}
            (_, "'s") if TABLES.contracted.contains(head) => {
                found.extend([head, "is"].map(Token::word));
            }
            (_, "'s") => {
                found.push(Token::word(head));
                found.push(Token::word("@s"));
            }
            (_, "'re") => found.extend([head, "are"].map(Token::word)),
            (_, "'m") => found.extend([head, "am"].map(Token::word)),
            (_, "'ve") => found.extend([head, "have"].map(Token::word)),
            (_, "'ll") => found.extend([head, "will"].map(Token::word)),
            (_, "'d") => found.extend([head, "would"].map(Token::word)),
            _ => found.push(Token::word(word.replace('\'', ""))),
        }
    }
    found
}

/// Applies the longest phrase of the lists at each place: "how come" is "why".
pub(super) fn phrases_to_common(tokens: Vec<Token>) -> Vec<Token> {
    let mut found = Vec::with_capacity(tokens.len());
    // Marks of tense go to the end, where they separate no words.
    let mut tenses = Vec::new();
    let mut at = 0;
    let bases: Vec<String> = tokens
        .iter()
        .map(|token| match token.kind {
            TokenKind::Word => TABLES.base(&token.text),
            _ => String::new(),
        })
        .collect();
    while at < tokens.len() {
        let starts = found.last().is_none_or(|last: &Token| {
            is_break(last) || matches!(last.text.as_str(), "@tell" | "@polite")
        });
        match longest(&tokens, &bases, at, starts) {
            Some(phrase) => {
                tenses.extend(phrase.tense.map(Token::word));
                match phrase.to[..] {
                    // "Turned on" stays a participle.
                    [verb] if tokens[at].text.ends_with("ed") && is_particle_verb(verb) => {
                        found.push(Token::word(format!("{verb}ed")));
                    }
                    _ => found.extend(phrase.to.iter().map(|word| Token::word(*word))),
                }
                at += phrase.from.len();
            }
            None => {
                found.push(tokens[at].clone());
                at += 1;
            }
        }
    }
    found.extend(tenses);
    found
}

/// The longest phrase that begins at a place.
fn longest(tokens: &[Token], bases: &[String], at: usize, starts: bool) -> Option<&'static Phrase> {
    if tokens[at].kind != TokenKind::Word {
        return None;
    }
    let rules = TABLES.phrases.get(&bases[at])?;
    rules.iter().find(|rule| {
        (starts || !rule.starts)
            && rule
                .exact
                .iter()
                .zip(&tokens[at..])
                .all(|(word, token)| token.text == *word)
            && bases[at..].starts_with(&rule.from)
    })
}

/// The most words from a verb to its particle.
const PARTICLE_REACH: usize = 6;

/// Moves a particle from the end of its clause to its verb: "turn the light off".
pub(super) fn particle_to_verb(mut tokens: Vec<Token>) -> Vec<Token> {
    let mut at = 0;
    while at < tokens.len() {
        let verb = tokens[at].kind == TokenKind::Word
            && TABLES
                .separable
                .contains(TABLES.base(&tokens[at].text).as_str());
        if verb {
            let end = (at + PARTICLE_REACH).min(tokens.len());
            let clause = tokens[at..end]
                .iter()
                .position(is_break)
                .map_or(end, |cut| at + cut);
            let ends =
                |next: &Token| is_end(next) || TABLES.behind_particles.contains(next.text.as_str());
            let particle = (at + 2..clause).find(|&place| {
                is_listed(tokens.get(place), &TABLES.particles)
                    && tokens.get(place + 1).is_none_or(ends)
            });
            if let Some(place) = particle {
                let word = tokens.remove(place);
                tokens.insert(at + 1, word);
            }
        }
        at += 1;
    }
    tokens
}

/// Verbs that a phrase joins with their particle.
pub(in crate::guard) fn is_particle_verb(word: &str) -> bool {
    matches!(
        word,
        "turnon" | "turnoff" | "backup" | "rollback" | "shutdown"
    )
}
