//! Words that a text is about: "when do I use its", "how do you say child in Dutch". They are compared as they
//! are written, whatever they say elsewhere.

use super::frame::is_auxiliary;
use super::scan::{Token, TokenKind, is_word};
use super::tables::TABLES;

/// What makes a word a mention.
#[derive(Clone, Copy)]
enum MentionKind {
    /// The word itself: its spelling and its form count.
    Written,
    /// The word or the thing: "when do I use Redis". The form counts where it is irregular.
    Named,
}

/// Marks the words that are meant as words. A marked word is in no list, and equals only itself.
pub(super) fn mark(tokens: &mut [Token]) {
    let Some((from, to, kind)) = mentioned(tokens) else {
        return;
    };
    for token in &mut tokens[from..to] {
        let joint = token.text == "and" && to - from > 1;
        if token.kind == TokenKind::Word && !joint && is_marked(&token.text, kind) {
            // "It's" is no contraction here.
            token.text = format!("{}^", token.text.replace('\'', "^"));
        }
    }
}

/// The words that a text is about: the first, the one behind the last, and what they are.
type Mention = (usize, usize, MentionKind);

/// The words that a text is about.
fn mentioned(tokens: &[Token]) -> Option<Mention> {
    let end = clause_end(tokens);
    asked_of(tokens, end).or_else(|| done_with(tokens, end))
}

/// A word of which something is asked: "what does who mean", "how is who used", "is whom a word".
fn asked_of(tokens: &[Token], end: usize) -> Option<Mention> {
    let word = |at: usize, words: &[&str]| is_word(tokens, at, words);
    let last = end.checked_sub(1)?;
    if word(0, &["what"]) && word(1, &["do", "does"]) && word(last, &["mean"]) && end == 4 {
        return Some((2, last, MentionKind::Named));
    }
    // "What is children in Dutch", but not "what is included in it".
    let plural = |token: &Token| {
        let text = token.text.as_str();
        TABLES.forms.contains_key(text) && !TABLES.pasts.contains(text)
    };
    if word(0, &["what"]) && word(1, &["is"]) && word(3, &["in"]) && end == 5 {
        return plural(&tokens[2]).then_some((2, 3, MentionKind::Named));
    }
    if word(0, &["how", "when"]) && word(1, &["is", "are", "should", "can"]) && last > 2 {
        let to = last - usize::from(word(last - 1, &["be"]));
        let spelled = word(last, &["spelled", "spelt", "pronounced", "written"]);
        let used = word(last, &["used"]) && to == 3;
        let kind = if spelled {
            MentionKind::Written
        } else {
            MentionKind::Named
        };
        return (spelled || used).then_some((2, to, kind));
    }
    if word(0, &["is"]) && word(2, &["a"]) && word(3, &["word"]) {
        return Some((1, 2, MentionKind::Written));
    }
    let pair = last.checked_sub(3).filter(|&between| {
        word(between, &["between"])
            && word(between + 2, &["and"])
            && tokens
                .get(last)
                .is_some_and(|second| says_nothing(&second.text))
    })?;
    Some((pair + 1, end, MentionKind::Named))
}

/// A word with which something is done: "how do you spell its", "use whom in a sentence".
fn done_with(tokens: &[Token], end: usize) -> Option<Mention> {
    let word = |at: usize, words: &[&str]| is_word(tokens, at, words);
    let verb = asked_verb(tokens)?;
    let placed = (verb + 2..end).find(|&at| word(at, &["in", "on", "to", "into", "here"]));
    let to = placed.unwrap_or(end);
    let alone = to == verb + 2;
    let sentence = word(to + 1, &["a"]) && word(to + 2, &["sentence"]);
    let translated = word(verb, &["translate"]) && placed.is_some();
    if alone && (sentence || translated) {
        return Some((verb + 1, to, MentionKind::Written));
    }
    // "How do I say no to my boss" is about no word.
    let says = word(verb, &["say", "spell", "pronounce"]) && to > verb + 1;
    if says && (word(to, &["in"]) || to <= verb + 3) {
        return Some((verb + 1, to, MentionKind::Written));
    }
    let uses = alone && word(verb, &["use", "install", "write"]);
    uses.then_some((verb + 1, to, MentionKind::Named))
}

/// The verb behind "how do I", "when to" or "please", or at the start.
fn asked_verb(tokens: &[Token]) -> Option<usize> {
    let word = |at: usize, words: &[&str]| is_word(tokens, at, words);
    let asks = |at: usize| {
        let modal = word(at, &["do", "should", "can", "could", "would", "must"]);
        modal && word(at + 1, &["i", "you", "we", "one", "people"])
    };
    match (word(0, &["how", "when", "where"]), word(1, &["to"])) {
        (true, true) => Some(2),
        (true, false) if word(1, &["is"]) && word(2, &["it"]) => word(4, &["to"]).then_some(5),
        (true, false) => asks(1).then_some(3),
        _ if asks(0) => Some(2),
        _ => Some(usize::from(word(0, &["please"]))),
    }
}

/// Whether a word has another form or meaning elsewhere.
fn is_marked(word: &str, kind: MentionKind) -> bool {
    let base = TABLES.base(word);
    let inflected = ["s", "ed", "ing"].iter().any(|end| word.ends_with(end)) && base != word;
    let key = TABLES.canonical(word);
    let formed = match kind {
        MentionKind::Written => inflected,
        // "Can I use it on my phone" is about a thing.
        MentionKind::Named if matches!(word, "it" | "them") => return false,
        MentionKind::Named => false,
    };
    // "What does staking mean" asks what is done, and "swift" may be a language or a bird.
    let is_term = matches!(kind, MentionKind::Named) && word.ends_with("ing")
        || TABLES.homographs.contains(word);
    formed || says_nothing(word) || TABLES.forms.contains_key(word) || key != base && !is_term
}

/// Whether a word has no content of its own.
pub(super) fn says_nothing(word: &str) -> bool {
    let asks = [
        "who", "whom", "whose", "which", "what", "when", "where", "why", "how", "there",
    ];
    let lists = [
        &TABLES.stop,
        &TABLES.determiners,
        &TABLES.soft,
        &TABLES.mild,
        &TABLES.conjunctions,
        &TABLES.pronouns,
    ];
    asks.contains(&word)
        || word.contains('\'')
        || is_auxiliary(word)
        || TABLES.prepositions.contains_key(word)
        || lists.iter().any(|list| list.contains(word))
}

/// Where the first clause ends.
fn clause_end(tokens: &[Token]) -> usize {
    let ends = |token: &Token| token.kind == TokenKind::Break;
    tokens.iter().position(ends).unwrap_or(tokens.len())
}
