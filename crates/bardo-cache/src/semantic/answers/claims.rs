//! What an answer claims, sentence by sentence, and whether two answers contradict each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::guard::{Mismatch, Signature};

const OPPOSITES: &str = include_str!("../../../data/guard/opposites.txt");
/// Sentences of an answer that are compared. An answer with more is not read whole.
const SENTENCES_MAX: usize = 48;
/// The least share of common words at which two sentences speak of one subject.
const ALIGNED: f64 = 0.6;

/// Verbs that pass a negation on to the next word: "is not considered safe".
const LIGHT: [&str; 4] = ["consider", "seem", "recommend", "us"];

static POLES: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let mut poles: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in OPPOSITES.lines().filter(|line| !line.starts_with('#')) {
        let Some((one, others)) = line.split_once(':') else {
            continue;
        };
        for other in others.split(',').map(str::trim) {
            poles.entry(one.trim()).or_default().push(other);
            poles.entry(other).or_default().push(one.trim());
        }
    }
    poles
});

/// What the comparison of two answers found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// One subject with another number, name, polarity or direction.
    Contradiction,
    /// Figures or names differ, and nothing says whether they are about one subject.
    Doubt,
    /// Nothing contradicts; `shared` figures and names stand in both.
    Compatible { shared: usize },
}

/// An answer as claims.
pub(super) struct AnswerClaims {
    sentences: Vec<Sentence>,
    /// "Yes" or "no" at the start.
    opening: Option<bool>,
    /// There are more sentences than are read.
    is_longer: bool,
}

struct Sentence {
    signature: Signature,
    /// Words with content and without a class of facts.
    words: BTreeSet<String>,
    /// How often each word occurs, words of direction included.
    counts: BTreeMap<String, usize>,
    /// Words that a negation stands before.
    denied: BTreeSet<String>,
    /// Negations, a "no" at the start left out.
    negations: usize,
    /// Numbers by their unit, and words of time.
    numbers: BTreeMap<String, BTreeSet<String>>,
    /// Code, addresses, files, and words with a capital that begin no sentence.
    names: BTreeSet<String>,
}

impl AnswerClaims {
    /// Reads both answers; a word with a capital in one is a name in both.
    pub(super) fn of(one: &str, other: &str) -> (Self, Self) {
        let (first, second) = (sentences(one), sentences(other));
        let mut names = BTreeSet::new();
        for sentence in first.iter().chain(&second) {
            capitals(sentence, &mut names);
        }
        (Self::read(&first, &names), Self::read(&second, &names))
    }

    fn read(sentences: &[String], names: &BTreeSet<String>) -> Self {
        let start = sentences.first().map(|first| first.to_lowercase());
        let opening = start.and_then(|start| {
            let word = start.split(|c: char| !c.is_alphanumeric()).next()?;
            match word {
                "yes" => Some(true),
                "no" => Some(false),
                _ => None,
            }
        });
        let read = |sentence: &String| Sentence::read(sentence, names);
        let read_at_most = sentences.iter().take(SENTENCES_MAX);
        Self {
            sentences: read_at_most.map(read).collect(),
            opening,
            is_longer: sentences.len() > SENTENCES_MAX,
        }
    }

    /// Whether a part of the answer was not read: sentences above the limit, or one that is too long
    /// for the guard.
    pub(super) fn is_cut(&self) -> bool {
        let is_too_long =
            |sentence: &Sentence| sentence.signature.unusable() == Some(Mismatch::TooLong);
        self.is_longer || self.sentences.iter().any(is_too_long)
    }

    /// Whether the answer is a single short sentence.
    pub(super) fn is_short(&self) -> bool {
        self.sentences.len() <= 1
    }

    pub(super) fn compare(&self, other: &Self) -> Finding {
        if let (Some(one), Some(two)) = (self.opening, other.opening)
            && one != two
        {
            return Finding::Contradiction;
        }
        if let (Some(one), Some(two)) = (self.sentences.first(), other.sentences.first())
            && (one.denies(two) || two.denies(one) || self.refuses(other) || other.refuses(self))
        {
            return Finding::Contradiction;
        }
        let mut doubt = false;
        for one in &self.sentences {
            let nearest = other
                .sentences
                .iter()
                .map(|two| (one.likeness(two), two))
                .max_by(|a, b| a.0.total_cmp(&b.0));
            let Some((likeness, two)) = nearest else {
                continue;
            };
            if likeness < ALIGNED {
                continue;
            }
            if one.contradicts(two, self, other) {
                return Finding::Contradiction;
            }
            doubt |= one.exchanges(two);
        }
        let (mine, theirs) = (self.facts(), other.facts());
        doubt |= mine.iter().any(|(unit, values)| {
            theirs.get(unit).is_some_and(|others| {
                values.difference(others).next().is_some()
                    && others.difference(values).next().is_some()
            })
        });
        let shared = mine
            .iter()
            .filter_map(|(unit, values)| Some(values.intersection(theirs.get(unit)?).count()))
            .sum();
        if doubt {
            Finding::Doubt
        } else {
            Finding::Compatible { shared }
        }
    }

    /// The first sentence is a denial of what the other answers with "yes".
    fn refuses(&self, other: &Self) -> bool {
        let first = self.sentences.first().zip(other.sentences.first());
        other.opening == Some(true)
            && first.is_some_and(|(one, two)| {
                !one.negations.is_multiple_of(2)
                    && two.negations.is_multiple_of(2)
                    && one.likeness(two) >= ALIGNED
            })
    }

    /// Numbers by unit and names of all sentences.
    fn facts(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut facts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for sentence in &self.sentences {
            for (unit, values) in &sentence.numbers {
                facts
                    .entry(unit)
                    .or_default()
                    .extend(values.iter().map(String::as_str));
            }
            for name in &sentence.names {
                facts.entry(name).or_default().insert(name);
            }
        }
        facts
    }

    fn names(&self, name: &str) -> bool {
        self.sentences
            .iter()
            .any(|sentence| sentence.names.contains(name))
    }

    fn counts(&self, unit: &str, value: &str) -> bool {
        self.sentences.iter().any(|sentence| {
            sentence
                .numbers
                .get(unit)
                .is_some_and(|values| values.contains(value))
        })
    }
}

impl Sentence {
    fn read(text: &str, names: &BTreeSet<String>) -> Self {
        let signature = Signature::of(text);
        let mut sentence = Self {
            words: BTreeSet::new(),
            counts: BTreeMap::new(),
            denied: BTreeSet::new(),
            negations: 0,
            numbers: BTreeMap::new(),
            names: BTreeSet::new(),
            signature: signature.clone(),
        };
        let parts: Vec<_> = signature.parts().collect();
        let mut denies = false;
        for (at, (class, key, shown)) in parts.iter().enumerate() {
            match *class {
                "number" => {
                    let (value, unit) = key.split_once(' ').unwrap_or((key, ""));
                    let values = sentence.numbers.entry(unit.to_owned()).or_default();
                    values.insert(value.to_owned());
                    continue;
                }
                "time" => {
                    let values = sentence.numbers.entry("time".to_owned()).or_default();
                    values.insert((*key).to_owned());
                    continue;
                }
                "code" | "address" | "URL" | "file" | "quote" => {
                    sentence.names.insert((*key).to_owned());
                    continue;
                }
                "negation" if !matches!(*key, "without" | "except" | "unless") => {
                    let opens = at == 0 && *shown == "no";
                    sentence.negations += usize::from(!opens);
                    denies = !opens;
                    continue;
                }
                _ => {}
            }
            if denies && !LIGHT.contains(key) {
                sentence.denied.insert((*key).to_owned());
                denies = false;
            }
            *sentence.counts.entry((*key).to_owned()).or_default() += 1;
            if names.contains(*shown) {
                sentence.names.insert((*key).to_owned());
            } else {
                sentence.words.insert((*key).to_owned());
            }
        }
        sentence
    }

    /// The share of the shorter sentence's words that both have.
    fn likeness(&self, other: &Self) -> f64 {
        let common = self.words.iter().filter(|word| {
            other.words.contains(*word) || opposites(word).iter().any(|o| other.words.contains(*o))
        });
        let (common, least) = (common.count(), self.words.len().min(other.words.len()));
        if common < 2 && !(common == least && common == 1) {
            return 0.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "some dozens of words")]
        let share = common as f64 / least as f64;
        share
    }

    /// One sentence denies a word that the other says.
    fn denies(&self, other: &Self) -> bool {
        !self.negations.is_multiple_of(2)
            && other.negations.is_multiple_of(2)
            && self
                .denied
                .iter()
                .any(|word| other.counts.contains_key(word) && !other.denied.contains(word))
    }

    fn contradicts(&self, other: &Self, mine: &AnswerClaims, theirs: &AnswerClaims) -> bool {
        self.denies(other)
            || other.denies(self)
            || self.opposes(other)
            || self.names_another(other, mine, theirs)
            || self.counts_another(other, mine, theirs)
    }

    /// A word more often here, and its opposite more often there.
    fn opposes(&self, other: &Self) -> bool {
        let count = |sentence: &Self, word: &str| sentence.counts.get(word).copied().unwrap_or(0);
        self.counts.iter().any(|(word, here)| {
            *here > count(other, word)
                && opposites(word)
                    .iter()
                    .any(|opposite| count(other, opposite) > count(self, opposite))
        })
    }

    /// A name on each side that the other sentence lacks, one of them also the other answer.
    fn names_another(&self, other: &Self, mine: &AnswerClaims, theirs: &AnswerClaims) -> bool {
        let own = |one: &Self, two: &Self, all: &AnswerClaims| {
            let mut left = one.names.difference(&two.names).peekable();
            (left.peek().is_some(), left.any(|name| !all.names(name)))
        };
        let ((here, unknown_there), (there, unknown_here)) =
            (own(self, other, theirs), own(other, self, mine));
        here && there && (unknown_there || unknown_here)
    }

    /// A number that the other answer never has, on both sides and in one unit.
    fn counts_another(&self, other: &Self, mine: &AnswerClaims, theirs: &AnswerClaims) -> bool {
        self.numbers.iter().any(|(unit, values)| {
            other.numbers.get(unit).is_some_and(|others| {
                values.iter().any(|value| !theirs.counts(unit, value))
                    && others.iter().any(|value| !mine.counts(unit, value))
            })
        })
    }

    /// The words are equal and stand in another order.
    fn exchanges(&self, other: &Self) -> bool {
        self.words == other.words
            && self.words.len() > 2
            && matches!(
                self.signature.difference(&other.signature),
                Some(Mismatch::Order { .. })
            )
    }
}

fn opposites(word: &str) -> &'static [&'static str] {
    POLES.get(word).map_or(&[], Vec::as_slice)
}

/// The sentences of a text, without marks of lists and headings.
fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut sentence = String::new();
    let mut code = false;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '`' {
            code = !code;
        }
        let ends = matches!(c, '.' | '!' | '?' | ';' | ':')
            && !code
            && rest.peek().is_none_or(|next| next.is_whitespace());
        if c != '\n' {
            sentence.push(c);
        }
        if ends || c == '\n' {
            push(&mut found, &mut sentence);
        }
    }
    push(&mut found, &mut sentence);
    found
}

fn push(found: &mut Vec<String>, sentence: &mut String) {
    let plain = sentence.trim_matches(|c: char| c.is_whitespace() || "*#->•|".contains(c));
    let plain = plain.replace("**", "");
    if plain.chars().any(char::is_alphanumeric) {
        found.push(plain);
    }
    sentence.clear();
}

/// Words with a capital that do not begin the sentence, in small letters.
fn capitals(sentence: &str, names: &mut BTreeSet<String>) {
    for word in sentence.split_whitespace().skip(1) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let word = word.strip_suffix("'s").unwrap_or(word);
        if word.chars().next().is_some_and(char::is_uppercase) && word.len() > 1 {
            names.insert(word.to_lowercase());
        }
    }
}
