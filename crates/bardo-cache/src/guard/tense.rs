//! Tense beyond auxiliaries, and the number of what is named.

use super::atoms::Atom;
use super::frame::{Asking, SentenceFrame};
use super::mismatch::Mismatch;
use super::scan::{Token, TokenKind};
use super::stems;
use super::tables::TABLES;

/// Words between "has" and its participle: "has the new price ever fallen".
const REACH: usize = 6;

/// "Has" with a participle behind it tells the past: "has gold risen", "should I have paid".
pub(super) fn is_perfect(tokens: &[Token], at: usize) -> bool {
    if !matches!(tokens[at].text.as_str(), "have" | "has" | "had" | "having") {
        return false;
    }
    if has_done(tokens, at) {
        return false;
    }
    at == 0 || is_completed(tokens, at)
}

/// Whether a participle stands behind "has" in its clause.
fn is_completed(tokens: &[Token], has: usize) -> bool {
    let words = tokens[has + 1..].iter().take(REACH);
    let mut clause = words.take_while(|token| token.kind != TokenKind::Break);
    clause.any(|token| token.kind == TokenKind::Word && is_participle(&token.text))
}

/// "Have the agent sell it" orders that it is done.
pub(super) fn lets_do(tokens: &[Token], at: usize) -> bool {
    let determined = tokens
        .get(at + 1)
        .is_some_and(|next| TABLES.determiners.contains(next.text.as_str()));
    at == 0 && determined && tokens[at].is_word("have") && !is_completed(tokens, at)
}

/// "Have the roof checked" lets another one check it, and so does "I have the roof checked". "Why has the
/// roof leaked" tells the past.
fn has_done(tokens: &[Token], at: usize) -> bool {
    let determined = tokens
        .get(at + 1)
        .is_some_and(|next| TABLES.determiners.contains(next.text.as_str()));
    let before = at.checked_sub(1).map_or("", |before| &tokens[before].text);
    let subject = matches!(
        before,
        "i" | "we" | "you" | "they" | "to" | "@must" | "@can"
    );
    determined && subject
}

/// Whether a word can be a participle behind "has", also one that is written as its verb: "has it run".
fn is_participle(word: &str) -> bool {
    word.len() > 4 && word.ends_with("ed") && !TABLES.fixed.contains(word)
        || TABLES.participles.contains(word)
        || matches!(
            word,
            "come" | "become" | "run" | "cut" | "set" | "put" | "hit" | "read" | "had" | "been"
        )
}

/// Whether one frame tells the past and the other does not.
pub(super) fn differs(one: &SentenceFrame, other: &SentenceFrame) -> bool {
    // "How long have you worked here" goes on, and "how long did you work here" is over.
    if one.ask == Asking::HowLong && one.perfect != other.perfect {
        return true;
    }
    let past = |frame: &SentenceFrame| frame.past && !frame.present;
    let present = |frame: &SentenceFrame| frame.present && !frame.past;
    // "Tell me the policy" has no tense and asks for what is; "should I have paid" is not "should I
    // pay".
    let told = matches!(
        one.ask,
        Asking::What
            | Asking::YesNo
            | Asking::Who
            | Asking::Whose
            | Asking::HowMany
            | Asking::Nothing
    );
    let counts = told && one.ask == other.ask || !one.modals.is_empty();
    // "Show yesterday's sales" and "what were yesterday's sales".
    let untold = |frame: &SentenceFrame| frame.over && !frame.past && !frame.present;
    let counts = counts && !untold(one) && !untold(other);
    let opens = |one: &SentenceFrame, other: &SentenceFrame| {
        one.past && one.opens_past == Some(true) && other.opens_past == Some(false)
    };
    if opens(one, other) || opens(other, one) {
        return true;
    }
    // "I am married, how do I file" is not "I was married, how do I file".
    let now = one.opens_past == other.opens_past && one.opens_past != Some(true);
    let asks = !matches!(one.ask, Asking::Nothing | Asking::What);
    let asks = asks || one.present && other.present;
    if now && asks && one.past != other.past {
        return true;
    }
    past(one) && present(other) || present(one) && past(other) || counts && one.past != other.past
}

/// Without an auxiliary, the form of the verb tells the past: "which team won".
pub(super) fn settle(frame: &mut SentenceFrame, atoms: &[Atom]) {
    let over = |atom: &Atom| {
        matches!(
            &*atom.key,
            "yesterday" | "last-day" | "last-week" | "last-month" | "last-quarter" | "last-year"
        )
    };
    let last = |pair: &[Atom]| {
        pair[0].key == "last" && matches!(&*pair[1].key, "hour" | stems::MINUTE | "day" | "weekend")
    };
    // "It" in "how is it made" is "it" in "how do I make it".
    if atoms.iter().any(|atom| atom.participle) {
        frame.acts.clear();
        frame.objects.clear();
    }
    frame.over = atoms.iter().any(over) || atoms.windows(2).any(last);
    // "What is the number of users I added" counts what was added.
    let counted = frame.ask == Asking::HowMany && !frame.persons.is_empty();
    if (!frame.present || counted) && frame.modals.is_empty() {
        frame.past |= atoms.iter().any(|atom| atom.past) || tells_unmarked_past(frame, atoms);
    }
}

/// "Who set the record" and "how many people used it": "who sets" and "people use it" are the present.
fn tells_unmarked_past(frame: &SentenceFrame, atoms: &[Atom]) -> bool {
    let used =
        |atom: &Atom| atom.shown == "used" && !atom.after_be && !atom.passive && !atom.modifier;
    let unchanged = |atom: &Atom| TABLES.unchanged.contains(atom.shown.as_str());
    match frame.ask {
        Asking::Who => atoms
            .first()
            .is_some_and(|atom| unchanged(atom) || used(atom)),
        Asking::HowMany => !frame.present && atoms.iter().any(used),
        _ => false,
    }
}

/// Whether a verb of a clause tells the past in the first text alone: "they paid me, how do I complain"
/// against "they pay me, how do I complain".
pub(super) fn clause_differs(a: &Atom, b: &Atom, other: &SentenceFrame) -> bool {
    let verb = !b.shown.ends_with("ing") && TABLES.is_verb(&TABLES.base(&b.shown));
    let now = (verb || b.progressive) && !b.past && !b.participle && !b.shown.ends_with("ed");
    a.past && now && !other.past && !TABLES.participles.contains(b.shown.as_str())
}

/// "Is updating" and "is being updated" go on, "is updated" and "is open" do not.
pub(super) fn goes_on(a: &Atom, b: &Atom) -> bool {
    a.progressive && !b.progressive && b.after_be
}

/// What somebody usually does against what is done now: "does he smoke" and "is he smoking", "does it rain
/// in Seattle" and "is it raining in Seattle".
pub(super) fn habit_differs(
    one: (&SentenceFrame, &Atom),
    other: (&SentenceFrame, &Atom),
) -> Option<Mismatch> {
    let third = |frame: &SentenceFrame| {
        frame.ask == Asking::YesNo
            && matches!(frame.subject.as_deref(), Some("he" | "she" | "it" | "they"))
    };
    let now = |(frame, atom): (&SentenceFrame, &Atom)| {
        frame.tells && atom.shown.ends_with("ing") && !TABLES.fixed.contains(&*atom.shown)
    };
    let usual =
        |(frame, atom): (&SentenceFrame, &Atom)| !frame.tells && !atom.shown.ends_with("ing");
    let (a, b) = (one.1, other.1);
    let differs = now(one) && usual(other) || usual(one) && now(other);
    (differs && third(one.0) && third(other.0)).then(|| Mismatch::Changed {
        class: "form",
        one: a.shown.clone(),
        other: b.shown.clone(),
    })
}

/// One certain thing against several: "the dog" against "dogs", "a row" against "the rows". "A dog"
/// and "dogs" are any of them in open questions, and as the subject, but not
/// where they are `counted`: "can I bring a dog" and "can I bring dogs".
pub(super) fn counts_differ(a: &Atom, b: &Atom, counted: bool) -> bool {
    let verb = |atom: &Atom| atom.shown.ends_with("ing") || atom.shown.ends_with("ed");
    a.plural != b.plural
        && a.shown != b.shown
        && a.modifier == b.modifier
        && !verb(a)
        && !verb(b)
        && a.class != "currency"
        && (a.definite || b.definite || counted && (a.determiner == "a" || b.determiner == "a"))
        && a.class != "state"
        && !TABLES.uncounted.contains(a.key.as_str())
}
