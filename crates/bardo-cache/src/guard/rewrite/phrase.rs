//! Several words that stand for others: contractions, phrases of the lists, particles.

use super::pattern::{BE, is_break, is_end, is_listed, is_word};
use crate::guard::atoms::is_past;
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
                let end = at + phrase.from.len();
                tenses.extend(phrase.tense.map(Token::word));
                let before = at.checked_sub(1).map(|before| &tokens[before]);
                found.extend(inflected(phrase, before, &tokens[at..end], &bases[at..end]));
                at = end;
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

/// "The concept of time" is "a time", which is not "the time": a mark that becomes the article where none follows.
pub(super) fn mark_to_article(mut tokens: Vec<Token>) -> Vec<Token> {
    if let Some(at) = tokens.iter().position(|token| token.text == "@a") {
        match is_listed(tokens.get(at + 1), &TABLES.determiners) {
            true => drop(tokens.remove(at)),
            false => tokens[at] = Token::word("a"),
        }
    }
    tokens
}

/// What stands for a phrase, in the tense and number in which the phrase is written. `before` is the
/// word before it.
fn inflected(
    phrase: &Phrase,
    before: Option<&Token>,
    written: &[Token],
    bases: &[String],
) -> Vec<Token> {
    let mut words: Vec<Token> = phrase.to.iter().map(|word| Token::word(*word)).collect();
    let [first, .., last] = written else {
        return words;
    };
    if let Some(verb) = words.first_mut() {
        keep_past(verb, first, is_word(before, &BE));
    }
    let third = matches!(
        written[written.len() - 2].text.as_str(),
        "what" | "who" | "which" | "that" | "it" | "he" | "she"
    );
    if let Some(noun) = words.last_mut().filter(|_| !third) {
        keep_plural(noun, last, &bases[bases.len() - 1]);
    }
    words
}

/// "Turned on" stays a participle, and "signed up" becomes "registered". Behind "is", only a verb has a
/// participle: "it is sold out".
fn keep_past(verb: &mut Token, written: &Token, state: bool) {
    let base = TABLES.base(&verb.text);
    let acts = TABLES.is_verb(&base) || is_particle_verb(&verb.text);
    let says = verb.text.starts_with(char::is_alphabetic)
        && !TABLES.stop.contains(verb.text.as_str())
        && !TABLES.determiners.contains(verb.text.as_str())
        && !TABLES.prepositions.contains_key(verb.text.as_str())
        && !matches!(
            verb.text.as_str(),
            "not" | "should" | "must" | "can" | "will"
        );
    // "Based on" and "supposed to" tell no past. Who "got a refund" did not refund it.
    let tells = !TABLES.timeless.contains(written.text.as_str());
    let past = is_past(&written.text) && !is_past(&verb.text) && tells;
    if past && says && (acts || !state) {
        let ending = if verb.text.ends_with('e') { "d" } else { "ed" };
        end_with(verb, ending);
    }
}

/// "The largest cities" become "the biggest cities": a row in the singular holds for the plural too.
fn keep_plural(noun: &mut Token, written: &Token, base: &str) {
    let plural = written.text.ends_with('s') && base.len() < written.text.len();
    let one = noun.text.chars().all(char::is_alphanumeric) && !noun.text.ends_with('s');
    // "Dollars" are no "usds", and "fees" are "the fee".
    let counted = !TABLES.units.contains_key(noun.text.as_str())
        && ![base, noun.text.as_str()]
            .map(|word| TABLES.uncounted.contains(word))
            .contains(&true);
    if !plural || !one || !counted {
        return;
    }
    if TABLES.base(&noun.text) == base {
        noun.text.clone_from(&written.text);
    } else {
        end_with(noun, "s");
    }
}

/// Adds an ending, where the word stays the same word with it.
fn end_with(word: &mut Token, ending: &str) {
    let longer = format!("{}{ending}", word.text);
    if TABLES.base(&longer) == TABLES.base(&word.text) {
        word.text = longer;
    }
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
            && !is_several_times(rule, &tokens[at + rule.from.len() - 1])
    })
}

/// "The last months" are not "the last month".
fn is_several_times(rule: &Phrase, last: &Token) -> bool {
    let time = matches!(rule.to[..], [one] if one.contains('-'));
    time && matches!(
        last.text.as_str(),
        "days" | "weeks" | "months" | "quarters" | "years"
    )
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
